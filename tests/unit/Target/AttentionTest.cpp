//===- AttentionTest.cpp - Compiled kernels compute what they should ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/unit/Target/Attention.h"
#include "compiler/Target/CPU/CpuTarget.h"

#include <fmt/format.h>

#include <cmath>
#include <numeric>
#include <thread>

using namespace tilewright;
using namespace tilewright::test;
using reference::Case;
using reference::constant;
using reference::infinity;
using reference::makeArray;
using reference::noise;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsNan;

namespace {
double position(int64_t i) {
  return static_cast<double>(i);
}

std::function<double(int64_t)> listed(std::vector<double> values) {
  return [values](int64_t i) { return values.at(static_cast<size_t>(i)); };
}

testing::Matcher<std::vector<double>> areNear(const std::vector<double> &values, double tolerance) {
  return testing::Pointwise(testing::DoubleNear(tolerance), values);
}

std::vector<double> firstOf(const std::vector<double> &values, size_t count) {
  return {values.begin(), values.begin() + static_cast<ptrdiff_t>(count)};
}

/// Each value within `tolerance`, absolute and relative.
void expectClose(const std::vector<double> &values, const std::vector<double> &right,
                 double tolerance) {
  ASSERT_EQ(values.size(), right.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isinf(right[i]))
      ASSERT_EQ(values[i], right[i]) << "element " << i;
    else
      ASSERT_NEAR(values[i], right[i], tolerance * (1 + std::abs(right[i]))) << "element " << i;
  }
}

struct ShapeCase {
  int64_t queries, keys, d, dv;
  const char *blocks;
  bool causal;
  DType dtype;
};

void PrintTo(const ShapeCase &shape, std::ostream *stream) {
  *stream << fmt::format("{}x{} d {} dv {} {} {}{}", shape.queries, shape.keys, shape.d, shape.dv,
                         shape.blocks, nameOf(shape.dtype), shape.causal ? " causal" : "");
}

std::vector<ShapeCase> shapeCases() {
  std::vector<ShapeCase> cases;
  for (const DType dtype : {DType::F32, DType::F64}) {
    for (const char *blocks :
         {"block_q=32,block_kv=32", "block_q=16,block_kv=64", "block_q=7,block_kv=13"})
      for (const auto &[queries, keys, d, dv] :
           {std::array<int64_t, 4>{64, 64, 16, 16}, std::array<int64_t, 4>{100, 100, 32, 32},
            std::array<int64_t, 4>{128, 96, 64, 24}, std::array<int64_t, 4>{37, 53, 8, 11}})
        for (const bool causal : {false, true})
          if (!causal || queries == keys)
            cases.push_back({queries, keys, d, dv, blocks, causal, dtype});
    for (const auto &[queries, keys] :
         {std::pair<int64_t, int64_t>{3, 7}, {7, 3}, {1, 10}, {10, 1}})
      cases.push_back({queries, keys, 8, 5, "block_q=3,block_kv=4", true, dtype});
  }
  return cases;
}

class Shapes : public testing::TestWithParam<ShapeCase> {};
} // namespace

TEST_P(Shapes, OutputAndLseAreRight) {
  const ShapeCase &shape = GetParam();
  Case aCase({.queries = shape.queries,
              .keys = shape.keys,
              .d = shape.d,
              .dv = shape.dv,
              .batch = 2,
              .heads = 2,
              .kvHeads = 1,
              .dtype = shape.dtype},
             noise(1), noise(2), noise(3));
  if (shape.causal)
    aCase.preset("causal");
  const Ran ran = expectRight(aCase, {.schedule = shape.blocks});
  const reference::Output right = aCase.run();
  const double tolerance = shape.dtype == DType::F64 ? 1e-12 : 1e-5;
  expectClose(ran.o, right.o, tolerance);
  expectClose(ran.lse, right.lse, tolerance);
}

