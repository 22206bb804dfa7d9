//===- CompareTest.cpp - What passes and what does not --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Reference/Compare.h"

#include "lib/Reference/Baseline.h"
#include "tests/unit/Reference/Testing.h"

#include <cmath>

using namespace tilewright;
using namespace tilewright::reference;
using testing::HasSubstr;

static Case someCase(DType dtype) {
  Case c({.queries = 20, .keys = 30, .d = 16, .dv = 8, .heads = 2, .kvHeads = 1, .dtype = dtype},
         noise(1), noise(2), noise(3));
  c.preset("causal");
  return c;
}

static Array arrayOf(const std::vector<double> &values, DType dtype,
                     std::initializer_list<int64_t> shape) {
  return makeArray(dtype, shape, [&](int64_t i) { return values[static_cast<size_t>(i)]; });
}

/// Compares results for someCase of `dtype`, after `spoil` changed the right ones.
static Comparison compared(
    DType dtype, const std::function<void(Output &)> &spoil = [](Output &) {},
    const std::function<void(Output &)> &spoilBoth = [](Output &) {}) {
  const Case c = someCase(dtype);
  Output right = c.run();
  spoilBoth(right);
  Output computed = right;
  spoil(computed);
  const Array o = arrayOf(computed.o, dtype, {1, 2, 20, 8});
  const Array lse =
      arrayOf(computed.lse, dtype == DType::F64 ? DType::F64 : DType::F32, {1, 2, 20});
  Result<Comparison> comparison = compare(c.problem, right, o.view, lse.view, 1);
  EXPECT_TRUE(comparison) << comparison.error().message();
  return *comparison;
}

TEST(Compare, MeasuresOverFiniteElements) {
  const double right[] = {3, 4, -infinity, NAN, 0};
  const double computed[] = {3, 4.5, -infinity, NAN, 0};
  const Errors errors = measure(computed, right);
  EXPECT_DOUBLE_EQ(errors.maxAbs, 0.5);
  EXPECT_DOUBLE_EQ(errors.rms, std::sqrt(0.25 / 3));
  EXPECT_DOUBLE_EQ(errors.relative, 0.1);
  EXPECT_EQ(errors.misplaced, 0);
}

TEST(Compare, CountsMisplacedElements) {
  const double right[] = {1, -infinity, -infinity, NAN, NAN, 1, infinity};
  const double computed[] = {NAN, 0, infinity, 0, -infinity, infinity, infinity};
  const Errors errors = measure(computed, right);
  EXPECT_EQ(errors.misplaced, 6);
  EXPECT_EQ(errors.maxAbs, 0);
}

TEST(Compare, AnErrorBesideZeroIsInfinitelyLarge) {
  const double right[] = {0, 0}, computed[] = {0, 1e-30};
  EXPECT_EQ(measure(computed, right).relative, infinity);
  EXPECT_EQ(measure(right, right).relative, 0);
}

TEST(Compare, TheBaselinePassesItsOwnLimit) {
  for (DType dtype : {DType::F32, DType::F16, DType::BF16}) {
    const Case c = someCase(dtype);
    const Output right = c.run();
    Result<Output> yardstick = baseline(c.problem, right.rows, dtype, 2);
    ASSERT_TRUE(yardstick);
    const Array o = arrayOf(yardstick->o, dtype, {1, 2, 20, 8});
    const Array lse = arrayOf(yardstick->lse, DType::F32, {1, 2, 20});
    Result<Comparison> comparison = compare(c.problem, right, o.view, lse.view, 1);
    ASSERT_TRUE(comparison);
    EXPECT_TRUE(comparison->passed) << comparison->describe();
    EXPECT_EQ(comparison->o.relative, comparison->baseline.relative);
    // Rounding P and O is most of the error.
    const double unit = dtype == DType::F32 ? 0x1p-24 : dtype == DType::F16 ? 0x1p-12 : 0x1p-9;
    EXPECT_GT(comparison->o.relative, 0.1 * unit);
    EXPECT_LT(comparison->o.relative, 4 * unit);
  }
}

TEST(Compare, ExactResultsPass) {
  for (DType dtype : {DType::F64, DType::F32, DType::F16, DType::BF16}) {
    const Comparison comparison = compared(dtype);
    EXPECT_TRUE(comparison.passed) << comparison.describe();
  }
}

TEST(Compare, AWrongRowFails) {
  for (DType dtype : {DType::F64, DType::F32, DType::F16, DType::BF16}) {
    const Comparison comparison = compared(dtype, [](Output &computed) {
      for (size_t i = 0; i < 8; ++i)
        computed.o[80 + i] *= 1.05;
    });
    EXPECT_FALSE(comparison.passed);
    EXPECT_THAT(comparison.describe(), HasSubstr("FAILED"));
  }
}

TEST(Compare, OneWrongElementFailsByItsSize) {
  // Too small to show in the norm of a long result, too large for an element.
  const Comparison comparison =
      compared(DType::F32, [](Output &computed) { computed.o[37] += 1e-4; });
  EXPECT_FALSE(comparison.passed);
  EXPECT_NEAR(comparison.o.maxAbs, 1e-4, 1e-6);
}

