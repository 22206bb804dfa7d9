//===- ValuesTest.cpp - The values that attention must have ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The cases of tests/unit/Target/AttentionTest.cpp, in the dtypes and widths of a GPU.
//
//===----------------------------------------------------------------------===//

#include "tests/gpu/GpuAttention.h"

#include <fmt/format.h>

#include <cmath>

using namespace tilewright;
using namespace tilewright::gpu;
using reference::Case;
using reference::constant;
using reference::infinity;
using reference::makeArray;
using reference::noise;
using testing::Each;
using testing::IsNan;

namespace {
/// The values of the first column of a tensor with 16, zero in the others.
std::function<double(int64_t)> firstColumn(std::vector<double> values) {
  return [values](int64_t i) {
    return i % 16 == 0 ? values.at(static_cast<size_t>(i / 16) % values.size()) : 0;
  };
}

std::vector<double> positions(int64_t count) {
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(static_cast<double>(i));
  return values;
}

/// q, k and v given by their first columns; one query unless `queries` says otherwise.
Case columns(const std::vector<double> &q, const std::vector<double> &k,
             const std::vector<double> &v, DType dtype, int64_t queries = 1) {
  return Case({.queries = queries,
               .keys = static_cast<int64_t>(k.size()),
               .d = 16,
               .dv = 16,
               .dtype = dtype},
              firstColumn(q), firstColumn(k), firstColumn(v));
}

class OnGpuValues : public OnGpu<testing::Test> {};
class Values : public OnGpu<testing::TestWithParam<DType>> {};
} // namespace

TEST_P(Values, TheLargestScoreMayComeInTheLastBlock) {
  std::vector<double> k(500, 0), v(500, 1);
  k.back() = 30;
  v.back() = 4;
  const Ran ran = run(columns({1}, k, v, GetParam()).scale(1));
  EXPECT_EQ(ran.o.at(0), 4);
  EXPECT_NEAR(ran.lse.at(0), 30, 1e-4);
}

TEST_P(Values, LseOfManyScoresIsTheDirectSum) {
  Case aCase({.keys = 1000, .d = 16, .dv = 16, .dtype = GetParam()}, constant(2), noise(1),
             constant(1));
  aCase.scale(1);
  const Ran ran = run(aCase);
  EXPECT_NEAR(ran.lse.at(0), aCase.run().lse[0], 1e-3);
  EXPECT_THAT(ran.o, Each(testing::DoubleNear(1, 1.0 / 128)));
  const Ran hidden = run(aCase.score("-inf"));
  EXPECT_THAT(hidden.lse, Each(-infinity));
  EXPECT_THAT(hidden.o, Each(0));
}

TEST_P(Values, TheMaximumMayArriveLate) {
  std::vector<double> k(300, -100);
  k[0] = 1, k[1] = 2, k[128] = 10, k[299] = 0;
  const Ran ran = run(columns({1}, k, {1}, GetParam()).scale(1));
  EXPECT_NEAR(ran.lse.at(0), std::log(22037.57), 1e-5);
}

TEST_P(Values, NoKeysGiveZeros) {
  const Ran ran =
      run(Case({.queries = 200, .keys = 0, .d = 64, .dv = 64, .heads = 2, .dtype = GetParam()},
               noise(1), noise(1), noise(1)));
  EXPECT_EQ(ran.o.size(), 2u * 200 * 64);
  EXPECT_THAT(ran.o, Each(0));
  EXPECT_THAT(ran.lse, Each(-infinity));
}

TEST_P(Values, NothingToComputeWritesNothing) {
  for (const Case::Shape &shape : {Case::Shape{.d = 64, .dv = 64, .batch = 0},
                                   Case::Shape{.d = 64, .dv = 64, .heads = 0, .kvHeads = 0},
                                   Case::Shape{.queries = 0, .d = 64, .dv = 64}}) {
    Case::Shape typed = shape;
    typed.dtype = GetParam();
    EXPECT_THAT(run(Case(typed, noise(1), noise(1), noise(1))).o, testing::IsEmpty());
  }
}

TEST_P(Values, EmptyBlocksAnywhere) {
  // Rows see no key, not the first block, not the middle ones, only the last key, or everything.
  Case aCase({.queries = 300, .keys = 700, .d = 64, .dv = 64, .dtype = GetParam()}, noise(1),
             noise(2), noise(3));
  aCase.mask("q % 5 != 0")
      .mask("q % 5 != 1 || k >= 200")
      .mask("q % 5 != 2 || k < 100 || k >= 500")
      .mask("q % 5 != 3 || k == kv_len - 1");
  const Ran ran = expectRight(aCase);
  for (const size_t row : {0u, 5u, 295u}) {
    EXPECT_EQ(ran.lse.at(row), -infinity);
    EXPECT_EQ(ran.o.at(row * 64 + 1), 0);
  }
}