INSTANTIATE_TEST_SUITE_P(Attention, Shapes, testing::ValuesIn(shapeCases()));

TEST(Attention, AnyRegisterTileAndNumberOfGroupsIsRight) {
  // Blocks of several register tiles of queries, the last one with groups that are short or empty;
  // one that no register tile divides, and tiles that leave rows over.
  for (const DType dtype : {DType::F32, DType::F64}) {
    Case aCase({.queries = 70, .keys = 101, .d = 11, .dv = 19, .heads = 2, .dtype = dtype},
               noise(1), noise(2), noise(3));
    aCase.mask("k <= q + 40").score("s - 0.1 * real(k - q)").score("s + 0.01 * real(q % 7)");
    for (const char *schedule :
         {"block_q=64,block_kv=32,vectors=1,rows=4", "block_q=64,block_kv=24,vectors=2,rows=6",
          "block_q=40,block_kv=22,vectors=1,rows=1", "block_q=56,block_kv=9,vectors=3,rows=5"})
      expectRight(aCase, {.schedule = schedule});
  }
}

TEST(Attention, WhatIsWidenedServesAllQueriesOfABlock) {
  // Blocks of up to four register tiles, of which lengths leave out some or cut one short; widths
  // of whole iterations, of vectors beyond them and of elements beyond these.
  for (const DType dtype : {DType::F16, DType::BF16}) {
    const auto caseOf = [&](int64_t queries, int64_t keys) {
      Case aCase({.queries = queries,
                  .keys = keys,
                  .d = 77,
                  .dv = 40,
                  .batch = 2,
                  .heads = 4,
                  .kvHeads = 2,
                  .dtype = dtype},
                 noise(1), noise(2), noise(3));
      aCase.mask("k <= q + 50");
      return aCase;
    };
    const Result<Kernel> kernel =
        compileKernel(caseOf(1, 1).problem, {.schedule = "block_q=96,block_kv=24,vectors=3"});
    for (const int64_t queries : {33, 48, 71, 72, 73, 96, 97, 150})
      expectRight(kernel, caseOf(queries, 73));
    expectRight(kernel, caseOf(100, 1));
    expectRight(kernel, caseOf(100, 0));
  }
}

TEST(Attention, MasksMayBoundKeysByPositionsInAnyForm) {
  for (const char *mask :
       {"k <= q", "q >= k", "k < q", "k <= q + 11", "k < q - 9", "11 + q > k", "k <= q + far",
        "k <= q - far", "k < 37", "k <= q && k < 20", "k <= q + (kv_len - q_len) && k % 3 != 1"}) {
    Case aCase({.queries = 50, .keys = 70, .d = 8, .dv = 5}, noise(1), noise(2), noise(3));
    aCase.scalar("far", expression::Type::I32, 2147483000).mask(mask);
    expectRight(aCase, {.schedule = "block_q=32,block_kv=24,vectors=1"});
  }
}

TEST(Attention, TheLargestScoreMayComeInTheLastBlock) {
  for (const char *blocks : {"block_q=1,block_kv=1", "block_q=1,block_kv=2"}) {
    const Ran ran =
        run(Case({.keys = 4, .d = 1}, constant(1), listed({0, 0, 0, 20}), listed({1, 2, 3, 4}))
                .scale(1),
            {.schedule = blocks});
    EXPECT_NEAR(ran.o.at(0), 4, 1e-7);
  }
}

