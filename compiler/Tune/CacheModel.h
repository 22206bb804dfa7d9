//===- CacheModel.h - What a block moves through the caches -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TUNE_CACHEMODEL_H
#define TILEWRIGHT_COMPILER_TUNE_CACHEMODEL_H

#include "compiler/Tune/TuningKey.h"

namespace tilewright {

/// Bytes that a kernel works on.
///
/// A block of queries is computed in groups: as many queries as a register tile has, or all of them
/// where there are no tiles. A group computes its scores, which need a home for one group at a
/// time, its weights and its part of the output; then the next one meets the same block of keys.
struct WorkingSet {
  /// Of one group: its scores, its queries and its part of the accumulator.
  int64_t group = 0;
  /// Of all groups together, with the keys and values of a block if there are several groups to
  /// meet them; else these just pass by.
  int64_t block = 0;
};

/// Scores, queries and the accumulator rest in f32 (f64 for f64), keys and values in the problem's
/// dtype, in as many stages as the schedule has.
WorkingSet workingSetOf(const Schedule &schedule, const TuningSubject &subject);

/// Bytes moved for each pair of query and key, weighted by how far they come: from the caches that
/// hold what they belong to, in parts where it is larger than they are.
///
/// - Into registers, where there are register tiles: a row of queries once for each row of the
/// tile,
///   a key once for each vector, and so for weights and values.
/// - Of a group's: each score, written and read three times.
/// - Of a block's: for each block of keys the queries, read, and the accumulator, read and written;
///   keys and values, once for each group.
/// - Keys and values once for each block of queries. They are read in order, hence fetched ahead,
/// and
///   cost no more than the first level.
///
/// It orders schedules, so that few have to be timed, and predicts no times.
double memoryCost(const Schedule &schedule, const TuningSubject &subject);

/// The schedules by rising cost; of equal ones the first stays first.
void sortByMemoryCost(std::vector<Schedule> &schedules, const TuningSubject &subject);

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_TUNE_CACHEMODEL_H
