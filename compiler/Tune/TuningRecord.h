//===- TuningRecord.h - One measured schedule as a line ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TUNE_TUNINGRECORD_H
#define TILEWRIGHT_COMPILER_TUNE_TUNINGRECORD_H

#include "compiler/Tune/TuningKey.h"

#include <array>

namespace tilewright {

/// One line of a database of measured schedules: what was chosen, for what, and what it was chosen
/// over.
struct TuningRecord {
  TuningKey key;
  /// As toString(Schedule) writes it.
  std::string schedule;
  double seconds = 0;
  /// The compiler's own choice in the same run.
  std::string defaultSchedule;
  double defaultSeconds = 0;
  /// What was timed: batch, heads, key heads, queries, keys; and on how many threads.
  std::array<int64_t, 5> sizes{};
  int64_t threads = 1;
  /// "2026-11-30".
  std::string date;
};

/// A line of JSON, with its end.
std::string toLine(const TuningRecord &record);

/// How every line for a key begins: a key is compared as text, since parsing a thousand lines takes
/// ten times as long as all the rest of a lookup.
std::string beginningOfLine(const TuningKey &key);

/// What all lines of this version begin with.
inline constexpr std::string_view beginningOfAllLines = "{\"version\":1,\"target\":\"";

/// Reads a line, which is hostile until checked. Refused: one that is too long or nests too deep,
/// is no JSON, is of another version, lacks a field or has one that is unknown here, since that
/// might say when the others do not hold. Whether the schedule is legal is for the compiler to say.
Result<TuningRecord> parseTuningRecord(std::string_view line);

/// Bytes of a line.
inline constexpr size_t maxTuningLine = 16384;

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_TUNE_TUNINGRECORD_H