TEST(Attention, KeysAndValuesMayBePermutedTogether) {
  std::vector<size_t> order(96);
  std::iota(order.begin(), order.end(), size_t{0});
  std::shuffle(order.begin(), order.end(), std::mt19937(5));
  std::vector<double> k(96 * 32), v(96 * 24);
  std::ranges::generate(k, [next = noise(2)]() mutable { return next(0); });
  std::ranges::generate(v, [next = noise(3)]() mutable { return next(0); });
  const auto permuted = [&](const std::vector<double> &values, size_t width) {
    return [&values, &order, width](int64_t i) {
      const auto at = static_cast<size_t>(i);
      return values[order[at / width] * width + at % width];
    };
  };
  const Case::Shape shape{.queries = 96, .keys = 96, .d = 32, .dv = 24};
  const Options blocks{.schedule = "block_q=7,block_kv=13"};
  const Ran straight = run(Case(shape, noise(1), listed(k), listed(v)), blocks);
  const Ran shuffled = run(Case(shape, noise(1), permuted(k, 32), permuted(v, 24)), blocks);
  EXPECT_THAT(shuffled.o, areNear(straight.o, 1e-6));
  EXPECT_THAT(shuffled.lse, areNear(straight.lse, 1e-6));
}

TEST(Attention, LseOfManyScoresIsTheDirectSum) {
  Case aCase({.keys = 1000, .d = 1}, constant(10), noise(1), constant(1));
  aCase.scale(1);
  const Ran ran = run(aCase, {.schedule = "block_q=1,block_kv=7"});
  EXPECT_NEAR(ran.lse.at(0), aCase.run().lse[0], 1e-4);
  EXPECT_NEAR(ran.o.at(0), 1, 1e-6);
  const Ran hidden = run(aCase.score("-inf"), {.schedule = "block_q=1,block_kv=7"});
  EXPECT_EQ(hidden.lse.at(0), -infinity);
  EXPECT_EQ(hidden.o.at(0), 0);
}

TEST(Attention, TheMaximumMayArriveLate) {
  const Ran first =
      run(Case({.keys = 2, .d = 1}, constant(1), listed({1, 2}), constant(1)).scale(1));
  EXPECT_NEAR(std::exp(first.lse.at(0)), 10.1073, 1e-4);
  EXPECT_NEAR(std::exp(first.lse.at(0) - 2), 1.3679, 1e-4);
  const Ran both =
      run(Case({.keys = 4, .d = 1}, constant(1), listed({1, 2, 10, 0}), constant(1)).scale(1),
          {.schedule = "block_kv=2"});
  EXPECT_NEAR(std::exp(both.lse.at(0)), 22037.57, 0.02);
  EXPECT_NEAR(std::exp(both.lse.at(0) - 10), 1.000504, 1e-6);
}

TEST(Attention, NoKeysGiveZeros) {
  const Ran ran = run(Case({.queries = 3, .keys = 0, .heads = 2}, noise(1), noise(1), noise(1)));
  EXPECT_EQ(ran.o.size(), 6u);
  EXPECT_THAT(ran.o, Each(0));
  EXPECT_THAT(ran.lse, Each(-infinity));
}

TEST(Attention, NothingToComputeWritesNothing) {
  for (const Case::Shape &shape :
       {Case::Shape{.batch = 0}, Case::Shape{.heads = 0, .kvHeads = 0}, Case::Shape{.queries = 0}})
    EXPECT_THAT(run(Case(shape, noise(1), noise(1), noise(1))).o, IsEmpty());
}

TEST(Attention, EmptyBlocksAnywhere) {
  // Rows see no key, not the first block, not the middle one, only the last key, or everything.
  Case aCase({.queries = 10, .keys = 12, .d = 8, .dv = 3}, noise(1), noise(2), noise(3));
  aCase.mask("q % 5 != 0")
      .mask("q % 5 != 1 || k >= 4")
      .mask("q % 5 != 2 || k < 4 || k >= 8")
      .mask("q % 5 != 3 || k == kv_len - 1");
  for (const char *blocks : {"block_q=3,block_kv=4", "block_q=16,block_kv=4", "block_kv=96"}) {
    const Ran ran = expectRight(aCase, {.schedule = blocks});
    for (const size_t row : {0u, 5u}) {
      EXPECT_EQ(ran.lse.at(row), -infinity);
      EXPECT_EQ(ran.o.at(row * 3 + 1), 0);
    }
  }
}

