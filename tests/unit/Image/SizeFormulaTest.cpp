//===- SizeFormulaTest.cpp - Integers computed from extents ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/unit/Image/Testing.h"

using namespace tilewright;
using Op = SizeFormula::Op;

static Result<int64_t> of(Op op, int64_t a, int64_t b) {
  return evaluate(
      {{{.op = Op::Constant, .constant = a}, {.op = Op::Constant, .constant = b}, {op}}}, {});
}

TEST(SizeFormula, ComputesEachOperation) {
  EXPECT_EQ(*of(Op::Add, 3, 4), 7);
  EXPECT_EQ(*of(Op::Subtract, 3, 4), -1);
  EXPECT_EQ(*of(Op::Multiply, int64_t{1} << 31, 4), int64_t{1} << 33);
  EXPECT_EQ(*of(Op::CeilDiv, 129, 128), 2);
  EXPECT_EQ(*of(Op::CeilDiv, 128, 128), 1);
  EXPECT_EQ(*of(Op::CeilDiv, 0, 128), 0);
  EXPECT_EQ(*of(Op::CeilDiv, -3, 2), -1);
  EXPECT_EQ(*of(Op::CeilDiv, INT64_MAX, 2), INT64_MAX / 2 + 1);
  EXPECT_EQ(*of(Op::FloorDiv, 7, 2), 3);
  EXPECT_EQ(*of(Op::FloorDiv, -7, 2), -4);
  EXPECT_EQ(*of(Op::Min, 3, 4), 3);
  EXPECT_EQ(*of(Op::Max, 3, 4), 4);
}

TEST(SizeFormula, ReadsExtents) {
  const int64_t query[] = {2, 8, 1000, 64}, key[] = {2, 4};
  const std::span<const int64_t> extents[] = {query, key};
  EXPECT_EQ(*evaluate(blocksOf(0, 2, 128), extents), 8);
  EXPECT_EQ(*evaluate(blocksOf(1, 1, 1), extents), 4);
  EXPECT_FALSE(evaluate(blocksOf(1, 2, 1), extents));
  EXPECT_FALSE(evaluate(blocksOf(2, 0, 1), extents));
}

TEST(SizeFormula, RefusesWhatHasNoValue) {
  for (Result<int64_t> wrong :
       {of(Op::Add, INT64_MAX, 1), of(Op::Subtract, INT64_MIN, 1), of(Op::Multiply, INT64_MAX, 2),
        of(Op::CeilDiv, 1, 0), of(Op::FloorDiv, INT64_MIN, -1)})
    EXPECT_FALSE(wrong);
  EXPECT_FALSE(evaluate({}, {}));
  EXPECT_FALSE(evaluate({{{Op::Add}}}, {}));
}
