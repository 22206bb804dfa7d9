//===- ReferenceTest.cpp - Right values, by hand --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/unit/Reference/Testing.h"

#include <cmath>
#include <numeric>

using namespace tilewright;
using namespace tilewright::reference;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsNan;

static double position(int64_t i) {
  return static_cast<double>(i);
}

static std::function<double(int64_t)> listed(std::vector<double> values) {
  return [values](int64_t i) { return values.at(static_cast<size_t>(i)); };
}

static testing::Matcher<std::vector<double>> areNear(const std::vector<double> &values,
                                                     double tolerance = 1e-12) {
  return testing::Pointwise(testing::DoubleNear(tolerance), values);
}

// W01
TEST(Reference, CausalAlignmentOfFewQueries) {
  const auto run = [](std::string_view preset, int64_t queries, int64_t keys) {
    return Case({.queries = queries, .keys = keys}, constant(0), noise(1), position)
        .preset(preset)
        .run()
        .o;
  };
  EXPECT_THAT(run("causal-lower-right", 1, 8), areNear({3.5}));
  EXPECT_THAT(run("causal-lower-right", 3, 128), areNear({62.5, 63.0, 63.5}));
  EXPECT_THAT(run("causal", 1, 8), areNear({0}));
  EXPECT_THAT(run("causal", 3, 128), areNear({0, 0.5, 1}));
}

// W02
TEST(Reference, RowsWithoutVisibleKeysAreZero) {
  const Output out = Case({.queries = 5, .keys = 2}, constant(0), noise(1), listed({1, 3}))
                         .preset("causal-lower-right")
                         .run();
  EXPECT_THAT(out.o, areNear({0, 0, 0, 1, 2}));
  EXPECT_EQ(out.lse[0], -infinity);
  EXPECT_EQ(out.lse[1], -infinity);
  EXPECT_EQ(out.lse[2], -infinity);
  EXPECT_EQ(out.lse[3], 0);
  EXPECT_DOUBLE_EQ(out.lse[4], std::log(2.0));
}

// W03: a radius of 3 is a window of 4.
TEST(Reference, AWindowIsTheSameInPrefillAndDecoding) {
  const auto run = [](std::string_view preset, int64_t queries, int64_t keys, double window) {
    return Case({.queries = queries, .keys = keys}, constant(0), noise(1), position)
        .preset(preset, window)
        .run()
        .o.back();
  };
  EXPECT_DOUBLE_EQ(run("sliding-window-lower-right", 1, 10, 4), 7.5);
  EXPECT_DOUBLE_EQ(run("sliding-window", 10, 10, 4), 7.5);
  EXPECT_DOUBLE_EQ(run("sliding-window-lower-right", 1, 5000, 4097), (903 + 4999) / 2.0);
}

// W06
TEST(Reference, FullyMaskedRowsAreZeroWithEitherKindOfMask) {
  const auto makeCase = [] {
    return Case({.queries = 8, .keys = 8, .d = 16, .dv = 3}, noise(1), noise(2), noise(3));
  };
  const auto inside = [](int64_t i) { return i / 8 < 4 && i % 8 < 4; };
  const Output byMask = makeCase()
                            .tensor("keep", makeArray(DType::Bool, {1, 1, 8, 8}, inside))
                            .preset("dense-mask")
                            .run();
  const Output byBias =
      makeCase()
          .tensor("bias", makeArray(DType::F32, {1, 1, 8, 8},
                                    [&](int64_t i) { return inside(i) ? 0 : -infinity; }))
          .preset("dense-bias")
          .run();
  const Output first4 = makeCase().mask("k < 4").run();
  EXPECT_EQ(byMask.o, byBias.o);
  EXPECT_EQ(byMask.lse, byBias.lse);
  for (size_t i = 0; i < 24; ++i)
    EXPECT_EQ(byMask.o[i], i < 12 ? first4.o[i] : 0);
  for (size_t row = 0; row < 8; ++row)
    EXPECT_EQ(byMask.lse[row], row < 4 ? first4.lse[row] : -infinity);
}

// W09
TEST(Reference, LargeNegativeScoresAreNotHidden) {
  const Output out = Case(
                         {.keys = 64, .d = 128, .dtype = DType::BF16}, constant(32),
                         [](int64_t i) { return i < 128 ? -31 : -32; }, position)
                         .run();
  EXPECT_NEAR(out.o[0], 0, 1e-100); // exp(-362) of the others
  EXPECT_NEAR(out.lse[0], -126976 / std::sqrt(128.0), 1e-9);
  EXPECT_NEAR(out.lse[0], -11223.2, 0.05);
}