TEST_P(Values, WholeBlocksOfQueriesMaySeeNothing) {
  const Ran ran =
      expectRight(Case({.queries = 600, .keys = 9, .d = 64, .dv = 64, .dtype = GetParam()},
                       noise(1), noise(2), noise(3))
                      .preset("causal-lower-right"));
  for (size_t row = 0; row < 591; ++row) {
    ASSERT_EQ(ran.lse.at(row), -infinity) << row;
    ASSERT_EQ(ran.o.at(row * 64), 0) << row;
  }
}

TEST_P(Values, ABiasOfFinfoMinEverywhereGivesTheMean) {
  const double lowest = -std::numeric_limits<float>::max();
  const Ran ran = run(columns({1}, std::vector<double>(5, 1), positions(5), GetParam(), 2)
                          .tensor("bias", makeArray(DType::F32, {1, 1, 2, 5}, constant(lowest)))
                          .preset("dense-bias"));
  EXPECT_NEAR(ran.o.at(0), 2, 1e-2);
  EXPECT_NEAR(ran.o.at(16), 2, 1e-2);
}

TEST_P(Values, AllScoresAtMinus1e32GiveTheMean) {
  const Ran ran =
      run(columns({1}, std::vector<double>(5, 1), positions(5), GetParam()).score("-1e32"));
  EXPECT_NEAR(ran.o.at(0), 2, 1e-2);
}

TEST_P(Values, InfiniteAndUndefinedScoresGiveNaNInTheirRowAlone) {
  for (const std::string bad : {"inf", "s * inf", "inf - inf"})
    for (const int64_t at : {2, 130}) {
      const Ran ran = run(
          columns({1}, std::vector<double>(300, 1), std::vector<double>(300, 1.5), GetParam(), 2)
              .score(fmt::format("q == 0 && k == {} ? {} : s", at, bad)));
      EXPECT_THAT(ran.o.at(0), IsNan()) << bad << " at " << at;
      EXPECT_THAT(ran.lse.at(0), IsNan()) << bad << " at " << at;
      EXPECT_NEAR(ran.o.at(16), 1.5, 1e-6);
    }
}

TEST_P(Values, AScoreOfMinusInfinityHidesItsKey) {
  const Ran ran =
      run(columns({0}, {1, 1, 1, 1}, positions(4), GetParam()).score("k == 1 ? s : -inf"));
  EXPECT_EQ(ran.o.at(0), 1);
  EXPECT_EQ(ran.lse.at(0), 0);
}

TEST_P(Values, AHiddenKeyRowMayHoldAnything) {
  std::vector<double> k(300);
  for (size_t i = 0; i < k.size(); ++i)
    k[i] = i % 2 ? NAN : 1;
  const Ran ran = run(columns({1}, k, {1}, GetParam()).scale(1).mask("k % 2 == 0"));
  EXPECT_EQ(ran.o.at(0), 1);
  EXPECT_NEAR(ran.lse.at(0), 1 + std::log(150.0), 1e-5);
}

TEST_P(Values, SoftcapAlibiAndBias) {
  const auto makeCase = [] {
    return Case({.queries = 150,
                 .keys = 270,
                 .d = 64,
                 .dv = 64,
                 .batch = 2,
                 .heads = 6,
                 .kvHeads = 2,
                 .dtype = GetParam()},
                noise(1), noise(2), noise(3));
  };
  expectRight(makeCase().preset("softcap", 3).preset("causal-lower-right"));
  expectRight(makeCase()
                  .tensor("slope",
                          makeArray(DType::F32, {6}, [](int64_t i) { return std::exp2(-i - 1.0); }))
                  .preset("alibi")
                  .preset("sliding-window-lower-right", 20));
  expectRight(makeCase()
                  .tensor("bias", makeArray(DType::F32, {2, 6, 150, 270}, noise(9)))
                  .preset("dense-bias"));
}

