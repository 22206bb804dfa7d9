//===- IoModelTest.cpp - Tests for compiler/Analysis/IoModel.h ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Analysis/IoModel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace tilewright;
using testing::DoubleNear;

static constexpr double mebi = 1024 * 1024;

/// One head of `length` queries and keys, f16, width 64.
static IoModel oneHead(int64_t length) {
  return {
      .sizes = {.batch = 1, .heads = 1, .kvHeads = 1, .queryLength = length, .keyLength = length},
      .headDim = 64,
      .valueDim = 64,
      .dtype = DType::F16};
}

TEST(IoModel, InputsGrowLinearlyAndTheScoreTableQuadratically) {
  EXPECT_EQ(oneHead(1024).inputBytes() / mebi, 0.375);
  EXPECT_EQ(oneHead(8192).inputBytes() / mebi, 3);
  EXPECT_EQ(oneHead(32768).inputBytes() / mebi, 12);
  EXPECT_EQ(oneHead(1024).scoreTableBytes() / mebi, 2);
  EXPECT_EQ(oneHead(8192).scoreTableBytes() / mebi, 128);
  EXPECT_EQ(oneHead(32768).scoreTableBytes() / mebi, 2048);
}

TEST(IoModel, TilingSavesAccessesUpToALimit) {
  constexpr double memory = 48000;
  EXPECT_THAT(oneHead(1024).accessRatio(memory), DoubleNear(7.19, 0.005));
  EXPECT_THAT(oneHead(8192).accessRatio(memory), DoubleNear(10.82, 0.005));
  EXPECT_THAT(oneHead(65536).accessRatio(memory), DoubleNear(11.60, 0.005));
  EXPECT_THAT(oneHead(524288).accessRatio(memory), DoubleNear(11.70, 0.005));
  EXPECT_THAT(oneHead(524288).accessRatioLimit(memory), DoubleNear(11.72, 0.005));
}

TEST(IoModel, CountsBatchesHeadsAndWidthsApart) {
  const IoModel model = {
      .sizes = {.batch = 2, .heads = 6, .kvHeads = 3, .queryLength = 10, .keyLength = 100},
      .headDim = 4,
      .valueDim = 8,
      .dtype = DType::F32};
  EXPECT_EQ(model.inputBytes(), 2 * (6 * 10 * 4 + 3 * 100 * 4 + 3 * 100 * 8) * 4);
  EXPECT_EQ(model.scoreTableBytes(), 2 * 6 * 10 * 100 * 4);
  EXPECT_EQ(model.tableAccesses(), 10 * 100 + 55 * 6);
}

TEST(IoModel, SaysWhereItDoesNotHold) {
  EXPECT_EQ(oneHead(1024).range(64 * 64 - 1), IoModel::Range::MemoryTooSmall);
  EXPECT_EQ(oneHead(1024).range(64 * 64), IoModel::Range::Holds);
  EXPECT_EQ(oneHead(1024).range(1024 * 64), IoModel::Range::Holds);
  EXPECT_EQ(oneHead(1024).range(1024 * 64 + 1), IoModel::Range::AllFits);
}

TEST(IoModel, DoesNotOverflowAtTheLargestExtents) {
  IoModel model = oneHead(int64_t{1} << 30);
  model.sizes.batch = model.sizes.heads = model.sizes.kvHeads = int64_t{1} << 30;
  EXPECT_EQ(model.scoreTableBytes(), 0x1p121);
}