// W11
TEST(Reference, EveryLengthHasItsOwnDenominator) {
  for (int64_t keys : {1, 100, 255, 256, 257}) {
    const Output out =
        Case({.keys = keys, .d = 128, .batch = 1, .heads = 8, .kvHeads = 8, .dtype = DType::BF16},
             constant(0), noise(1), constant(1))
            .run();
    EXPECT_THAT(out.o, areNear(std::vector<double>(8, 1.0)));
    EXPECT_THAT(out.lse, areNear(std::vector<double>(8, std::log(static_cast<double>(keys)))));
  }
}

// W18
TEST(Reference, LseIsTheNaturalLogarithm) {
  const Output out = Case({.keys = 256, .d = 64, .batch = 4, .heads = 2, .kvHeads = 1}, constant(0),
                          noise(1), constant(1))
                         .run();
  EXPECT_THAT(out.lse, areNear(std::vector<double>(8, 5.545177444479562)));
}

// W20: the cap comes before the mask.
TEST(Reference, ASoftcapDoesNotUncoverHiddenKeys) {
  const Output out = Case({.queries = 2, .keys = 2}, constant(1), constant(1), listed({0, 1000}))
                         .scale(1)
                         .preset("softcap", 1)
                         .preset("causal")
                         .run();
  EXPECT_EQ(out.o[0], 0);
  EXPECT_DOUBLE_EQ(out.o[1], 500);
  EXPECT_DOUBLE_EQ(out.lse[0], std::tanh(4.0));
}

// W22
TEST(Reference, ZeroAndNegativeScalesRespectTheMask) {
  const auto run = [](double scale) {
    const auto diagonal = [](double value) {
      return [=](int64_t i) { return i % 5 == 0 ? value : 0; };
    };
    return Case({.keys = 4, .dv = 4}, listed({1, 0, 0, 0}), diagonal(2), diagonal(1))
        .scale(scale)
        .mask("k < 2")
        .run()
        .o;
  };
  EXPECT_THAT(run(0), areNear({0.5, 0.5, 0, 0}));
  EXPECT_THAT(run(-1), areNear({0.11920292202211755, 0.8807970779778823, 0, 0}));
}

// A01
TEST(Reference, TrueIsVisible) {
  const Output out =
      Case({.keys = 4}, constant(0), noise(1), position)
          .tensor("keep", makeArray(DType::Bool, {1, 1, 1, 4}, [](int64_t i) { return i == 0; }))
          .preset("dense-mask")
          .run();
  EXPECT_EQ(out.o[0], 0);
}

TEST(Reference, TheLargestScoreMayComeLast) {
  const Output out =
      Case({.keys = 4, .d = 1}, constant(1), listed({0, 0, 0, 20}), listed({1, 2, 3, 4}))
          .scale(1)
          .run();
  EXPECT_NEAR(out.o[0], 4, 1e-7);
  EXPECT_NEAR(out.lse[0], 20, 1e-7);
}

TEST(Reference, TheSumOfScoresThatRiseLate) {
  const Output out =
      Case({.keys = 4, .d = 1}, constant(1), listed({1, 2, 10, 0}), constant(1)).scale(1).run();
  EXPECT_NEAR(std::exp(out.lse[0]), 22037.57, 5e-3);
}

TEST(Reference, LseOfManyScoresEqualsTheDirectSum) {
  const Case c({.keys = 1000, .d = 1, .dtype = DType::F64}, constant(10), noise(7), constant(1));
  const double *keys = static_cast<const double *>(c.problem.k.data);
  long double sum = 0;
  for (int i = 0; i < 1000; ++i)
    sum += std::exp(10.0L * keys[i]);
  EXPECT_NEAR(c.run().lse[0], static_cast<double>(std::log(sum)), 1e-12);
}

TEST(Reference, KeysAndValuesMayBePermutedTogether) {
  constexpr int64_t n = 96, d = 32, dv = 24;
  std::vector<int64_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::shuffle(order, std::mt19937(3));
  std::vector<double> k(n * d), v(n * dv);
  for (auto *values : {&k, &v})
    std::ranges::generate(*values, [noise = noise(11)]() mutable { return noise(0); });
  const auto permuted = [&](const std::vector<double> &values, int64_t width) {
    return [&, width](int64_t i) { return values[order[i / width] * width + i % width]; };
  };
  const Case::Shape shape = {.queries = n, .keys = n, .d = d, .dv = dv, .dtype = DType::F64};
  const Output straight = Case(shape, noise(5), listed(k), listed(v)).run();
  const Output mixed = Case(shape, noise(5), permuted(k, d), permuted(v, dv)).run();
  EXPECT_THAT(mixed.o, areNear(straight.o));
  EXPECT_THAT(mixed.lse, areNear(straight.lse));
}

