//===- BoundsTest.cpp - What is refused before a launch -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/unit/Expression/Testing.h"

using namespace tilewright;
using namespace tilewright::expression;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// The interval of an integer expression, seen through a comparison with itself.
static Interval intervalOf(std::string_view text, const Names &names = {},
                           const Sizes &sizes = testSizes) {
  const Expression e = parsed(std::string(text) + " == 0", names.declarations, Role::Mask);
  Result<Bounds> bounds = checkBounds(e, names.declarations, sizes, names.bindings);
  if (!bounds) {
    ADD_FAILURE() << bounds.error().message();
    return {};
  }
  return bounds->intervals[e.operands(e[e.root()])[0]];
}

static std::string refused(std::string_view text, const Names &names = {},
                           const Sizes &sizes = testSizes) {
  const Expression e = parsed(text, names.declarations, Role::Mask);
  Result<Bounds> bounds = checkBounds(e, names.declarations, sizes, names.bindings);
  return bounds ? "" : bounds.error().message();
}

TEST(Bounds, PositionsAndLengths) {
  EXPECT_EQ(intervalOf("b"), (Interval{0, 1}));
  EXPECT_EQ(intervalOf("h"), (Interval{0, 5}));
  EXPECT_EQ(intervalOf("hkv"), (Interval{0, 1}));
  EXPECT_EQ(intervalOf("q"), (Interval{0, 99}));
  EXPECT_EQ(intervalOf("k"), (Interval{0, 199}));
  EXPECT_EQ(intervalOf("q_len"), (Interval{100, 100}));
  EXPECT_EQ(intervalOf("kv_len"), (Interval{200, 200}));
}

TEST(Bounds, Arithmetic) {
  EXPECT_EQ(intervalOf("(q + k)"), (Interval{0, 298}));
  EXPECT_EQ(intervalOf("(q - k)"), (Interval{-199, 99}));
  EXPECT_EQ(intervalOf("(-k)"), (Interval{-199, 0}));
  EXPECT_EQ(intervalOf("((q - k) * (b - 1))"), (Interval{-99, 199}));
  EXPECT_EQ(intervalOf("abs(q - k)"), (Interval{0, 199}));
  EXPECT_EQ(intervalOf("abs(q + 5)"), (Interval{5, 104}));
  EXPECT_EQ(intervalOf("min(q, 7)"), (Interval{0, 7}));
  EXPECT_EQ(intervalOf("max(q, 7)"), (Interval{7, 99}));
  EXPECT_EQ(intervalOf("clamp(q - k, -8, 8)"), (Interval{-8, 8}));
  EXPECT_EQ(intervalOf("(q < k ? q : k + 500)"), (Interval{0, 699}));
  EXPECT_EQ(intervalOf("(q < 1000 ? 1 : 2)"), (Interval{1, 1}));
}

TEST(Bounds, FloorDivisionAndRemainder) {
  EXPECT_EQ(intervalOf("((q - k) // 10)"), (Interval{-20, 9}));
  EXPECT_EQ(intervalOf("(q // -10)"), (Interval{-10, 0}));
  EXPECT_EQ(intervalOf("(q // (k - 5))"), (Interval{-99, 99}));
  EXPECT_EQ(intervalOf("(q % 8)"), (Interval{0, 7}));
  EXPECT_EQ(intervalOf("(q % 1000)"), (Interval{0, 99}));
  EXPECT_EQ(intervalOf("((b + 18) % 10)"), (Interval{8, 9}));
  EXPECT_EQ(intervalOf("((q - k) % -8)"), (Interval{-7, 0}));
  EXPECT_EQ(intervalOf("(q % (k - 5))"), (Interval{-4, 193}));
  EXPECT_EQ(intervalOf("(q % 0)"), (Interval{0, 0}));
}

// Every value that an expression takes is within its interval, for all positions.
TEST(Bounds, IntervalsHoldWhatIsEvaluated) {
  constexpr Sizes sizes = {1, 1, 1, 9, 9};
  for (std::string_view text :
       {"(q - 4) // (k - 4)", "(q - 4) % (k - 4)", "(q - 4) * (k - 4)", "abs(q - 4) - abs(k - 4)",
        "(q - 7) % 3 - (k - 7) // 2", "min(q, k) - max(q, 4)", "q < k ? q - 9 : k // (q - 3)",
        "-(q - 4) // 3", "(q - 9) % 5", "(q - 20) // -(k + 1)"}) {
    const Expression e = parsed("(" + std::string(text) + ") == k", {}, Role::Mask);
    const Expression value = parsed(text, {}, Role::Score);
    Result<Bounds> bounds = checkBounds(e, {}, sizes, {});
    ASSERT_TRUE(bounds);
    const Interval interval = bounds->intervals[e.operands(e[e.root()])[0]];
    const Bindings none;
    Evaluator evaluator(value, sizes, none);
    for (int64_t q = 0; q < 9; ++q) {
      std::vector<double> row(9);
      evaluator.score({0, 0, q}, 0, row);
      for (double x : row) {
        EXPECT_GE(x, static_cast<double>(interval.low)) << text;
        EXPECT_LE(x, static_cast<double>(interval.high)) << text;
      }
    }
  }
}

