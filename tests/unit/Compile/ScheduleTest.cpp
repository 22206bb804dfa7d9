//===- ScheduleTest.cpp - Schedules as text and the compiler's choice -----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Pipelines/CpuPipeline.h"

#include <gtest/gtest.h>

using namespace tilewright;

static constexpr Schedule defaults = {.blockQ = 24, .blockKV = 96};

static std::string refusal(std::string_view text) {
  const Result<Schedule> schedule = parseSchedule(text, defaults);
  return schedule ? "" : schedule.error().message();
}

TEST(Schedule, FieldsNotNamedKeepTheirValue) {
  EXPECT_EQ(*parseSchedule("", defaults), defaults);
  EXPECT_EQ(*parseSchedule("block_q=7", defaults), (Schedule{7, 96}));
  EXPECT_EQ(*parseSchedule("block_kv=13", defaults), (Schedule{24, 13}));
  EXPECT_EQ(*parseSchedule("block_kv = 4096, block_q = 1", defaults), (Schedule{1, 4096}));
}

TEST(Schedule, TextIsReadBack) {
  EXPECT_EQ(toString(defaults), "block_q=24,block_kv=96");
  EXPECT_EQ(*parseSchedule(toString({7, 13}), defaults), (Schedule{7, 13}));
}

TEST(Schedule, ErrorsNameFieldValueAndLimit) {
  EXPECT_EQ(refusal("block_q=0"),
            "schedule has block_q = '0'; it must be an integer from 1 to 4096");
  EXPECT_EQ(refusal("block_kv=4097"),
            "schedule has block_kv = '4097'; it must be an integer from 1 to 4096");
  EXPECT_EQ(refusal("block_q=99999999999999999999"),
            "schedule has block_q = '99999999999999999999'; it must be an integer from 1 to 4096");
  EXPECT_EQ(refusal("block_q=x"),
            "schedule has block_q = 'x'; it must be an integer from 1 to 4096");
  EXPECT_EQ(refusal("block_q"), "schedule has block_q = ''; it must be an integer from 1 to 4096");
  EXPECT_EQ(refusal("stages=3"),
            "schedule has the unknown field 'stages'; fields are block_q, block_kv");
  EXPECT_EQ(refusal("block_q=1,,block_kv=2"),
            "schedule has the unknown field ''; fields are block_q, block_kv");
  EXPECT_EQ(refusal("block_q=8,"),
            "schedule has the unknown field ''; fields are block_q, block_kv");
  EXPECT_EQ(refusal("block_q=1,block_q=2"), "schedule names block_q twice");
}

TEST(Schedule, FieldsThatAreZeroAreNoneOfTheTargets) {
  EXPECT_EQ(toString({.blockQ = 128, .blockKV = 64, .stages = 2}),
            "block_q=128,block_kv=64,stages=2");
  EXPECT_EQ(*parseSchedule("stages=3", {.stages = 2}), (Schedule{.stages = 3}));
  EXPECT_EQ(toString({.blockQ = 24, .blockKV = 48, .vectors = 3, .rows = 4}),
            "block_q=24,block_kv=48,vectors=3,rows=4");
  EXPECT_EQ(*parseSchedule("rows=6", {.vectors = 3, .rows = 4}),
            (Schedule{.vectors = 3, .rows = 6}));
  EXPECT_EQ(parseSchedule("vectors=17", {.vectors = 3, .rows = 4}).error().message(),
            "schedule has vectors = '17'; it must be an integer from 1 to 16");
  EXPECT_EQ(parseSchedule("rows=0", {.vectors = 3, .rows = 4}).error().message(),
            "schedule has rows = '0'; it must be an integer from 1 to 16");
  EXPECT_EQ(parseSchedule("stages=2", {.vectors = 3, .rows = 4}).error().message(),
            "schedule has the unknown field 'stages'; fields are vectors, rows");
  EXPECT_EQ(parseSchedule("stages=33", {.stages = 2}).error().message(),
            "schedule has stages = '33'; it must be an integer from 1 to 32");
  EXPECT_EQ(parseSchedule("block_q=1", {.stages = 2}).error().message(),
            "schedule has the unknown field 'block_q'; fields are stages");
  EXPECT_EQ(parseSchedule("block_q=1", {}).error().message(),
            "schedule has the field 'block_q', but this target has none at this stage");
}

TEST(Schedule, TheDefaultFollowsTheRegisterTileAndTheWidth) {
  CpuTarget target;
  target.lanes = 8;
  target.vectors = 3;
  EXPECT_EQ(defaultCpuSchedule(target, DType::F32, 64, 64), (Schedule{24, 96}));
  EXPECT_EQ(defaultCpuSchedule(target, DType::F64, 64, 64), (Schedule{12, 96}));
  EXPECT_EQ(defaultCpuSchedule(target, DType::F32, 96, 97), (Schedule{24, 96}));
  // Blocks of several register tiles share what is widened.
  EXPECT_EQ(defaultCpuSchedule(target, DType::BF16, 64, 64), (Schedule{96, 96}));
  EXPECT_EQ(defaultCpuSchedule(target, DType::F16, 160, 8), (Schedule{96, 96}));
  EXPECT_EQ(defaultCpuSchedule(target, DType::BF16, 8, 256), (Schedule{48, 64}));
  EXPECT_EQ(defaultCpuSchedule(target, DType::F16, 512, 512), (Schedule{24, 64}));
  CpuTarget wide;
  wide.lanes = 16;
  wide.vectors = 4;
  EXPECT_EQ(defaultCpuSchedule(wide, DType::F32, 96, 96), (Schedule{64, 96}));
  EXPECT_EQ(defaultCpuSchedule(wide, DType::F32, 96, 97), (Schedule{128, 96}));
  EXPECT_EQ(defaultCpuSchedule(wide, DType::F64, 160, 8), (Schedule{64, 96}));
  EXPECT_EQ(defaultCpuSchedule(wide, DType::BF16, 96, 96), (Schedule{64, 96}));
  EXPECT_EQ(defaultAmxSchedule(64), (Schedule{32, 64}));
  EXPECT_EQ(defaultAmxSchedule(80), (Schedule{32, 32}));
  EXPECT_EQ(defaultAmxSchedule(128), (Schedule{32, 64}));
  // What a stack of scratch allows.
  EXPECT_EQ(defaultCpuSchedule(target, DType::F32, 32768, 32768), (Schedule{8, 7}));
  EXPECT_EQ(defaultCpuSchedule(target, DType::BF16, 32768, 32768), (Schedule{8, 7}));
  EXPECT_EQ(defaultCpuSchedule(target, DType::F64, 65536, 1), (Schedule{4, 1}));
}