TEST(Reference, ABiasOfFinfoMinEverywhereGivesTheMean) {
  const double lowest = std::numeric_limits<float>::lowest();
  const Output out = Case({.keys = 4}, constant(0), noise(1), position)
                         .tensor("bias", makeArray(DType::F32, {1, 1, 1, 4}, constant(lowest)))
                         .preset("dense-bias")
                         .run();
  EXPECT_DOUBLE_EQ(out.o[0], 1.5);
  EXPECT_EQ(out.lse[0], lowest); // log 4 is lost beside it
}

TEST(Reference, AllScoresAtMinus1e32GiveTheMean) {
  const Output out = Case({.keys = 4}, constant(0), noise(1), position).score("s - 1e32").run();
  EXPECT_DOUBLE_EQ(out.o[0], 1.5);
}

TEST(Reference, HugeFiniteScores) {
  for (int64_t keys : {1, 2}) {
    const Output out = Case({.keys = keys, .d = 64, .dv = 64, .dtype = DType::BF16},
                            constant(133120), constant(133120), constant(133120))
                           .run();
    EXPECT_THAT(out.o, Each(133120));
    EXPECT_DOUBLE_EQ(out.lse[0], 8 * 133120.0 * 133120.0 + std::log(keys));
    EXPECT_EQ(out.maxScore[0], 8 * 133120.0 * 133120.0);
  }
}

TEST(Reference, NoKeysGiveZeros) {
  const Output out = Case({.queries = 3, .keys = 0}, noise(1), noise(1), noise(1)).run();
  EXPECT_THAT(out.o, Each(0));
  EXPECT_THAT(out.lse, Each(-infinity));
  EXPECT_EQ(out.lse.size(), 3u);
}

TEST(Reference, NothingToComputeSucceeds) {
  for (const Case::Shape &shape :
       {Case::Shape{.batch = 0}, Case::Shape{.heads = 0}, Case::Shape{.queries = 0}})
    EXPECT_THAT(Case(shape, noise(1), noise(1), noise(1)).run().o, IsEmpty());
}

TEST(Reference, AScoreOfMinusInfinityHidesItsKey) {
  const Output out =
      Case({.keys = 4}, constant(0), noise(1), position).score("k == 1 ? s : -inf").run();
  EXPECT_EQ(out.o[0], 1);
  EXPECT_EQ(out.lse[0], 0);
  EXPECT_EQ(out.maxScore[0], 0);
}

TEST(Reference, InfiniteAndUndefinedScoresGiveNaNInTheirRowAlone) {
  for (std::string_view bad : {"inf", "s * inf", "inf - inf"}) {
    const Output out = Case({.queries = 2, .keys = 4}, constant(1), constant(1), position)
                           .score("q == 0 && k == 2 ? " + std::string(bad) + " : s")
                           .run();
    EXPECT_TRUE(std::isnan(out.o[0]));
    EXPECT_TRUE(std::isnan(out.lse[0]));
    EXPECT_DOUBLE_EQ(out.o[1], 1.5);
  }
}

TEST(Reference, AHiddenKeyMayHoldAnything) {
  const auto poison = [](int64_t i) { return i % 2 ? NAN : 1; };
  const Output out =
      Case({.keys = 4, .d = 1}, constant(1), poison, poison).mask("k % 2 == 0").run();
  EXPECT_EQ(out.o[0], 1);
  EXPECT_DOUBLE_EQ(out.lse[0], 1 + std::log(2.0));
  const Output seen = Case({.keys = 4, .d = 1}, constant(1), constant(1), poison).run();
  EXPECT_TRUE(std::isnan(seen.o[0]));
}

TEST(Reference, ScoresComposeInOrder) {
  const auto run = [](std::string_view first, std::string_view second) {
    return Case({.keys = 1, .d = 1}, constant(2), constant(3), constant(1))
        .scale(1)
        .score(first)
        .score(second)
        .run()
        .lse[0];
  };
  EXPECT_DOUBLE_EQ(run("s + 1", "s * 10"), 70);
  EXPECT_DOUBLE_EQ(run("s * 10", "s + 1"), 61);
}