TEST(Attention, AWholeBlockOfQueriesMaySeeNothing) {
  const Ran ran =
      expectRight(Case({.queries = 40, .keys = 9, .d = 8, .dv = 3}, noise(1), noise(2), noise(3))
                      .preset("causal-lower-right"),
                  {.schedule = "block_q=8,block_kv=4"});
  EXPECT_THAT(firstOf(ran.o, 31 * 3), Each(0));
  EXPECT_THAT(firstOf(ran.lse, 31), Each(-infinity));
}

TEST(Attention, HugeFiniteScores) {
  for (const int64_t keys : {1, 2}) {
    const Ran ran = run(Case({.keys = keys, .d = 64, .dv = 64, .dtype = DType::BF16},
                             constant(133120), constant(133120), constant(133120)));
    EXPECT_THAT(ran.o, Each(133120));
    EXPECT_NEAR(ran.lse.at(0), 8 * 133120.0 * 133120.0, 8 * 133120.0 * 133120.0 * 1e-6);
  }
}

TEST(Attention, ScoresOverflowInTheOrderThatTheyAreWrittenIn) {
  const auto scored = [](const char *score) {
    return run(Case({.keys = 5, .d = 4}, constant(1), constant(1), position).score(score)).o.at(0);
  };
  EXPECT_THAT(scored("s * 1e38 * 1e38 * 1e-38 * 1e-38"), IsNan());
  EXPECT_NEAR(scored("s * 1e38 * 1e-38 * 1e38 * 1e-38"), 2, 1e-6);
}

TEST(Attention, ABiasOfFinfoMinEverywhereGivesTheMean) {
  const double lowest = -std::numeric_limits<float>::max();
  const Ran ran = run(Case({.queries = 2, .keys = 5, .d = 4}, noise(1), noise(2), position)
                          .tensor("bias", makeArray(DType::F32, {1, 1, 2, 5}, constant(lowest)))
                          .preset("dense-bias"),
                      {.schedule = "block_kv=2"});
  EXPECT_THAT(ran.o, areNear({2, 2}, 1e-6));
}

TEST(Attention, AllScoresAtMinus1e32GiveTheMean) {
  const Ran ran = run(Case({.keys = 5, .d = 4}, noise(1), noise(2), position).score("-1e32"),
                      {.schedule = "block_kv=2"});
  EXPECT_THAT(ran.o, areNear({2}, 1e-6));
}

TEST(Attention, InfiniteAndUndefinedScoresGiveNaNInTheirRowAlone) {
  for (const std::string bad : {"inf", "s * inf", "inf - inf"})
    for (const char *blocks : {"block_kv=1", "block_kv=2", "block_kv=96"}) {
      const Ran ran = run(Case({.queries = 2, .keys = 4}, constant(1), constant(1), position)
                              .score("q == 0 && k == 2 ? " + bad + " : s"),
                          {.schedule = blocks});
      EXPECT_THAT(ran.o.at(0), IsNan()) << bad << " " << blocks;
      EXPECT_THAT(ran.lse.at(0), IsNan()) << bad << " " << blocks;
      EXPECT_NEAR(ran.o.at(1), 1.5, 1e-6);
    }
}

TEST(Attention, AScoreOfMinusInfinityHidesItsKey) {
  const Ran ran = run(Case({.keys = 4}, constant(0), noise(1), position).score("k == 1 ? s : -inf"),
                      {.schedule = "block_kv=1"});
  EXPECT_EQ(ran.o.at(0), 1);
  EXPECT_EQ(ran.lse.at(0), 0);
}

TEST(Attention, AHiddenKeyRowMayHoldAnything) {
  const auto poison = [](int64_t i) { return i % 2 ? NAN : 1; };
  const Ran ran =
      run(Case({.keys = 4, .d = 1}, constant(1), poison, constant(1)).mask("k % 2 == 0"));
  EXPECT_EQ(ran.o.at(0), 1);
  EXPECT_NEAR(ran.lse.at(0), 1 + std::log(2.0), 1e-6);
}