TEST(Bounds, ArithmeticThatLeaves32BitsIsRefused) {
  constexpr Sizes large = {1, 1, 1, 1 << 30, 1 << 30};
  EXPECT_EQ(refused("q * 3 < k", {}, large),
            "'q * 3' can be anything from 0 to 3221225469 for these lengths and scalars, which "
            "leaves 32 bits (-2147483648 to 2147483647)");
  EXPECT_EQ(refused("q + k < kv_len", {}, large), "");
  EXPECT_THAT(refused("q * k < 5", {}, large), HasSubstr("'q * k'"));
  EXPECT_EQ(refused("q * k < 5"), "");
  Names names;
  names.scalar("w", std::numeric_limits<int32_t>::min());
  EXPECT_THAT(refused("-w < 5", names), HasSubstr("'-w' can be anything from 2147483648"));
  EXPECT_THAT(refused("abs(w) < 5", names), HasSubstr("'abs(w)'"));
  EXPECT_THAT(refused("w // -1 < 5", names), HasSubstr("'w // -1'"));
  EXPECT_THAT(refused("w - q < 5", names), HasSubstr("from -2147483747 to"));
}

TEST(Bounds, ArithmeticOnElementsWraps) {
  int32_t ids[100] = {};
  Names names;
  names.tensor("ids", TensorView(ids, DType::I32, {100}));
  EXPECT_EQ(intervalOf("(ids[q] + 1)", names), (Interval{-2147483648LL, 2147483647}));
  EXPECT_EQ(intervalOf("(ids[q] * ids[q])", names), (Interval{-2147483648LL, 2147483647}));
  EXPECT_EQ(intervalOf("clamp(ids[q] + 1, 0, 9)", names), (Interval{0, 9}));
}

TEST(Bounds, AnIndexMustBeInsideItsTensor) {
  float table[64] = {};
  Names names;
  names.tensor("table", TensorView(table, DType::F32, {64}));
  EXPECT_EQ(refused("table[q - k] > 0", names),
            "index 'q - k' of tensor 'table' is from -199 to 99, but dimension 0 has extent 64; "
            "`clamp(x, 0, 63)` keeps an index inside");
  EXPECT_EQ(refused("table[clamp(q - k, 0, 63)] > 0", names), "");
  EXPECT_EQ(refused("table[q % 64] > 0", names), "");
  EXPECT_THAT(refused("table[q % 65] > 0", names), HasSubstr("from 0 to 64"));
  EXPECT_THAT(refused("false && table[q] > 0", names), HasSubstr("from 0 to 99"));
  EXPECT_THAT(refused("table[-1] > 0", names), HasSubstr("from -1 to -1"));
}

TEST(Bounds, AnIndexThatWasReadNeedsAClamp) {
  int32_t ids[200] = {};
  Names names;
  names.tensor("ids", TensorView(ids, DType::I32, {200}));
  EXPECT_THAT(refused("ids[ids[k]] == 0", names), HasSubstr("from -2147483648 to 2147483647"));
  EXPECT_EQ(refused("ids[clamp(ids[k], 0, 199)] == 0", names), "");
}

TEST(Bounds, AnEmptyTensorHasNoCure) {
  Names names;
  names.tensor("t", TensorView(nullptr, DType::F32, {0}));
  EXPECT_EQ(refused("t[q] > 0", names),
            "index 'q' of tensor 't' is from 0 to 99, but dimension 0 has extent 0");
}

TEST(Bounds, NothingIsRefusedWhereNothingIsEvaluated) {
  Names names;
  names.tensor("t", TensorView(nullptr, DType::F32, {0}));
  for (const Sizes &sizes :
       {Sizes{0, 2, 1, 5, 5}, Sizes{1, 0, 0, 5, 5}, Sizes{1, 2, 1, 0, 5}, Sizes{1, 2, 1, 5, 0}})
    EXPECT_EQ(refused("t[q - 7] > 0", names, sizes), "");
}

TEST(Bounds, SizesAndBindingsAreChecked) {
  EXPECT_THAT(refused("q < k", {}, {1, 1, 1, 1, int64_t{1} << 31}), HasSubstr("kv_len"));
  Names names;
  names.tensor("t", TensorView(nullptr, DType::F32, {200}));
  names.bindings.tensors.clear();
  EXPECT_EQ(refused("t[k] > 0", names), "tensor 't' is not given");
}

TEST(Bounds, PossibleDivisionByZeroIsARemark) {
  const auto remarks = [](std::string_view text) {
    return checkBounds(parsed(text, {}, Role::Mask), {}, testSizes, {})->remarks;
  };
  EXPECT_THAT(remarks("q // k == 1 && q // k == 2"),
              ElementsAre("the divisor of 'q // k' can be 0, where the result is 0"));
  EXPECT_THAT(remarks("q % (k - 3) == 1"), ElementsAre(HasSubstr("'q % (k - 3)'")));
  EXPECT_THAT(remarks("q // (k + 1) == 1"), IsEmpty());
}

TEST(Bounds, NodesWithoutTextArePrinted) {
  Declarations names;
  Builder builder(names);
  NodeId x = builder.variable(Variable::Q);
  for (int i = 0; i < 6; ++i)
    x = *builder.apply(Kind::Multiply, {x, x});
  const NodeId root = *builder.apply(Kind::Less, {x, builder.integer(1)});
  const Expression e = *std::move(builder).finish(root, Role::Mask);
  Result<Bounds> bounds = checkBounds(e, names, testSizes, {});
  ASSERT_FALSE(bounds);
  EXPECT_THAT(bounds.error().message(),
              HasSubstr("'q * q * (q * q) * (q * q * (q * q))' can be anything from 0 to"));
}
