//===- CandidatesTest.cpp - Tests of the schedules to try -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Tune/Candidates.h"
#include "tests/unit/Tune/Testing.h"

#include <gmock/gmock.h>

#include <set>

using namespace tilewright;
using testing::ElementsAre;
using tuning::subjectOf;

namespace {
std::set<int64_t> valuesOf(const std::vector<Schedule> &schedules, int64_t Schedule::*field) {
  std::set<int64_t> values;
  for (const Schedule &schedule : schedules)
    values.insert(schedule.*field);
  return values;
}

TEST(CandidatesTest, KeepThePowerOfTwoOfBlocks) {
  const std::vector<Schedule> schedules =
      candidatesFor(subjectOf({.blockQ = 24, .blockKV = 48}, 0));
  EXPECT_THAT(valuesOf(schedules, &Schedule::blockQ), ElementsAre(8, 16, 24, 32, 48, 72, 96));
  EXPECT_THAT(valuesOf(schedules, &Schedule::blockKV), ElementsAre(16, 32, 48, 64, 96, 144, 192));
  EXPECT_EQ(schedules.size(), 7u * 7 - 1);
}

TEST(CandidatesTest, FillRegistersAndVectors) {
  const Schedule own{.blockQ = 24, .blockKV = 48, .vectors = 3, .rows = 4};
  std::set<std::pair<int64_t, int64_t>> tiles;
  for (const Schedule &schedule : candidatesFor(subjectOf(own, /*lanes=*/8))) {
    tiles.emplace(schedule.vectors, schedule.rows);
    EXPECT_EQ(schedule.blockQ % (schedule.vectors * 8), 0) << toString(schedule);
  }
  // 15 registers hold sums and one row of operands, 11 are too few; and no block tried is 40 wide.
  EXPECT_THAT(tiles, ElementsAre(std::pair(2, 5), std::pair(2, 6), std::pair(3, 3), std::pair(3, 4),
                                 std::pair(4, 2)));
  for (const Schedule &schedule : candidatesFor(subjectOf(own, /*lanes=*/0)))
    EXPECT_TRUE(schedule.vectors == 3 && schedule.rows == 4) << toString(schedule);
}

TEST(CandidatesTest, MayHaveLessThanATileWhereTheCompilerDoes) {
  const Schedule own{.blockQ = 8, .blockKV = 4, .vectors = 3, .rows = 4};
  EXPECT_THAT(valuesOf(candidatesFor(subjectOf(own, /*lanes=*/8)), &Schedule::blockQ),
              ElementsAre(8, 16));
}

TEST(CandidatesTest, AreAllDifferentAndNotTheCompilersOwn) {
  const Schedule own{.blockQ = 128, .blockKV = 128, .stages = 2};
  const std::vector<Schedule> schedules = candidatesFor(subjectOf(own, 0));
  std::set<std::string> texts;
  for (const Schedule &schedule : schedules)
    texts.insert(toString(schedule));
  EXPECT_EQ(texts.size(), schedules.size());
  EXPECT_FALSE(texts.contains(toString(own)));
}

TEST(CandidatesTest, HaveTheFieldsOfTheCompilersOwnAlone) {
  const auto stages = [](const Schedule &own) {
    return valuesOf(candidatesFor(subjectOf(own, 0)), &Schedule::stages);
  };
  EXPECT_THAT(stages({.blockQ = 64, .blockKV = 64}), ElementsAre(0));
  EXPECT_THAT(stages({.blockQ = 64, .blockKV = 64, .stages = 2}), ElementsAre(1, 2, 3, 4));
}

TEST(CandidatesTest, StayWithinTheLimitsOfFields) {
  for (const Schedule &own : {Schedule{.blockQ = 1, .blockKV = 4096},
                              Schedule{.blockQ = 4095, .blockKV = 3, .stages = 1}})
    for (const Schedule &schedule : candidatesFor(subjectOf(own, 0))) {
      const Result<Schedule> parsed = parseSchedule(toString(schedule), own);
      ASSERT_TRUE(parsed) << parsed.error().message();
      EXPECT_EQ(*parsed, schedule);
    }
}
} // namespace
