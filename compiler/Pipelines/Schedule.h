//===- Schedule.h - The compiler's choices as options and text --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_PIPELINES_SCHEDULE_H
#define TILEWRIGHT_COMPILER_PIPELINES_SCHEDULE_H

#include <tilewright/result.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace tilewright {

/// The fields of #tile.schedule.
struct Schedule {
  int64_t blockQ = 0;
  int64_t blockKV = 0;

  bool operator==(const Schedule &) const = default;
};

/// "block_q=24,block_kv=48".
std::string toString(const Schedule &schedule);

/// Reads `text` over `defaults`: fields not named keep theirs. Refused: an unknown field, one named
/// twice, a value that is no integer from 1 to tile::maxBlockSize.
Result<Schedule> parseSchedule(std::string_view text, const Schedule &defaults);

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_PIPELINES_SCHEDULE_H
