//===- WindowTest.cpp - Masks that hide the first keys of a block ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/unit/Target/Attention.h"

#include <fmt/format.h>

using namespace tilewright;
using namespace tilewright::test;
using reference::Case;
using reference::infinity;
using reference::makeArray;
using reference::noise;
using testing::Each;

namespace {
/// Lengths that no block divides, two heads on each key head.
Case makeCase(int64_t queries, int64_t keys, DType dtype = DType::F32) {
  return Case({.queries = queries,
               .keys = keys,
               .d = 12,
               .dv = 9,
               .heads = 4,
               .kvHeads = 2,
               .dtype = dtype},
              noise(1), noise(2), noise(3));
}

/// Compiles once and runs with each value of the one scalar that the case has.
void expectRightFor(Case aCase, const std::vector<int64_t> &values, const Options &options) {
  Result<Kernel> kernel = compileKernel(aCase.problem, options);
  for (const int64_t value : values) {
    SCOPED_TRACE(fmt::format("{} {}", options.schedule, value));
    aCase.problem.bindings.scalars.front() = static_cast<double>(value);
    expectRight(kernel, aCase, options);
  }
}

const std::vector<int64_t> windows = {1, 2, 63, 64, 65, 256};
} // namespace

TEST(Window, OfAnyWidthInAnyBlocks) {
  for (const char *schedule :
       {"block_kv=32", "block_kv=96", "block_kv=128", "block_q=64,block_kv=40,vectors=1",
        "block_q=40,block_kv=22,vectors=1,rows=1", "block_q=7,block_kv=3,rows=5"})
    expectRightFor(makeCase(150, 163).preset("sliding-window"), windows, {.schedule = schedule});
}

TEST(Window, WithTheLastQueryAtTheLastKey) {
  for (const auto &[queries, keys] : {std::pair<int64_t, int64_t>{70, 190}, {190, 70}})
    for (const char *schedule : {"block_q=48,block_kv=32,vectors=2", "block_kv=96"})
      expectRightFor(makeCase(queries, keys).preset("sliding-window-lower-right"), windows,
                     {.schedule = schedule});
}

TEST(Window, InAnyForm) {
  for (const char *mask :
       {"k > q - n", "k >= q - n + 1", "k + n > q", "n + k > q", "q < k + n", "n > q - k",
        "q - k <= n", "q - n < k && k < q + n", "q - k < n && k - q < n", "-n < k - q", "k >= n",
        "n < k && k <= q", "k - n > q", "q <= k - n", "!(k < q - n)", "k > q + n",
        "q + (kv_len - q_len) - k <= n && k - q <= 3"}) {
    SCOPED_TRACE(mask);
    Case aCase = makeCase(100, 110);
    aCase.scalar("n", expression::Type::I32, 0).mask(mask);
    expectRightFor(std::move(aCase), {-70, -1, 0, 5, 33, 2000},
                   {.schedule = "block_q=48,block_kv=32,vectors=2"});
  }
}

TEST(Window, InEveryDType) {
  for (const DType dtype : {DType::F64, DType::F16, DType::BF16})
    for (const char *schedule : {"block_kv=32", "block_kv=96"})
      expectRightFor(makeCase(150, 163, dtype).preset("sliding-window"), {2, 65},
                     {.schedule = schedule});
}

TEST(Window, OfDocumentsWithScoresOfAPassOfTheirOwn) {
  for (const char *schedule : {"block_kv=64", "block_q=64,block_kv=96,vectors=1"}) {
    Case aCase = makeCase(163, 163);
    aCase.preset("sliding-window")
        .tensor("document", makeArray(DType::I32, {1, 163}, [](int64_t i) { return i / 50; }))
        .preset("document")
        .mask("k != 70")
        .score("3.0 * tanh(s / 3.0)")
        .score("s - 0.1 * real(q - k) + 0.5 * real(k % 3)");
    expectRightFor(std::move(aCase), {1, 33, 100}, {.schedule = schedule});
  }
}

TEST(Window, RowsWithoutAVisibleKey) {
  // The second block of 32 keys has one, before which the last queries of a block begin.
  for (const char *schedule : {"block_q=64,block_kv=32,vectors=1", "block_kv=200"}) {
    Case behind = makeCase(130, 33);
    behind.mask("q - k < 10");
    const Ran ran = expectRight(behind, {.schedule = schedule});
    EXPECT_EQ(ran.lse.at(129), -infinity);
    EXPECT_EQ(ran.o.at(129 * 9), 0);
    EXPECT_GT(ran.lse.at(41), -infinity);
    for (const char *mask : {"k <= q && q - k < 0", "k >= 33", "k >= 25 && k < 20"}) {
      Case none = makeCase(60, 33);
      none.mask(mask);
      const Ran empty = expectRight(none, {.schedule = schedule});
      EXPECT_THAT(empty.o, Each(0));
      EXPECT_THAT(empty.lse, Each(-infinity));
    }
  }
}

TEST(Window, SumsThatWrapHideNoMoreThanTheyDo) {
  // Numbers that are read wrap at 32 bits (docs/semantics.md), for queries in the middle of a block
  // too: those after see what those before do not.
  constexpr double greatest = 2147483647, least = -2147483648.0;
  const Case::Values values = [](int64_t head) {
    return std::array{greatest - 60, greatest, least + 60, least}[static_cast<size_t>(head)];
  };
  for (const char *mask :
       {"k > q + far[h]", "k >= q - far[h]", "k < q + far[h]", "k <= q - far[h]",
        "k > q - far[h] - far[h] + 20", "k <= q + far[h] + far[h]", "q + far[h] - k < 50",
        "q - far[h] - k <= far[h]", "q < k + far[h]", "q <= k - far[h]", "k - q < far[h]",
        "k - q - far[h] < 7", "q + far[h] < k + far[h]"}) {
    SCOPED_TRACE(mask);
    Case aCase = makeCase(100, 110);
    aCase.tensor("far", makeArray(DType::I32, {4}, values)).mask(mask);
    expectRight(aCase, {.schedule = "block_q=48,block_kv=32,vectors=2"});
  }
}
