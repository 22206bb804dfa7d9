//===- Schedule.h - The compiler's choices as options and text --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_PIPELINES_SCHEDULE_H
#define TILEWRIGHT_COMPILER_PIPELINES_SCHEDULE_H

#include <tilewright/result.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tilewright {

/// The compiler's choices. A field that is 0 has no meaning for the target or comes too late for
/// the stage that a compilation starts at.
struct Schedule {
  /// The fields of #tile.schedule: queries and keys of a block.
  int64_t blockQ = 0;
  int64_t blockKV = 0;
  /// Blocks of keys, and of values, that a GPU's shared memory holds at a time.
  int64_t stages = 0;
  /// A CPU's register tile: vectors of queries, and keys or columns of values.
  int64_t vectors = 0;
  int64_t rows = 0;

  bool operator==(const Schedule &) const = default;
};

/// Where a field of a name is, and the largest value that it may have; the least is 1.
struct ScheduleField {
  std::string_view name;
  int64_t Schedule::*value;
  int64_t most;
};
std::span<const ScheduleField> scheduleFields();

/// "block_q=128,block_kv=128,stages=2", without the fields that are 0.
std::string toString(const Schedule &schedule);

/// Reads `text` over `defaults`: fields not named keep theirs. Refused: a field that is unknown or
/// 0 in `defaults`, one named twice, a value that is no integer or out of its range.
Result<Schedule> parseSchedule(std::string_view text, const Schedule &defaults);

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_PIPELINES_SCHEDULE_H