TEST(Attention, SoftcapAlibiAndBiasInEveryDType) {
  for (const DType dtype : {DType::F64, DType::F32, DType::F16, DType::BF16}) {
    const auto makeCase = [&] {
      return Case({.queries = 50,
                   .keys = 70,
                   .d = 24,
                   .dv = 16,
                   .batch = 2,
                   .heads = 6,
                   .kvHeads = 2,
                   .dtype = dtype},
                  noise(1), noise(2), noise(3));
    };
    const std::string name(nameOf(dtype));
    SCOPED_TRACE(name);
    expectRight(makeCase().preset("softcap", 3).preset("causal-lower-right"));
    expectRight(makeCase()
                    .tensor("slope", makeArray(DType::F32, {6},
                                               [](int64_t i) { return std::exp2(-i - 1.0); }))
                    .preset("alibi")
                    .preset("sliding-window-lower-right", 20));
    expectRight(makeCase()
                    .tensor("bias", makeArray(DType::F32, {2, 6, 50, 70}, noise(9)))
                    .preset("dense-bias"));
  }
}

TEST(Attention, EveryFunctionOfTheLanguage) {
  for (const DType dtype : {DType::F32, DType::F64})
    expectRight(
        Case({.queries = 20, .keys = 30, .d = 8, .dv = 4, .heads = 4, .kvHeads = 2, .dtype = dtype},
             noise(1), noise(2), noise(3))
            .score("s + exp(-abs(s)) + exp2(min(s, 1.0)) - log(1.0 + s * s)")
            .score("s + log2(1.0 + abs(s)) * tanh(s) + sqrt(abs(s)) - floor(s)")
            .score("clamp(s, -8.0, 8.0) / (1.0 + 0.5 * h + hkv + b)")
            .mask("(q - k) % 3 != 1 || (k - 7) // 4 == q // 5 || max(q, k) < 3"));
}

TEST(Attention, OutputMayBeWiderThanTheInputs) {
  for (const DType dtype : {DType::BF16, DType::F16})
    expectRight(Case({.queries = 33, .keys = 65, .d = 40, .dv = 40, .dtype = dtype}, noise(1),
                     noise(2), noise(3)),
                {.outDType = DType::F32});
}

TEST(Attention, ExpandedInputs) {
  // One row of keys and values for all heads and batches, by strides of 0.
  Case aCase({.queries = 9, .keys = 17, .d = 16, .dv = 8, .batch = 3, .heads = 4, .kvHeads = 4},
             noise(1), noise(2), noise(3));
  for (TensorView *view : {&aCase.problem.k, &aCase.problem.v})
    view->strides[0] = view->strides[1] = 0;
  Result<Kernel> kernel = compileKernel(aCase.problem);
  ASSERT_TRUE(kernel) << kernel.error().message();
  Output o(DType::F32, {3, 4, 9, 8}, Layout::Dense), lse(DType::F32, {3, 4, 9}, Layout::Dense);
  Arguments arguments;
  arguments.query = aCase.problem.q;
  arguments.key = aCase.problem.k;
  arguments.value = aCase.problem.v;
  arguments.out = o.view;
  arguments.lse = lse.view;
  std::vector<std::byte> workspace(*kernel->workspaceSize({3, 4, 4, 9, 17}));
  Status done = kernel->run(arguments, workspace);
  ASSERT_TRUE(done) << done.error().message();
  expectRight(aCase, {valuesOf(o.view), valuesOf(lse.view)}, {}, reference::allRows(9));
}

TEST(Attention, FewQueriesAgainstManyKeys) {
  // Rows are of several heads, keys are split in three, and the window hides the middle part from
  // some heads and everything from the last ones.
  for (const int64_t queries : {1, 3}) {
    Case aCase({.queries = queries, .keys = 4500, .d = 24, .dv = 40, .heads = 6, .kvHeads = 2},
               noise(1), noise(2), noise(3));
    aCase.score("s + 0.001 * h * (k - q)")
        .mask("k <= q + (kv_len - q_len) && kv_len - k < 2200 * (3 - h)");
    expectRight(aCase);
  }
}