TEST(Reference, TheDefaultScaleIsOneOverRootD) {
  const Output out = Case({.keys = 1, .d = 64}, constant(1), constant(1), constant(1)).run();
  EXPECT_DOUBLE_EQ(out.lse[0], 8);
}

TEST(Reference, QueryHeadsReadTheirGroupsKvHead) {
  const Output out = Case({.keys = 2, .heads = 6, .kvHeads = 2}, constant(0), noise(1),
                          [](int64_t i) { return i / 2; }) // the kv head's number
                         .run();
  EXPECT_THAT(out.o, ElementsAre(0, 0, 0, 1, 1, 1));
}

/// softmax(scale q k^T) v, written out for one row.
static std::vector<double> direct(const Problem &p, int64_t b, int64_t h, int64_t row) {
  const auto at = [](const TensorView &t, int64_t b, int64_t h, int64_t i, int64_t c) {
    return loadAsDouble(t.data, t.dtype,
                        b * t.strides[0] + h * t.strides[1] + i * t.strides[2] + c * t.strides[3]);
  };
  const int64_t hkv = h / (p.q.shape[1] / p.k.shape[1]);
  std::vector<double> o(static_cast<size_t>(p.v.shape[3]));
  double sum = 0;
  for (int64_t j = 0; j < p.k.shape[2]; ++j) {
    double dot = 0;
    for (int64_t c = 0; c < p.q.shape[3]; ++c)
      dot += at(p.q, b, h, row, c) * at(p.k, b, hkv, j, c);
    const double weight = std::exp(dot / std::sqrt(static_cast<double>(p.q.shape[3])));
    sum += weight;
    for (size_t c = 0; c < o.size(); ++c)
      o[c] += weight * at(p.v, b, hkv, j, static_cast<int64_t>(c));
  }
  for (double &value : o)
    value /= sum;
  return o;
}

TEST(Reference, AnyStridesGiveWhatCopiesGive) {
  Case c({.queries = 37, .keys = 53, .d = 8, .dv = 11, .batch = 2, .heads = 4, .kvHeads = 2},
         noise(1), noise(2), noise(3));
  // [b, t, h, d] in memory; then the last query head of each group expanded by a stride of 0.
  const auto relaid = [&](const TensorView &t) {
    const int64_t heads = t.shape[1], length = t.shape[2], width = t.shape[3];
    return c
        .own(makeArray(DType::F32, {t.shape[0], length, heads, width},
                       [&](int64_t i) {
                         const int64_t x = i % width, h = i / width % heads;
                         const int64_t j = i / width / heads % length,
                                       b = i / width / heads / length;
                         return loadAsDouble(t.data, t.dtype,
                                             ((b * heads + h) * length + j) * width + x);
                       }))
        .transposed(1, 2);
  };
  const Output contiguous = c.run();
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t h = 0; h < 4; ++h) {
      const std::vector<double> row = direct(c.problem, b, h, 36);
      const size_t first = static_cast<size_t>(((b * 4 + h) * 37 + 36) * 11);
      EXPECT_THAT(
          std::vector<double>(contiguous.o.begin() + first, contiguous.o.begin() + first + 11),
          areNear(row));
    }
  c.problem.q = relaid(c.problem.q);
  c.problem.k = relaid(c.problem.k);
  c.problem.v = relaid(c.problem.v);
  EXPECT_EQ(c.run().o, contiguous.o);
  c.problem.k.strides[1] = c.problem.v.strides[1] = 0;
  const Output expanded = c.run();
  c.problem.k.shape[1] = c.problem.v.shape[1] = 1;
  EXPECT_EQ(c.run().o, expanded.o);
}

TEST(Reference, ThreadsDoNotChangeTheResult) {
  const auto run = [](unsigned threads) {
    return Case({.queries = 70, .keys = 130, .d = 8, .dv = 8, .batch = 2, .heads = 3, .kvHeads = 3},
                noise(1), noise(2), noise(3))
        .preset("causal-lower-right")
        .run(threads);
  };
  const Output one = run(1);
  for (unsigned threads : {0u, 2u, 5u, 100u}) {
    EXPECT_EQ(run(threads).o, one.o);
    EXPECT_EQ(run(threads).lse, one.lse);
  }
}

