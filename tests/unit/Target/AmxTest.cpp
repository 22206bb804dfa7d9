//===- AmxTest.cpp - Kernels for AMX compute what they should -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the machine has AMX each case runs on it as well.
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/CPU/CpuTarget.h"
#include "tests/unit/Target/Attention.h"
#include "tests/unit/Target/EmulatedAmx.h"

#include <fmt/format.h>

#include <cmath>

using namespace tilewright;
using namespace tilewright::test;
using reference::Case;
using reference::constant;
using reference::infinity;
using reference::makeArray;
using reference::noise;
using testing::Each;
using testing::HasSubstr;
using testing::IsNan;

namespace {
Case makeCase(Case::Shape shape) {
  shape.dtype = DType::BF16;
  return Case(shape, noise(1), noise(2), noise(3));
}

Result<Kernel> emulated(const Case &aCase, const std::string &schedule) {
  Result<Compilation> compilation =
      compile(describe(aCase.problem, {}), {"cpu", "sapphirerapids", schedule});
  if (!compilation)
    return compilation.error();
  EXPECT_THAT(*compilation->text(Stage::Vector), HasSubstr("amx.tile_mulf"));
  return emulateAmx(*compilation);
}

bool hostHasAmx() {
  static const bool has = [] {
    Result<CpuTarget> host = CpuTarget::host();
    return host && host->amx;
  }();
  return has;
}

/// One compilation for AMX, emulated, and run by the machine where it can.
class Kernels {
public:
  explicit Kernels(const Case &aCase, const std::string &schedule = "")
      : kernels{emulated(aCase, schedule)} {
    if (hostHasAmx())
      kernels.push_back(compileKernel(aCase.problem, {.schedule = schedule}));
  }

  /// Holds all of them against the reference; returns the emulated one's values.
  Ran expectRight(const Case &aCase) const {
    std::vector<Ran> results;
    for (const Result<Kernel> &kernel : kernels)
      results.push_back(test::expectRight(kernel, aCase));
    return results.front();
  }

private:
  std::vector<Result<Kernel>> kernels;
};

Ran expectRightWithAmx(const Case &aCase, const std::string &schedule = "") {
  return Kernels(aCase, schedule).expectRight(aCase);
}

struct WidthCase {
  int64_t d, dv;
  const char *blocks;
  bool causal = true;
};

void PrintTo(const WidthCase &width, std::ostream *stream) {
  *stream << fmt::format("d {} dv {} {}{}", width.d, width.dv, width.blocks,
                         width.causal ? " causal" : "");
}

class AmxWidths : public testing::TestWithParam<WidthCase> {};
} // namespace

TEST_P(AmxWidths, AllLengthsAreRight) {
  const auto [d, dv, blocks, causal] = GetParam();
  std::optional<Kernels> kernels;
  for (const auto &[queries, keys] : {std::pair<int64_t, int64_t>{1, 1},
                                      {15, 17},
                                      {17, 15},
                                      {16, 16},
                                      {31, 33},
                                      {33, 31},
                                      {100, 100},
                                      {70, 257},
                                      {257, 70}}) {
    SCOPED_TRACE(fmt::format("{} queries, {} keys", queries, keys));
    Case aCase = makeCase(
        {.queries = queries, .keys = keys, .d = d, .dv = dv, .batch = 2, .heads = 2, .kvHeads = 1});
    if (causal)
      aCase.preset("causal-lower-right");
    if (!kernels)
      kernels.emplace(aCase, blocks);
    kernels->expectRight(aCase);
  }
}

INSTANTIATE_TEST_SUITE_P(Amx, AmxWidths,
                         testing::Values(WidthCase{16, 16, "block_q=32,block_kv=32"},
                                         WidthCase{32, 32, ""}, WidthCase{40, 40, ""},
                                         WidthCase{64, 64, "block_q=16,block_kv=32"},
                                         WidthCase{64, 64, "", false}, WidthCase{80, 80, ""},
                                         WidthCase{128, 128, ""},
                                         WidthCase{192, 128, "block_q=16,block_kv=32"},
                                         WidthCase{5, 3, "block_q=40,block_kv=96"},
                                         WidthCase{288, 16, "block_q=1,block_kv=32"},
                                         WidthCase{16, 24, "block_q=130,block_kv=320"},
                                         WidthCase{64, 64, "block_q=64,block_kv=128"},
                                         WidthCase{64, 64, "block_q=32,block_kv=96"},
                                         WidthCase{64, 64, "block_q=48,block_kv=32", false},
                                         WidthCase{32, 80, "block_q=32,block_kv=160"}));