TEST(Attention, AWorkspaceThatIsTooSmallIsRefused) {
  Case aCase({.queries = 2, .keys = 17, .d = 4, .dv = 4}, noise(1), noise(2), noise(3));
  Result<Kernel> kernel = compileKernel(aCase.problem);
  ASSERT_TRUE(kernel) << kernel.error().message();
  Output o(DType::F32, {1, 1, 2, 4}, Layout::Dense), lse(DType::F32, {1, 1, 2}, Layout::Dense);
  Arguments arguments = captured(aCase.problem);
  arguments.query = aCase.problem.q;
  arguments.key = aCase.problem.k;
  arguments.value = aCase.problem.v;
  arguments.out = o.view;
  arguments.lse = lse.view;
  const size_t size = *kernel->workspaceSize({1, 1, 1, 2, 17});
  std::vector<std::byte> workspace(size - 1);
  Status done = kernel->run(arguments, workspace);
  ASSERT_FALSE(done);
  EXPECT_THAT(
      done.error().message(),
      HasSubstr(fmt::format("workspace has {} bytes; this launch needs {}", size - 1, size)));
  EXPECT_THAT(valuesOf(o.view), Each(IsNan()));
  EXPECT_EQ(*kernel->workspaceSize({1, 8, 8, 4096, 4096}), 0u);
}

TEST(Attention, BlockSizesOfOneAndBeyondTheLengths) {
  for (const char *blocks : {"block_q=1,block_kv=1", "block_q=1,block_kv=200",
                             "block_q=130,block_kv=1", "block_q=130,block_kv=200"})
    expectRight(Case({.queries = 30, .keys = 41, .d = 5, .dv = 3}, noise(1), noise(2), noise(3))
                    .preset("causal-lower-right"),
                {.schedule = blocks});
}

TEST(Attention, PortableCodeIsRightToo) {
  Result<CpuTarget> portable = CpuTarget::named("x86-64");
  if (!portable->isHost)
    GTEST_SKIP() << "this is no x86-64 machine";
  for (const char *cpu : {"x86-64", "haswell"})
    for (const DType dtype : {DType::F32, DType::F64, DType::F16, DType::BF16}) {
      if (!CpuTarget::named(cpu)->isHost)
        continue;
      SCOPED_TRACE(cpu);
      expectRight(Case({.queries = 50,
                        .keys = 61,
                        .d = 20,
                        .dv = 13,
                        .heads = 2,
                        .kvHeads = 1,
                        .dtype = dtype},
                       noise(1), noise(2), noise(3))
                      .preset("causal")
                      .preset("softcap", 2),
                  {.cpu = cpu});
    }
}

TEST(Attention, EveryStageGivenBackLeadsToTheSameBits) {
  Case aCase({.queries = 50, .keys = 61, .d = 20, .dv = 13, .heads = 2}, noise(1), noise(2),
             noise(3));
  aCase.preset("causal").preset("softcap", 2);
  Result<Compilation> compilation = compile(describe(aCase.problem, {}));
  ASSERT_TRUE(compilation) << compilation.error().message();
  Result<Kernel> kernel = compilation->kernel();
  ASSERT_TRUE(kernel) << kernel.error().message();
  const Ran right = launch(*kernel, aCase.problem);
  for (const Stage stage : {Stage::Attn, Stage::Tile, Stage::Vector}) {
    Result<Compilation> again = compileText(*compilation->text(stage), stage);
    ASSERT_TRUE(again) << again.error().message();
    Result<Kernel> second = again->kernel();
    ASSERT_TRUE(second) << second.error().message();
    expectSameBits(right, launch(*second, aCase.problem));
  }
}