TEST(Compare, AWrongLseFails) {
  const auto shifted = [](double by) {
    return compared(DType::F32, [=](Output &computed) { computed.lse[5] += by; });
  };
  EXPECT_TRUE(shifted(0.5e-5).passed);
  const Comparison comparison = shifted(1e-4);
  EXPECT_FALSE(comparison.passed);
  EXPECT_GT(comparison.lseExcess, 1);
  EXPECT_THAT(comparison.describe(), HasSubstr("FAILED: the largest error of lse"));
}

TEST(Compare, TheLseLimitGrowsWithTheRowsScores) {
  Case c({.keys = 2, .d = 1}, constant(1000), constant(1), constant(1));
  c.scale(1);
  const Output right = c.run();
  const Array o = arrayOf(right.o, DType::F32, {1, 1, 1, 1});
  const Array near = makeArray(DType::F32, {1, 1, 1}, constant(right.lse[0] + 5e-3));
  const Array far = makeArray(DType::F32, {1, 1, 1}, constant(right.lse[0] + 2e-2));
  EXPECT_TRUE(compare(c.problem, right, o.view, near.view, 1)->passed);
  EXPECT_FALSE(compare(c.problem, right, o.view, far.view, 1)->passed);
}

TEST(Compare, NaNAndInfinityMustBeInTheirPlaces) {
  EXPECT_FALSE(compared(DType::F32, [](Output &computed) { computed.o[3] = NAN; }).passed);
  EXPECT_FALSE(compared(DType::F32, [](Output &computed) { computed.lse[3] = -infinity; }).passed);
  const auto undefined = [](Output &both) { both.o[3] = both.lse[0] = NAN; };
  EXPECT_TRUE(compared(DType::F32, [](Output &) {}, undefined).passed);
  const Comparison comparison =
      compared(DType::F32, [](Output &computed) { computed.o[3] = 0; }, undefined);
  EXPECT_FALSE(comparison.passed);
  EXPECT_EQ(comparison.o.misplaced, 1);
}

/// A result `factor` times as far from the right one as the baseline is, in its rms.
static Comparison timesTheBaseline(double factor, int64_t heads) {
  // Means of many values: the errors of a sum, and nothing of the output's rounding.
  const Case c({.keys = 500, .d = 1, .heads = heads, .kvHeads = heads}, noise(1), noise(2),
               noise(3));
  const Output right = c.run();
  Result<Output> yardstick = baseline(c.problem, right.rows, DType::F32, 1);
  EXPECT_TRUE(yardstick);
  const Array o = makeArray(DType::F32, {1, heads, 1, 1}, [&](int64_t h) {
    const auto i = static_cast<size_t>(h);
    return right.o[i] + factor * (yardstick->o[i] - right.o[i]);
  });
  return *compare(c.problem, right, o.view, std::nullopt, 1);
}

TEST(Compare, FewElementsMayBeFurtherOffThanMany) {
  EXPECT_TRUE(timesTheBaseline(3, 16).passed);
  EXPECT_FALSE(timesTheBaseline(5, 16).passed);
  EXPECT_TRUE(timesTheBaseline(1.6, 2000).passed);
  EXPECT_FALSE(timesTheBaseline(1.8, 2000).passed);
}

TEST(Compare, OnlyTheReferencesRowsAreRead) {
  const Case c = someCase(DType::F32);
  Result<Output> right = forward(c.problem, {4, 11}, 1);
  ASSERT_TRUE(right);
  Output all = c.run();
  for (size_t h = 0; h < 2; ++h)
    for (size_t row = 0; row < 20; ++row)
      if (row != 4 && row != 11)
        for (size_t i = 0; i < 8; ++i)
          all.o[(h * 20 + row) * 8 + i] = NAN;
  const Array o = arrayOf(all.o, DType::F32, {1, 2, 20, 8});
  EXPECT_TRUE(compare(c.problem, *right, o.view, std::nullopt, 1)->passed);
}

TEST(Compare, WrongShapesAreRefused) {
  const Case c = someCase(DType::F32);
  const Output right = c.run();
  const Array o = arrayOf(right.o, DType::F32, {1, 2, 10, 16});
  EXPECT_EQ(compare(c.problem, right, o.view, std::nullopt, 1).error().message(),
            "o is f32[1, 2, 10, 16]; it must be [1, 2, 20, 8]");
}

TEST(Baseline, RoundsWeightsAfterSummingThem) {
  // Two keys with weights 1 and exp(-1/3): the sum is exact, the weight rounded to bf16.
  const Case c(
      {.keys = 2, .d = 1, .dtype = DType::BF16}, constant(1),
      [](int64_t i) { return i == 0 ? 0.0 : -0.333984375; },
      [](int64_t i) { return i == 0 ? 0.0 : 1.0; });
  Result<Output> out = baseline(c.problem, {0}, DType::F32, 1);
  ASSERT_TRUE(out);
  const double weight = std::exp(-0.333984375f);
  const double rounded = bf16ToFloat(doubleToBF16(weight));
  EXPECT_NE(weight, rounded);
  EXPECT_NEAR(out->o[0], rounded / (1 + weight), 1e-7);
}

TEST(Baseline, RefusesF64) {
  const Case c = someCase(DType::F64);
  EXPECT_FALSE(baseline(c.problem, {0}, DType::F64, 1));
}