TEST_P(Values, EveryFunctionOfTheLanguage) {
  expectRight(Case({.queries = 140,
                    .keys = 130,
                    .d = 64,
                    .dv = 64,
                    .heads = 4,
                    .kvHeads = 2,
                    .dtype = GetParam()},
                   noise(1), noise(2), noise(3))
                  .score("s + exp(-abs(s)) + exp2(min(s, 1.0)) - log(1.0 + s * s)")
                  .score("s + log2(1.0 + abs(s)) * tanh(s) + sqrt(abs(s)) - floor(s)")
                  .score("clamp(s, -8.0, 8.0) / (1.0 + 0.5 * h + hkv + b)")
                  .mask("(q - k) % 3 != 1 || (k - 7) // 4 == q // 5 || max(q, k) < 3"));
}

TEST_P(Values, OutputMayBeWiderThanTheInputs) {
  expectRight(Case({.queries = 133, .keys = 165, .d = 40, .dv = 40, .dtype = GetParam()}, noise(1),
                   noise(2), noise(3)),
              {.outDType = DType::F32});
}

TEST_P(Values, ExpandedInputs) {
  // One row of keys and values for all heads and batches, by strides of 0.
  Case aCase({.queries = 90,
              .keys = 170,
              .d = 64,
              .dv = 64,
              .batch = 3,
              .heads = 4,
              .kvHeads = 4,
              .dtype = GetParam()},
             noise(1), noise(2), noise(3));
  for (TensorView *view : {&aCase.problem.k, &aCase.problem.v})
    view->strides[0] = view->strides[1] = 0;
  Result<Kernel> kernel = compileKernel(aCase.problem);
  ASSERT_TRUE(kernel) << kernel.error().message();
  DeviceProblem device(aCase.problem);
  const DeviceTensor k(aCase.problem.k, aCase.problem.k), v(aCase.problem.v, aCase.problem.v);
  device.arguments.key = k.view;
  device.arguments.value = v.view;
  Status done = device.launch(*kernel);
  ASSERT_TRUE(done) << done.error().message();
  synchronize();
  expectRight(aCase.problem, {device.o.read(), device.lse.read()});
}

TEST_P(Values, GroupsOfAnySize) {
  for (const int64_t group : {1, 2, 3, 5, 6, 7, 8})
    expectRight(Case({.queries = 70,
                      .keys = 300,
                      .d = 64,
                      .dv = 64,
                      .batch = 2,
                      .heads = 2 * group,
                      .kvHeads = 2,
                      .dtype = GetParam()},
                     noise(1), noise(2), noise(3))
                    .preset("causal-lower-right"));
}

TEST_P(Values, AnEditOfTheTileProgramChangesTheResult) {
  Case aCase({.queries = 200, .keys = 220, .d = 64, .dv = 64, .dtype = GetParam()}, noise(1),
             noise(2), noise(3));
  Result<Compilation> compilation =
      compile(test::describe(aCase.problem, {.outDType = DType::F32}), forGpu());
  ASSERT_TRUE(compilation) << compilation.error().message();
  Result<std::string> text = compilation->text(Stage::Tile);
  ASSERT_TRUE(text) << text.error().message();
  Result<Compilation> edited = compileText(test::withDoubledOutput(*text), Stage::Tile, forGpu());
  ASSERT_TRUE(edited) << edited.error().message();
  Result<Kernel> plain = compilation->kernel(), doubled = edited->kernel();
  ASSERT_TRUE(plain) << plain.error().message();
  ASSERT_TRUE(doubled) << doubled.error().message();
  const Options exact{.outDType = DType::F32}; // whose doubling rounds nothing
  const Ran once = launch(*plain, aCase.problem, exact).ran(),
            twice = launch(*doubled, aCase.problem, exact).ran();
  for (size_t i = 0; i < once.o.size(); ++i)
    ASSERT_EQ(twice.o[i], 2 * once.o[i]) << i;
  EXPECT_EQ(twice.lse, once.lse);
}

INSTANTIATE_TEST_SUITE_P(OnGpu, Values, testing::Values(DType::F16, DType::BF16),
                         [](const auto &info) { return std::string(nameOf(info.param)); });

// f16 has no such numbers.
TEST_F(OnGpuValues, HugeFiniteScores) {
  for (const int64_t keys : {1, 2}) {
    const Ran ran = run(Case({.keys = keys, .d = 64, .dv = 64, .dtype = DType::BF16},
                             constant(133120), constant(133120), constant(133120)));
    EXPECT_THAT(ran.o, Each(133120));
    EXPECT_NEAR(ran.lse.at(0), 8 * 133120.0 * 133120.0, 8 * 133120.0 * 133120.0 * 1e-6);
  }
}