TEST(Amx, MasksAndScores) {
  const Case::Shape shape{
      .queries = 150, .keys = 170, .d = 24, .dv = 16, .batch = 2, .heads = 6, .kvHeads = 2};
  const auto document = [](int64_t i) { return static_cast<double>(i % 170 / 50); };
  const char *blocks = "block_q=32,block_kv=32";
  expectRightWithAmx(makeCase(shape).preset("softcap", 3).preset("causal-lower-right"), blocks);
  expectRightWithAmx(makeCase(shape).preset("sliding-window-lower-right", 20), blocks);
  expectRightWithAmx(makeCase(shape)
                         .tensor("slope", makeArray(DType::F32, {6},
                                                    [](int64_t i) { return std::exp2(-i - 1.0); }))
                         .preset("alibi")
                         .preset("causal"),
                     blocks);
  expectRightWithAmx(makeCase(shape)
                         .tensor("bias", makeArray(DType::F32, {2, 6, 150, 170}, noise(9)))
                         .preset("dense-bias"),
                     blocks);
  expectRightWithAmx(makeCase(shape)
                         .tensor("doc", makeArray(DType::I32, {170}, document))
                         .mask("doc[q] == doc[k]"),
                     blocks);
  expectRightWithAmx(makeCase(shape).mask("(q - k) % 3 != 1").score("s + 0.01 * (k - q)"), blocks);
}

TEST(Amx, RowsAndBlocksWithoutKeys) {
  Case aCase = makeCase({.queries = 40, .keys = 140, .d = 32, .dv = 16});
  aCase.mask("q % 5 != 0")
      .mask("q % 5 != 1 || k >= 64")
      .mask("q % 5 != 2 || k < 32 || k >= 96")
      .mask("q % 5 != 3 || k == kv_len - 1");
  const Ran ran = expectRightWithAmx(aCase, "block_q=16,block_kv=32");
  for (const size_t row : {0u, 5u}) {
    EXPECT_EQ(ran.lse.at(row), -infinity);
    EXPECT_EQ(ran.o.at(row * 16 + 1), 0);
  }
  expectRightWithAmx(
      makeCase({.queries = 140, .keys = 9, .d = 8, .dv = 3}).preset("causal-lower-right"),
      "block_q=32,block_kv=32");
}

TEST(Amx, NoKeysGiveZeros) {
  const Ran ran = expectRightWithAmx(makeCase({.queries = 70, .keys = 0, .d = 16, .dv = 16}));
  EXPECT_THAT(ran.o, Each(0));
  EXPECT_THAT(ran.lse, Each(-infinity));
}

TEST(Amx, ScoresThatGrowWithTheKey) {
  // The reference is raised by less than it could be, by as much, and all the time.
  std::optional<Kernels> kernels;
  for (const double slope : {0.001, 0.07, 3.0, 1e4}) {
    Case aCase = makeCase({.queries = 40, .keys = 300, .d = 16, .dv = 16});
    aCase.scalar("slope", expression::Type::Real, slope).score("s + slope * k");
    if (!kernels)
      kernels.emplace(aCase, "block_q=32,block_kv=32");
    kernels->expectRight(aCase);
  }
}

TEST(Amx, ScoresThatJump) {
  // Weights that refer to a reference from before would be far too large, or infinite.
  std::optional<Kernels> kernels;
  for (const double jump : {7.0, 15.0, 60.0, 200.0, 1e7}) {
    Case aCase = makeCase({.queries = 64, .keys = 256, .d = 16, .dv = 16});
    aCase.scalar("jump", expression::Type::Real, jump)
        .score("k == 150 + q % 64 ? s + jump : k >= 230 ? s - jump : s");
    if (!kernels)
      kernels.emplace(aCase, "block_q=64,block_kv=32");
    kernels->expectRight(aCase);
  }
}

TEST(Amx, OneKeyWithAllTheWeight) {
  // The weight of the key that q picks is rounded, and the sum it is divided by with it.
  Case aCase = makeCase({.queries = 64, .keys = 256, .d = 16, .dv = 16});
  aCase.score("k == (q * 37) % kv_len ? 40.3 : 0.1 * s");
  const Ran ran = expectRightWithAmx(aCase, "block_q=32,block_kv=32");
  const std::vector<double> v = valuesOf(aCase.problem.v);
  for (size_t row = 0; row < 64; ++row)
    for (size_t x = 0; x < 16; ++x)
      EXPECT_EQ(ran.o.at(row * 16 + x), v.at(row * 37 % 256 * 16 + x)) << row << " " << x;
}