TEST(Attention, AnEditOfTheTileProgramChangesTheResult) {
  Case aCase({.queries = 10, .keys = 12, .d = 8, .dv = 4}, noise(1), noise(2), noise(3));
  Result<Compilation> compilation = compile(describe(aCase.problem, {}));
  ASSERT_TRUE(compilation) << compilation.error().message();
  const std::string text = withDoubledOutput(*compilation->text(Stage::Tile));
  Result<Compilation> edited = compileText(text, Stage::Tile);
  ASSERT_TRUE(edited) << edited.error().message();
  Result<Kernel> kernel = edited->kernel();
  ASSERT_TRUE(kernel) << kernel.error().message() << "\n" << text;
  const Ran right = run(aCase), doubled = launch(*kernel, aCase.problem);
  for (size_t i = 0; i < right.o.size(); ++i)
    EXPECT_EQ(doubled.o[i], 2 * right.o[i]);
  EXPECT_EQ(doubled.lse, right.lse);
}

/// Stores the smallest alpha of all steps as the output and the largest as the LSE.
constexpr const char *alphaProgram = R"(
#any = strided<[?, ?, ?, 1], offset: ?>
func.func @alphas(%query: memref<?x?x?x1xf32, #any> {attn.name = "query"},
                  %key: memref<?x?x?x1xf32, #any> {attn.name = "key"},
                  %value: memref<?x?x?x1xf32, #any> {attn.name = "value"},
                  %out: memref<?x?x?x1xf32, #any> {attn.name = "out"},
                  %lse: memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>> {attn.name = "lse"},
                  %scale: f32 {attn.name = "scale"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %queries = memref.dim %query, %c2 : memref<?x?x?x1xf32, #any>
  %keys = memref.dim %key, %c2 : memref<?x?x?x1xf32, #any>
  scf.forall (%i) in (%queries) {
    %q = tile.load %query[%c0, %c0, %i] : memref<?x?x?x1xf32, #any> -> tensor<1x1xf32>
    %m0, %l0 = tile.softmax_init : tensor<1xf32>
    %above = arith.constant dense<2.0> : tensor<1xf32>
    %below = arith.constant dense<-1.0> : tensor<1xf32>
    %r:4 = scf.for %k0 = %c0 to %keys step %c4
        iter_args(%m = %m0, %l = %l0, %low = %above, %high = %below)
        -> (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) {
      %k = tile.load %key[%c0, %c0, %k0] : memref<?x?x?x1xf32, #any> -> tensor<4x1xf32>
      %s = tile.mma %q, %k {transpose_rhs} : tensor<1x1xf32>, tensor<4x1xf32> -> tensor<1x4xf32>
      %p, %m1, %l1, %alpha = tile.softmax_step %s, %m, %l : tensor<1x4xf32>
      %low1 = arith.minimumf %low, %alpha : tensor<1xf32>
      %high1 = arith.maximumf %high, %alpha : tensor<1xf32>
      scf.yield %m1, %l1, %low1, %high1
        : tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>
    }
    %smallest = tile.broadcast %r#2 : tensor<1xf32> -> tensor<1x1xf32>
    tile.store %smallest, %out[%c0, %c0, %i] : tensor<1x1xf32>, memref<?x?x?x1xf32, #any>
    tile.store %r#3, %lse[%c0, %c0, %i]
      : tensor<1xf32>, memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>
  }
  return
})";

TEST(Attention, AlphaIsBetweenZeroAndOneWithARunningMaximum) {
  const Case aCase({.queries = 40, .keys = 64, .d = 1}, noise(1), noise(2), noise(3));
  Result<Compilation> compilation = compileText(alphaProgram, Stage::Tile);
  ASSERT_TRUE(compilation) << compilation.error().message();
  Result<Kernel> kernel = compilation->kernel();
  ASSERT_TRUE(kernel) << kernel.error().message();
  const Ran alphas = launch(*kernel, aCase.problem);
  // The first step comes from rows that have seen no key.
  EXPECT_THAT(alphas.o, Each(0));
  EXPECT_THAT(alphas.lse, Each(testing::AllOf(testing::Ge(0), testing::Le(1))));
}

