//===- CacheModelTest.cpp - Tests of the model of the caches --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Tune/CacheModel.h"
#include "tests/unit/Tune/Testing.h"

#include <gmock/gmock.h>

using namespace tilewright;
using testing::ElementsAre;
using tuning::subjectOf;

namespace {
TEST(CacheModelTest, CountsTheBytesOfABlock) {
  TuningSubject subject = subjectOf({}, /*lanes=*/0);
  const WorkingSet f32 = workingSetOf({.blockQ = 24, .blockKV = 48}, subject);
  EXPECT_EQ(f32.group, 24 * 48 * 4 + 24 * 128 * 4);
  EXPECT_EQ(f32.block, f32.group + 48 * 128 * 4);

  subject.key.valueDim = 32;
  subject.key.dtype = DType::BF16;
  const WorkingSet bf16 = workingSetOf({.blockQ = 16, .blockKV = 32, .stages = 3}, subject);
  EXPECT_EQ(bf16.group, 16 * 32 * 4 + 16 * 96 * 4) << "computed in f32";
  EXPECT_EQ(bf16.block, bf16.group + 3 * 32 * 96 * 2) << "read in bf16, three stages";

  subject.key.dtype = DType::F64;
  EXPECT_EQ(workingSetOf({.blockQ = 16, .blockKV = 32}, subject).group, 16 * 32 * 8 + 16 * 96 * 8);
}

TEST(CacheModelTest, GroupsShareTheKeysOfABlockAndAHomeForScores) {
  const TuningSubject subject = subjectOf({}, /*lanes=*/8);
  const WorkingSet one =
      workingSetOf({.blockQ = 24, .blockKV = 48, .vectors = 3, .rows = 4}, subject);
  EXPECT_EQ(one.group, 24 * 48 * 4 + 24 * 128 * 4);
  EXPECT_EQ(one.block, one.group) << "keys pass by";
  const WorkingSet four =
      workingSetOf({.blockQ = 96, .blockKV = 48, .vectors = 3, .rows = 4}, subject);
  EXPECT_EQ(four.group, one.group);
  EXPECT_EQ(four.block, one.group + 3 * 24 * 128 * 4 + 48 * 128 * 4);
}

TEST(CacheModelTest, BlocksThatLeaveTheCachesCostMore) {
  const TuningSubject subject = subjectOf({}, /*lanes=*/0);
  TuningSubject large = subject, small = subject;
  large.key.machine = {.features = "", .level1 = 1 << 20, .level2 = 1 << 24};
  small.key.machine = {.features = "", .level1 = 1 << 10, .level2 = 1 << 12};
  const Schedule schedule{.blockQ = 64, .blockKV = 64};
  EXPECT_LT(memoryCost(schedule, large), memoryCost(schedule, subject));
  EXPECT_LT(memoryCost(schedule, subject), memoryCost(schedule, small));
}

TEST(CacheModelTest, OrdersByWhatIsMoved) {
  // With 32 and 512 KiB: tiny blocks load everything again and again, huge ones leave both caches.
  std::vector<Schedule> schedules = {{.blockQ = 4096, .blockKV = 4096},
                                     {.blockQ = 1, .blockKV = 1},
                                     {.blockQ = 24, .blockKV = 4},
                                     {.blockQ = 48, .blockKV = 32}};
  sortByMemoryCost(schedules, subjectOf({}, /*lanes=*/0));
  EXPECT_THAT(schedules, ElementsAre(Schedule{.blockQ = 48, .blockKV = 32},
                                     Schedule{.blockQ = 4096, .blockKV = 4096},
                                     Schedule{.blockQ = 24, .blockKV = 4},
                                     Schedule{.blockQ = 1, .blockKV = 1}));
}

TEST(CacheModelTest, LikesRegisterTilesThatAreNearlySquare) {
  const auto cost = [](int64_t vectors, int64_t rows) {
    return memoryCost({.blockQ = 48, .blockKV = 48, .vectors = vectors, .rows = rows},
                      subjectOf({}, /*lanes=*/8));
  };
  EXPECT_LT(cost(3, 4), cost(2, 6));
  EXPECT_LT(cost(2, 6), cost(2, 5));
  EXPECT_LT(cost(2, 5), cost(1, 12));
}

TEST(CacheModelTest, KeepsTheOrderOfEqualOnes) {
  const TuningSubject subject = subjectOf({}, /*lanes=*/0);
  const Schedule a{.blockQ = 16, .blockKV = 16, .stages = 1}, b{.blockQ = 16, .blockKV = 16};
  std::vector<Schedule> schedules = {a, b};
  sortByMemoryCost(schedules, subject);
  EXPECT_THAT(schedules, ElementsAre(a, b));
  schedules = {b, a};
  sortByMemoryCost(schedules, subject);
  EXPECT_THAT(schedules, ElementsAre(b, a));
}
} // namespace
