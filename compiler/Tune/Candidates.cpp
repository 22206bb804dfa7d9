//===- Candidates.cpp - Schedules to try for a problem --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Tune/Candidates.h"

#include <algorithm>
#include <utility>

using namespace tilewright;

static std::vector<int64_t> valuesAround(int64_t chosen, int64_t most) {
  std::vector<int64_t> values;
  if (chosen <= 8) {
    for (int64_t value = (chosen + 1) / 2; value <= 2 * chosen; ++value)
      values.push_back(value);
  } else {
    constexpr std::pair<int, int> factors[] = {{1, 4}, {1, 3}, {1, 2}, {2, 3}, {1, 1},
                                               {4, 3}, {3, 2}, {2, 1}, {3, 1}, {4, 1}};
    const int64_t grain = std::min<int64_t>(chosen & -chosen, 16);
    for (auto [numerator, denominator] : factors)
      values.push_back(chosen * numerator / denominator / grain * grain);
  }
  std::erase_if(values, [most](int64_t value) { return value < 1 || value > most; });
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

/// Registers of a tile: sums, and one row of operands.
static int64_t registersOf(const Schedule &schedule) {
  return schedule.vectors * (schedule.rows + 1);
}

static bool fillsTiles(const Schedule &schedule, const TuningSubject &subject) {
  const auto &[key, chosen, lanes] = subject;
  if (lanes == 0)
    return schedule.vectors == chosen.vectors && schedule.rows == chosen.rows;
  // The widest heads leave room for less than a tile.
  const bool isWhole = schedule.blockQ % (schedule.vectors * lanes) == 0 ||
                       (chosen.blockQ < chosen.vectors * lanes && schedule.blockQ % lanes == 0);
  const int64_t registers = registersOf(schedule), most = registersOf(chosen);
  return isWhole && registers <= most && 4 * registers >= 3 * most;
}

std::vector<Schedule> tilewright::candidatesFor(const TuningSubject &subject) {
  const Schedule &chosen = subject.own;
  std::vector<Schedule> schedules = {chosen};
  for (const ScheduleField &field : scheduleFields()) {
    if (chosen.*field.value == 0)
      continue;
    std::vector<Schedule> wider;
    for (const Schedule &schedule : schedules)
      for (int64_t value : valuesAround(chosen.*field.value, field.most)) {
        wider.push_back(schedule);
        wider.back().*field.value = value;
      }
    schedules = std::move(wider);
  }
  std::erase_if(schedules, [&](const Schedule &schedule) {
    return schedule == chosen || !fillsTiles(schedule, subject);
  });
  return schedules;
}