TEST(Attention, WrongSizesAreRefusedBeforeAnythingIsWritten) {
  Case aCase({.queries = 5, .keys = 7, .d = 4, .dv = 3}, noise(1), noise(2), noise(3));
  Result<Kernel> kernel = compileKernel(aCase.problem);
  ASSERT_TRUE(kernel) << kernel.error().message();
  const auto errorOf = [&](const std::function<void(Arguments &)> &spoil) {
    Output o(DType::F32, {1, 1, 5, 3}, Layout::Dense), lse(DType::F32, {1, 1, 5}, Layout::Dense);
    Arguments arguments;
    arguments.query = aCase.problem.q;
    arguments.key = aCase.problem.k;
    arguments.value = aCase.problem.v;
    arguments.out = o.view;
    arguments.lse = lse.view;
    spoil(arguments);
    Status done = kernel->run(arguments);
    EXPECT_THAT(valuesOf(o.view), Each(IsNan()));
    EXPECT_THAT(valuesOf(lse.view), Each(IsNan()));
    o.expectGuardsIntact();
    return done ? "" : done.error().message();
  };
  EXPECT_THAT(errorOf([](Arguments &a) { a.key.shape[3] = 3; }),
              HasSubstr("key is f32[1, 1, 7, 3], and this kernel takes f32[?, ?, ?, 4]"));
  EXPECT_THAT(errorOf([](Arguments &a) { a.value.shape[2] = 6; }),
              HasSubstr("key_length is 7 in key and 6 in value"));
  EXPECT_THAT(errorOf([](Arguments &a) { a.query.rank = 3; }), HasSubstr("query has 3 dimensions"));
  EXPECT_THAT(errorOf([](Arguments &a) { a.value.dtype = DType::F16; }),
              HasSubstr("value is f16[1, 1, 7, 3]"));
  EXPECT_THAT(errorOf([](Arguments &a) { a.query.dtype = DType::I32; }),
              HasSubstr("query is i32[1, 1, 5, 4]"));
  EXPECT_THAT(errorOf([](Arguments &a) { a.query.data = a.out.data; }),
              HasSubstr("out overlaps query"));
}

TEST(Attention, WidthsAndBlocksOfZeroAreRefused) {
  tilewright::Problem problem;
  problem.headDim = 0;
  Result<Compilation> noWidth = compile(problem);
  ASSERT_FALSE(noWidth);
  EXPECT_THAT(noWidth.error().message(), HasSubstr("0"));
  problem.headDim = 4;
  problem.valueDim = 0;
  EXPECT_FALSE(compile(problem));
  problem.valueDim.reset();
  Result<Compilation> noBlock = compile(problem, {"cpu", "", "block_q=0"});
  ASSERT_FALSE(noBlock);
  EXPECT_THAT(noBlock.error().message(), HasSubstr("block_q = '0'"));
}

TEST(Attention, LaunchesFromSeveralThreads) {
  Case aCase({.queries = 64, .keys = 64, .d = 16, .dv = 16, .heads = 4, .kvHeads = 4}, noise(1),
             noise(2), noise(3));
  aCase.preset("causal");
  Result<Kernel> kernel = compileKernel(aCase.problem);
  ASSERT_TRUE(kernel) << kernel.error().message();
  const Ran right = launch(*kernel, aCase.problem);
  std::vector<std::thread> hosts;
  std::vector<Ran> results(8);
  for (Ran &result : results)
    hosts.emplace_back([&] { result = launch(*kernel, aCase.problem, {.threads = 3}); });
  for (std::thread &host : hosts)
    host.join();
  for (const Ran &result : results)
    expectSameBits(right, result);
}