TEST(Reference, ChosenRowsAreRowsOfTheWhole) {
  Case c({.queries = 50, .keys = 60, .d = 8, .dv = 2, .heads = 2, .kvHeads = 2}, noise(1), noise(2),
         noise(3));
  c.preset("causal");
  const Output all = c.run();
  Result<Output> some = forward(c.problem, {49, 0, 17}, 1);
  ASSERT_TRUE(some);
  EXPECT_THAT(some->rows, ElementsAre(49, 0, 17));
  for (size_t h = 0; h < 2; ++h)
    for (size_t r = 0; r < 3; ++r) {
      const size_t row = static_cast<size_t>(some->rows[r]);
      EXPECT_EQ(some->lse[h * 3 + r], all.lse[h * 50 + row]);
      EXPECT_EQ(some->o[(h * 3 + r) * 2 + 1], all.o[(h * 50 + row) * 2 + 1]);
    }
  EXPECT_THAT(forward(c.problem, {50}, 1).error().message(), HasSubstr("row 50 is no query"));
  EXPECT_FALSE(forward(c.problem, {-1}, 1));
}

TEST(Reference, RowsToCheckHoldTheEdges) {
  EXPECT_EQ(rowsToCheck(1024).size(), 1024u);
  for (int64_t length : {1025, 16384, 1 << 30}) {
    const std::vector<int64_t> rows = rowsToCheck(length);
    EXPECT_EQ(rows.size(), 64u);
    EXPECT_EQ(rows.front(), 0);
    EXPECT_EQ(rows.back(), length - 1);
    EXPECT_TRUE(std::ranges::is_sorted(rows));
  }
}

// A mask decides as the kernel does: 3 * 0.1 is at most 0.3 in f32, but above it in f64.
TEST(Reference, MasksCompareInTheProblemsReals) {
  const auto run = [](DType dtype) {
    return Case({.keys = 4, .dtype = dtype}, constant(0), constant(0), position)
        .mask("k * 0.1 <= 0.3")
        .run()
        .lse[0];
  };
  EXPECT_DOUBLE_EQ(run(DType::F32), std::log(4.0));
  EXPECT_DOUBLE_EQ(run(DType::BF16), std::log(4.0));
  EXPECT_DOUBLE_EQ(run(DType::F64), std::log(3.0));
}

TEST(Reference, WrongShapesAreRefusedWithTheValues) {
  const auto message = [](const std::function<void(Problem &)> &spoil) {
    Case c({.queries = 3, .keys = 5, .d = 8, .dv = 4, .batch = 2, .heads = 4, .kvHeads = 2},
           noise(1), noise(2), noise(3));
    spoil(c.problem);
    Result<Output> output = forward(c.problem, {0}, 1);
    return output ? "" : output.error().message();
  };
  EXPECT_EQ(message([](Problem &) {}), "");
  EXPECT_EQ(message([](Problem &p) { p.k.shape[3] = 6; }),
            "q has width 8, but k has 6: q is f32[2, 4, 3, 8], k is f32[2, 2, 5, 6]");
  EXPECT_THAT(message([](Problem &p) { p.v.shape[2] = 4; }),
              HasSubstr("k has 5 keys, but v has 4"));
  EXPECT_THAT(message([](Problem &p) { p.v.shape[1] = 1; }), HasSubstr("2 heads, but v has 1"));
  EXPECT_THAT(message([](Problem &p) { p.q.rank = 3; }), HasSubstr("q is f32[2, 4, 3], which has"));
  EXPECT_THAT(message([](Problem &p) { p.k.dtype = DType::F16; }), HasSubstr("k f16"));
  EXPECT_THAT(message([](Problem &p) { p.v.dtype = DType::I32; }), HasSubstr("v is i32["));
  EXPECT_THAT(message([](Problem &p) { p.v.shape[3] = 0; }), HasSubstr("its width is 0"));
  EXPECT_THAT(message([](Problem &p) { p.q.shape[0] = 1; }), HasSubstr("batch is 1 in q, 2 in k"));
  EXPECT_THAT(message([](Problem &p) { p.q.shape[1] = 5; }), HasSubstr("not a multiple of 2"));
  EXPECT_THAT(message([](Problem &p) { p.k.shape[2] = p.v.shape[2] = int64_t{1} << 31; }),
              HasSubstr("kv_len is 2147483648"));
  EXPECT_THAT(message([](Problem &p) { p.q.shape[2] = int64_t{1} << 62; }),
              HasSubstr("more elements than 63 bits count"));
}

TEST(Reference, AnIndexOutsideItsTensorIsRefused) {
  Case c({.queries = 3, .keys = 5}, noise(1), noise(2), noise(3));
  c.tensor("t", makeArray(DType::F32, {4}, constant(0))).score("s + t[k]");
  EXPECT_THAT(forward(c.problem, {0}, 1).error().message(),
              HasSubstr("index 'k' of tensor 't' is from 0 to 4, but dimension 0 has extent 4"));
}
