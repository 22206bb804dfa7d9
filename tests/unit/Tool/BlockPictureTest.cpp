//===- BlockPictureTest.cpp - Tests for tilewright/BlockPicture.h ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/tilewright/BlockPicture.h"
#include "compiler/tools/tilewright/VisitedWork.h"

#include <gtest/gtest.h>

using namespace tilewright;
using namespace tilewright::tool;

/// 10 queries in blocks of 4 and 7 keys in blocks of 2, causal: the last blocks are cut off.
static const BlockMap causal = {
    .blockQ = 4, .blockKV = 2, .keyBlocks = 4, .rows = {{0, 0, 0, 2}, {0, 0, 2, 4}, {0, 0, 4, 4}}};

TEST(BlockPicture, HasOneCharacterForABlock) {
  EXPECT_EQ(drawBlocks(causal, 64).text, "  ++..\n  ##++\n  ####\n");
}

TEST(BlockPicture, DrawsBlocksTogetherWhereThereAreMany) {
  const BlockPicture picture = drawBlocks(causal, 3);
  EXPECT_EQ(picture.queryBlocks, 1);
  EXPECT_EQ(picture.keyBlocks, 2);
  EXPECT_EQ(picture.text, "  +.\n  #+\n  ##\n");
  EXPECT_EQ(drawBlocks(causal, 2).text, "  ++\n  ##\n");
  EXPECT_EQ(drawBlocks(causal, 1).text, "  +\n");
}

TEST(BlockPicture, IsEmptyWithoutQueries) {
  EXPECT_EQ(drawBlocks({.blockQ = 4, .blockKV = 2, .keyBlocks = 4, .rows = {}}, 64).text, "");
}

TEST(VisitedWork, CountsScoresOfVisitedBlocksWithinTheLengths) {
  const ProblemSizes sizes = {
      .batch = 2, .heads = 3, .kvHeads = 1, .queryLength = 10, .keyLength = 7};
  EXPECT_EQ(countVisitedScores(causal, sizes), 4 * 4 + 4 * 7 + 2 * 7);
  EXPECT_EQ(countOperations(58, sizes, 5, 6), 2 * 3 * 58 * 2 * (5 + 6));
}
