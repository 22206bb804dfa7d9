//===- EvaluateTest.cpp - Values of expressions ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/unit/Expression/Testing.h"

#include "lib/Support/Half.h"

#include <cmath>

using namespace tilewright;
using namespace tilewright::expression;

TEST(Evaluate, Variables) {
  const Place place = {.b = 1, .h = 5, .q = 42, .k = 17, .s = 0.25};
  EXPECT_EQ(score("s", place), 0.25);
  EXPECT_EQ(score("b", place), 1);
  EXPECT_EQ(score("h", place), 5);
  EXPECT_EQ(score("hkv", place), 1); // six heads on two kv heads
  EXPECT_EQ(score("hkv", {.h = 2}), 0);
  EXPECT_EQ(score("hkv", {.h = 3}), 1);
  EXPECT_EQ(score("q", place), 42);
  EXPECT_EQ(score("k", place), 17);
  EXPECT_EQ(score("q_len", place), 100);
  EXPECT_EQ(score("kv_len", place), 200);
}

TEST(Evaluate, IntegerDivisionRoundsDown) {
  EXPECT_EQ(score("7 // 2"), 3);
  EXPECT_EQ(score("-7 // 2"), -4);
  EXPECT_EQ(score("7 // -2"), -4);
  EXPECT_EQ(score("-7 // -2"), 3);
  EXPECT_EQ(score("-6 // 2"), -3);
}

TEST(Evaluate, TheRemainderHasTheSignOfTheDivisor) {
  EXPECT_EQ(score("7 % 3"), 1);
  EXPECT_EQ(score("-7 % 3"), 2);
  EXPECT_EQ(score("7 % -3"), -2);
  EXPECT_EQ(score("-7 % -3"), -1);
  EXPECT_EQ(score("-6 % 3"), 0);
  // So a stride pattern is periodic across q == k.
  for (int64_t k = 0; k < 20; ++k)
    EXPECT_EQ(visible("(q - k) % 4 == 0", {.q = 10, .k = k}), k % 4 == 2) << k;
}

TEST(Evaluate, IntegerDivisionByZeroIsZero) {
  EXPECT_EQ(score("(q + 5) // b"), 0);
  EXPECT_EQ(score("(q + 5) % b"), 0);
  EXPECT_EQ(score("1.0 / (s - s)"), INFINITY); // of reals as in IEEE 754
}

