//===- BlockMapTest.cpp - Which blocks a kernel visits --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Explain/BlockMap.h"

#include <tilewright/compiler.h>

#include <gtest/gtest.h>

using namespace tilewright;

namespace {

std::string tileProgram(const std::string &mask, const std::string &schedule) {
  Problem problem;
  problem.masks = {mask};
  problem.scalars = {{"window", ScalarType::I32}};
  CompileOptions options;
  options.schedule = schedule;
  Result<Compilation> compilation = compile(problem, options);
  EXPECT_TRUE(compilation);
  Result<std::string> text = compilation->text(Stage::Tile);
  EXPECT_TRUE(text);
  return *text;
}

BlockMap mapOf(const std::string &mask, int64_t queryLength, int64_t keyLength,
               const std::string &schedule = "block_q=128,block_kv=128", double window = 0) {
  Result<BlockMap> map = computeBlockMap(
      tileProgram(mask, schedule),
      {.batch = 1, .heads = 1, .kvHeads = 1, .queryLength = queryLength, .keyLength = keyLength},
      {{"window", window}});
  EXPECT_TRUE(map) << (map ? "" : map.error().message());
  return map ? *map : BlockMap();
}

TEST(BlockMap, CausalVisitsHalfAndOnlyTheDiagonalIsPartial) {
  for (auto [length, visited] : {std::pair<int64_t, int64_t>{1024, 36}, {4096, 528}}) {
    const BlockMap map = mapOf("k <= q", length, length);
    EXPECT_EQ(map.blockQ, 128);
    EXPECT_EQ(map.blockKV, 128);
    const int64_t blocks = length / 128;
    EXPECT_EQ(map.full() + map.partial(), visited);
    EXPECT_EQ(map.skipped(), blocks * blocks - visited);
    ASSERT_EQ(static_cast<int64_t>(map.rows.size()), blocks);
    for (int64_t i = 0; i < blocks; ++i) {
      EXPECT_EQ(map.rows[i].begin, 0);
      EXPECT_EQ(map.rows[i].fullBegin, 0);
      EXPECT_EQ(map.rows[i].fullEnd, i);
      EXPECT_EQ(map.rows[i].end, i + 1);
    }
  }
}

TEST(BlockMap, TooManyRowsAreRefused) {
  const std::string program = tileProgram("k <= q", "block_q=1,block_kv=96");
  const ProblemSizes sizes = {
      .batch = 0, .heads = 1, .kvHeads = 1, .queryLength = int64_t{1} << 30, .keyLength = 4};
  Result<BlockMap> map = computeBlockMap(program, sizes, {{"window", 0}});
  ASSERT_FALSE(map);
  EXPECT_EQ(map.error().message(),
            "1073741824 queries are 1073741824 blocks; at most 131072 are counted");
}

/// Which class each block has by looking at every position in it.
void expectSameAsBruteForce(const std::string &mask, int64_t queryLength, int64_t keyLength,
                            int64_t blockQ, int64_t blockKV, double window,
                            bool (*visible)(int64_t, int64_t, int64_t)) {
  const BlockMap map =
      mapOf(mask, queryLength, keyLength,
            "block_q=" + std::to_string(blockQ) + ",block_kv=" + std::to_string(blockKV), window);
  ASSERT_EQ(static_cast<int64_t>(map.rows.size()), (queryLength + blockQ - 1) / blockQ);
  for (size_t i = 0; i < map.rows.size(); ++i)
    for (int64_t j = 0; j < map.keyBlocks; ++j) {
      int64_t seen = 0;
      const int64_t q0 = static_cast<int64_t>(i) * blockQ, q1 = std::min(q0 + blockQ, queryLength);
      for (int64_t q = q0; q < q1; ++q)
        for (int64_t k = j * blockKV; k < std::min((j + 1) * blockKV, keyLength); ++k)
          seen += visible(q, k, static_cast<int64_t>(window));
      const BlockRow row = map.rows[i];
      const bool isFull = j >= row.fullBegin && j < row.fullEnd;
      const bool isVisited = j >= row.begin && j < row.end;
      EXPECT_EQ(isFull, seen == (q1 - q0) * blockKV) << mask << " block " << i << ", " << j;
      if (seen > 0)
        EXPECT_TRUE(isVisited) << mask << " block " << i << ", " << j;
    }
}

TEST(BlockMap, AgreesWithLookingAtEveryPosition) {
  for (auto [queryLength, keyLength] :
       {std::pair<int64_t, int64_t>{64, 64}, {37, 53}, {100, 7}, {7, 100}, {1, 40}}) {
    expectSameAsBruteForce("k <= q", queryLength, keyLength, 16, 8, 0,
                           [](int64_t q, int64_t k, int64_t) { return k <= q; });
    expectSameAsBruteForce("k <= q && q - k < window", queryLength, keyLength, 8, 5, 17,
                           [](int64_t q, int64_t k, int64_t w) { return k <= q && q - k < w; });
    expectSameAsBruteForce("abs(window) > 3 && 3 * k + 2 * q >= 40", queryLength, keyLength, 7, 3,
                           4, [](int64_t q, int64_t k, int64_t) { return 3 * k + 2 * q >= 40; });
    expectSameAsBruteForce("window == 3", queryLength, keyLength, 8, 8, 4,
                           [](int64_t, int64_t, int64_t) { return false; });
  }
}

TEST(BlockMap, ResidualConditionsLeaveNothingFull) {
  const BlockMap map = mapOf("k <= q && (q - k) % 2 == 0", 1024, 1024);
  EXPECT_EQ(map.full(), 0);
  EXPECT_EQ(map.partial(), 36);
}

TEST(BlockMap, RefusesTextThatIsNoProgram) {
  EXPECT_FALSE(computeBlockMap("module {}", {}, {}));
  EXPECT_FALSE(computeBlockMap("func.func @f(", {}, {}));
}

} // namespace
