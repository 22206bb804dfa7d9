//===- RandomProblem.h - A problem with everything drawn --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_TESTS_RANDOM_RANDOMPROBLEM_H
#define TILEWRIGHT_TESTS_RANDOM_RANDOMPROBLEM_H

#include "tests/random/RandomExpression.h"

#include <tilewright/tilewright.h>

#include <optional>

namespace tilewright::random_test {

struct RandomProblem {
  uint64_t seed = 0; // of the tensors' values
  int64_t batch = 1, kvHeads = 1, group = 1, queryLength = 1, keyLength = 1;
  int64_t headDim = 1, valueDim = 1;
  DType dtype = DType::F32;
  bool wideOutput = false;         // f32 output of 16-bit inputs
  int64_t blockQ = 0, blockKV = 0; // 0: the compiler's choice
  bool positionsFirst = false;     // [b, t, h, d] in memory instead of [b, h, t, d]
  bool expandKeys = false;         // one key and value head for all, by a stride of 0
  int64_t padding = 0;             // elements between rows
  double scale = 1;
  double scalarX = 0;
  int64_t scalarN = 1;
  unsigned threads = 1;
  std::optional<RandomExpression> mask, score;

  static RandomProblem draw(std::mt19937_64 &random);

  /// Smaller problems to try when this one fails, the boldest first.
  std::vector<RandomProblem> simpler() const;

  std::string describe() const;

  enum class Outcome {
    Agrees,
    /// Refused at launch: an integer of the expression could leave 32 bits.
    Refused,
    Fails,
  };
  /// Compiles, runs and compares with the reference; `why` explains a failure.
  Outcome check(std::string &why) const;
};

} // namespace tilewright::random_test

#endif // TILEWRIGHT_TESTS_RANDOM_RANDOMPROBLEM_H