TEST(Amx, HugeFiniteScores) {
  std::optional<Result<Kernel>> kernel;
  for (const int64_t keys : {1, 2, 100}) {
    const Case aCase({.queries = 70, .keys = keys, .d = 64, .dv = 64, .dtype = DType::BF16},
                     constant(133120), constant(133120), constant(133120));
    if (!kernel)
      kernel = emulated(aCase, "");
    const Ran ran = launch(**kernel, aCase.problem);
    EXPECT_THAT(ran.o, Each(133120));
    EXPECT_NEAR(ran.lse.at(0), 8 * 133120.0 * 133120.0, 8 * 133120.0 * 133120.0 * 1e-6);
  }
}

TEST(Amx, InfiniteAndUndefinedScoresGiveNaNInTheirRowAlone) {
  Case aCase = makeCase({.queries = 70, .keys = 80, .d = 16, .dv = 16});
  aCase.score("k != 40 ? s : q == 3 ? inf : q == 25 ? abs(s) * inf : q == 47 ? inf - inf : s");
  const Ran ran = launch(*emulated(aCase, "block_q=16,block_kv=32"), aCase.problem);
  for (size_t row = 0; row < 70; ++row) {
    const bool isBad = row == 3 || row == 25 || row == 47;
    EXPECT_EQ(std::isnan(ran.o.at(row * 16)), isBad) << row;
    EXPECT_EQ(std::isnan(ran.lse.at(row)), isBad) << row;
  }
}

TEST(Amx, HiddenKeysMayBeAnything) {
  const auto poison = [next = noise(2)](int64_t i) mutable {
    const double value = next(i);
    return i / 16 % 2 ? NAN : value;
  };
  Case aCase({.queries = 70, .keys = 80, .d = 16, .dv = 16, .dtype = DType::BF16}, noise(1), poison,
             noise(3));
  expectRightWithAmx(aCase.mask("k % 2 == 0"));
}

TEST(Amx, WorkspaceHoldsKeysAndValuesInWholeTiles) {
  const auto bytesFor = [](int64_t d, int64_t dv, int64_t queries) {
    const Case aCase = makeCase({.queries = 1, .keys = 1, .d = d, .dv = dv});
    Result<Kernel> kernel = emulated(aCase, "block_q=64,block_kv=64");
    return static_cast<int64_t>(*kernel->workspaceSize({2, 6, 3, queries, 1000}));
  };
  // 1000 keys are 16 blocks; up to 63 bytes more to start at a cache line.
  EXPECT_EQ(bytesFor(64, 64, 1000), 2 * 3 * 16 * 64 * (64 + 64) * 2 + 63);
  EXPECT_EQ(bytesFor(80, 72, 1000), 2 * 3 * 16 * 64 * (96 + 80) * 2 + 63);
}

TEST(Amx, TooLittleWorkspaceIsRefused) {
  const Case aCase = makeCase({.queries = 70, .keys = 80, .d = 16, .dv = 16});
  Result<Kernel> kernel = emulated(aCase, "");
  Output o(DType::BF16, {1, 1, 70, 16}, Layout::Dense), lse(DType::F32, {1, 1, 70}, Layout::Dense);
  Arguments arguments;
  arguments.query = aCase.problem.q;
  arguments.key = aCase.problem.k;
  arguments.value = aCase.problem.v;
  arguments.out = o.view;
  arguments.lse = lse.view;
  Status done = kernel->run(arguments);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message(), HasSubstr("workspace has 0 bytes"));
  EXPECT_THAT(valuesOf(o.view), Each(IsNan()));
}

TEST(Amx, BlocksOfOtherSizesRunInF32) {
  const Case aCase = makeCase({.queries = 70, .keys = 80, .d = 16, .dv = 16});
  Result<Compilation> compilation =
      compile(describe(aCase.problem, {}), {"cpu", "sapphirerapids", "block_kv=48"});
  EXPECT_THAT(*compilation->text(Stage::Vector), testing::Not(HasSubstr("amx.")));
  ASSERT_EQ(compilation->remarks().size(), 1u);
  EXPECT_THAT(compilation->remarks()[0].message, HasSubstr("block_kv is no multiple of 32"));
}
