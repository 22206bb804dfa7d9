//===- CacheModel.cpp - What a block moves through the caches -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Tune/CacheModel.h"

#include <algorithm>
#include <map>
#include <ranges>

using namespace tilewright;

/// A byte of the first level costs 1. By the order of the bandwidths of common processors.
static constexpr double costOfSecondLevel = 3;
static constexpr double costOfMemory = 8;

namespace {
/// The numbers that all of this is made of, in bytes of one query or one key.
struct Bytes {
  Bytes(const Schedule &schedule, const TuningSubject &subject) {
    const TuningKey &key = subject.key;
    const int64_t computed = key.dtype == DType::F64 ? 8 : 4;
    score = computed;
    query = key.headDim * computed;
    output = key.valueDim * computed;
    keyAndValue = (key.headDim + key.valueDim) * static_cast<int64_t>(sizeOf(key.dtype));
    group = schedule.blockQ;
    if (subject.lanes != 0)
      group = std::min(group, schedule.vectors * subject.lanes);
  }

  int64_t score, query, output, keyAndValue;
  /// Queries of a group.
  int64_t group;
};
} // namespace

WorkingSet tilewright::workingSetOf(const Schedule &schedule, const TuningSubject &subject) {
  const Bytes bytes(schedule, subject);
  const int64_t scores = bytes.group * schedule.blockKV * bytes.score;
  const int64_t perQuery = bytes.query + bytes.output;
  WorkingSet set{.group = scores + bytes.group * perQuery,
                 .block = scores + schedule.blockQ * perQuery};
  if (subject.lanes == 0 || bytes.group < schedule.blockQ)
    set.block += schedule.blockKV * bytes.keyAndValue * std::max<int64_t>(1, schedule.stages);
  return set;
}

/// Of a byte of something that takes `size` bytes.
static double costOfByte(int64_t size, const Machine &machine) {
  const auto partBeyond = [size](int64_t memory) {
    return std::max(0.0, 1 - double(memory) / double(size));
  };
  return 1 + (costOfSecondLevel - 1) * partBeyond(machine.level1) +
         (costOfMemory - costOfSecondLevel) * partBeyond(machine.level2);
}

static double costOfRegisters(const Schedule &schedule, const TuningSubject &subject,
                              const Bytes &bytes) {
  if (subject.lanes == 0)
    return 0;
  const auto perPair = double(bytes.query + bytes.output);
  return perPair / double(schedule.vectors) + perPair / double(schedule.rows);
}

double tilewright::memoryCost(const Schedule &schedule, const TuningSubject &subject) {
  const Bytes bytes(schedule, subject);
  const WorkingSet set = workingSetOf(schedule, subject);
  const double ofGroup = costOfByte(set.group, subject.key.machine);
  const double ofBlock = costOfByte(set.block, subject.key.machine);
  const auto keyAndValue = double(bytes.keyAndValue);
  return costOfRegisters(schedule, subject, bytes) + 4 * double(bytes.score) * ofGroup +
         double(bytes.query + 2 * bytes.output) / double(schedule.blockKV) * ofBlock +
         keyAndValue / double(bytes.group) * (ofBlock - 1) + keyAndValue / double(schedule.blockQ);
}

void tilewright::sortByMemoryCost(std::vector<Schedule> &schedules, const TuningSubject &subject) {
  std::multimap<double, Schedule> byCost; // keeps the order of equal ones
  for (const Schedule &schedule : schedules)
    byCost.emplace(memoryCost(schedule, subject), schedule);
  std::ranges::copy(std::views::values(byCost), schedules.begin());
}