TEST(Evaluate, IntegersWrapAt32Bits) {
  int32_t extremes[] = {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
  Names names;
  names.tensor("x", TensorView(extremes, DType::I32, {2}));
  EXPECT_EQ(score("x[1] + 1", {}, names), -2147483648.0);
  EXPECT_EQ(score("x[0] - 1", {}, names), 2147483647.0);
  EXPECT_EQ(score("-x[0]", {}, names), -2147483648.0);
  EXPECT_EQ(score("abs(x[0])", {}, names), -2147483648.0);
  EXPECT_EQ(score("x[0] // -1", {}, names), -2147483648.0);
  EXPECT_EQ(score("x[0] % -1", {}, names), 0);
  EXPECT_EQ(score("x[1] * x[1]", {}, names), 1);
}

TEST(Evaluate, RealFunctions) {
  EXPECT_DOUBLE_EQ(score("exp(s)", {.s = 1}), std::exp(1.0));
  EXPECT_DOUBLE_EQ(score("exp2(s)", {.s = 3}), 8);
  EXPECT_DOUBLE_EQ(score("log(s)", {.s = 2}), std::log(2.0));
  EXPECT_DOUBLE_EQ(score("log2(s)", {.s = 8}), 3);
  EXPECT_DOUBLE_EQ(score("tanh(s)", {.s = 0.5}), std::tanh(0.5));
  EXPECT_DOUBLE_EQ(score("sqrt(s)", {.s = 2}), std::sqrt(2.0));
  EXPECT_EQ(score("floor(s)", {.s = -1.5}), -2);
  EXPECT_EQ(score("abs(s)", {.s = -1.5}), 1.5);
  EXPECT_EQ(score("-s", {.s = -1.5}), 1.5);
  EXPECT_EQ(score("min(s, 2)", {.s = 3}), 2);
  EXPECT_EQ(score("max(s, 2)", {.s = 3}), 3);
}

TEST(Evaluate, MinAndMaxPropagateNaN) {
  for (std::string_view text : {"min(s, 1.0)", "min(1.0, s)", "max(s, 1.0)", "max(1.0, s)"})
    EXPECT_TRUE(std::isnan(score(text, {.s = NAN}))) << text;
}

TEST(Evaluate, ComparisonsWithNaNAreFalse) {
  for (std::string_view op : {"==", "<", "<=", ">", ">="})
    EXPECT_EQ(score("s " + std::string(op) + " s ? 1 : 0", {.s = NAN}), 0) << op;
  EXPECT_EQ(score("s != s ? 1 : 0", {.s = NAN}), 1);
}

TEST(Evaluate, Conditions) {
  EXPECT_TRUE(visible("true && !false"));
  EXPECT_FALSE(visible("true && false"));
  EXPECT_TRUE(visible("false || true"));
  EXPECT_TRUE(visible("true != false"));
  EXPECT_TRUE(visible("true ? true : false"));
  EXPECT_TRUE(visible("3 >= 3 && 3 <= 3 && 2 < 3 && 3 > 2 && 2 != 3"));
}

TEST(Evaluate, ElementsOfEveryDType) {
  const double f64[] = {0.1};
  const float f32[] = {0.5f};
  const uint16_t f16[] = {doubleToF16(1.5)}, bf16[] = {doubleToBF16(-2)};
  const int64_t i64[] = {int64_t{1} << 40};
  const int32_t i32[] = {-7};
  const uint8_t u8[] = {200}, flag[] = {1};
  const auto view = [](const void *data, DType dtype) {
    return TensorView(const_cast<void *>(data), dtype, {1});
  };
  Names names;
  names.tensor("f64", view(f64, DType::F64)).tensor("f32", view(f32, DType::F32));
  names.tensor("f16", view(f16, DType::F16)).tensor("bf16", view(bf16, DType::BF16));
  names.tensor("i64", view(i64, DType::I64)).tensor("i32", view(i32, DType::I32));
  names.tensor("u8", view(u8, DType::U8)).tensor("flag", view(flag, DType::Bool));
  EXPECT_EQ(score("f64[0]", {}, names), 0.1);
  EXPECT_EQ(score("f32[0]", {}, names), 0.5);
  EXPECT_EQ(score("f16[0]", {}, names), 1.5);
  EXPECT_EQ(score("bf16[0]", {}, names), -2);
  EXPECT_TRUE(visible("i64[0] > 2147483647", {}, names)); // compared in 64 bits
  EXPECT_EQ(score("i32[0]", {}, names), -7);
  EXPECT_EQ(score("u8[0]", {}, names), 200);
  EXPECT_TRUE(visible("u8[0]", {}, names));
  EXPECT_TRUE(visible("flag[0]", {}, names));
}

TEST(Evaluate, TensorsAreReadThroughTheirStrides) {
  std::vector<float> data(100);
  for (size_t i = 0; i < data.size(); ++i)
    data[i] = static_cast<float>(i);
  const int64_t shape[] = {3, 2, 4}, strides[] = {1, 0, 20};
  Names names;
  names.tensor("x", TensorView(data.data(), DType::F32, shape, strides));
  EXPECT_EQ(score("x[h, b, k]", {.b = 1, .h = 2, .k = 3}, names), 62);
}

// W24: a row index times a row stride past 2^32.
TEST(Evaluate, OffsetsOfTensorsHave64Bits) {
  const int64_t rowStride = int64_t{1} << 32;
  const int64_t shape[] = {3, 1}, strides[] = {rowStride, 1};
  const auto offsetOf = [&](int64_t row) {
    // Only the address is computed: the view's origin is chosen so that the row is `value`.
    static float value = 0;
    value = static_cast<float>(row) + 1;
    const uintptr_t origin = reinterpret_cast<uintptr_t>(&value) -
                             static_cast<uintptr_t>(row * rowStride) * sizeof(float);
    Names names;
    names.tensor("x", TensorView(reinterpret_cast<void *>(origin), DType::F32, shape, strides));
    return score("x[q, 0]", {.q = row}, names);
  };
  EXPECT_EQ(offsetOf(0), 1);
  EXPECT_EQ(offsetOf(2), 3);
}

TEST(Evaluate, RowsLongerThanAStrip) {
  Names names;
  names.scalar("window", 5);
  const Expression mask = parsed("k <= q && q - k < window", names.declarations, Role::Mask);
  const Expression bias = parsed("s + 2 * k", names.declarations, Role::Score);
  std::vector<uint8_t> visible(1000, 1);
  std::vector<double> scores(1000, 0.5);
  Evaluator(mask, testSizes, names.bindings).mask({0, 0, 777}, 0, visible);
  Evaluator(bias, testSizes, names.bindings).score({0, 0, 777}, 3, scores);
  for (int64_t k = 0; k < 1000; ++k) {
    EXPECT_EQ(visible[k], k > 772 && k <= 777) << k;
    EXPECT_EQ(scores[k], 0.5 + 2 * (k + 3)) << k;
  }
}

TEST(Evaluate, MasksAreAnded) {
  const Expression even = parsed("k % 2 == 0", {}, Role::Mask);
  const Expression third = parsed("k % 3 == 0", {}, Role::Mask);
  const Bindings none;
  std::vector<uint8_t> visible(12, 1);
  Evaluator(even, testSizes, none).mask({}, 0, visible);
  Evaluator(third, testSizes, none).mask({}, 0, visible);
  EXPECT_THAT(visible, testing::ElementsAre(1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0));
}

TEST(Evaluate, SinglePrecisionRoundsEveryReal) {
  Names names;
  names.scalar("x", 0.1);
  EXPECT_EQ(score("x", {}, names, Precision::Single), 0.1f);
  EXPECT_EQ(score("x * q", {.q = 3}, names, Precision::Single), 0.1f * 3.0f);
  EXPECT_EQ(score("s / 3", {.s = 1}, {}, Precision::Single), 1.0f / 3.0f);
  EXPECT_EQ(score("real(16777217)", {}, {}, Precision::Single), 16777216);
  EXPECT_EQ(score("s * 2.0", {.s = 3e38}, {}, Precision::Single), INFINITY);
}
