//===- Testing.h - What tests of tuning share -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_TESTS_UNIT_TUNE_TESTING_H
#define TILEWRIGHT_TESTS_UNIT_TUNE_TESTING_H

#include "compiler/Tune/TuningRecord.h"

namespace tilewright::tuning {

inline TuningKey keyOf(int64_t headDim = 64) {
  return {.target = "cpu",
          .machine = {.features = "x86_64,avx,avx2,fma", .level1 = 32768, .level2 = 524288},
          .headDim = headDim,
          .valueDim = headDim,
          .dtype = DType::F32,
          .scores = {"tanh(s) * 2.0"},
          .masks = {"k <= q"}};
}

inline TuningSubject subjectOf(Schedule own, int64_t lanes) {
  return {.key = keyOf(), .own = own, .lanes = lanes};
}

inline TuningRecord recordOf(std::string schedule, int64_t headDim = 64) {
  return {.key = keyOf(headDim),
          .schedule = std::move(schedule),
          .seconds = 0.0123,
          .defaultSchedule = "block_q=24,block_kv=48",
          .defaultSeconds = 0.0151,
          .sizes = {1, 8, 2, 2048, 1000},
          .threads = 2,
          .date = "2026-11-30"};
}

} // namespace tilewright::tuning

#endif // TILEWRIGHT_TESTS_UNIT_TUNE_TESTING_H
