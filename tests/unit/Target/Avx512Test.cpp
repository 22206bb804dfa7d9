//===- Avx512Test.cpp - f32 in AVX-512's own instructions -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/unit/Target/Attention.h"
#include "tests/unit/Target/EmulatedAmx.h"

#include <cmath>

using namespace tilewright;
using namespace tilewright::test;
using reference::Case;
using reference::infinity;
using reference::noise;
using testing::HasSubstr;

namespace {
Case makeCase(Case::Shape shape) {
  return Case(shape, noise(1), noise(2), noise(3));
}

/// What lies between AVX-512's own instructions, which are written out, runs here.
Result<Kernel> emulated(const Case &aCase) {
  Result<Compilation> compilation =
      compile(describe(aCase.problem, {}), {"cpu", "skylake-avx512", "block_kv=32"});
  if (!compilation)
    return compilation.error();
  EXPECT_THAT(*compilation->text(Stage::Vector), HasSubstr("avx512.mask.scalef.ps.512"));
  return emulateAmx(*compilation);
}
} // namespace

TEST(Avx512, LengthsAndMasksAreRight) {
  for (const auto &[queries, keys] : {std::pair<int64_t, int64_t>{1, 33}, {40, 70}, {70, 40}}) {
    Case aCase = makeCase({.queries = queries, .keys = keys, .d = 20, .dv = 12, .heads = 2});
    aCase.preset("causal-lower-right");
    expectRight(emulated(aCase), aCase);
  }
}

TEST(Avx512, ScoresThatFallWithTheKey) {
  // Weights from 1 to those that are no normal numbers, which count as 0.
  for (const double slope : {0.001, 0.07, 3.0, 1e4}) {
    Case aCase = makeCase({.queries = 40, .keys = 300, .d = 16, .dv = 16});
    aCase.scalar("slope", expression::Type::Real, slope).score("s - slope * k");
    expectRight(emulated(aCase), aCase);
  }
}

TEST(Avx512, OneKeyWithAllTheWeightIsExact) {
  Case aCase = makeCase({.queries = 64, .keys = 100, .d = 16, .dv = 16});
  aCase.score("k == (q * 37) % kv_len ? 1e6 : s");
  const Ran ran = expectRight(emulated(aCase), aCase);
  const std::vector<double> v = valuesOf(aCase.problem.v);
  for (size_t row = 0; row < 64; ++row)
    EXPECT_EQ(ran.o.at(row * 16 + 1), v.at(row * 37 % 100 * 16 + 1)) << row;
}

TEST(Avx512, InfiniteScoresGiveNaNInTheirRowAlone) {
  Case aCase = makeCase({.queries = 40, .keys = 80, .d = 16, .dv = 16});
  aCase.score("q == 3 && k == 40 ? inf : q == 25 && k == 2 ? inf - inf : s").mask("q != 7");
  const Ran ran = launch(*emulated(aCase), aCase.problem);
  for (size_t row = 0; row < 40; ++row)
    EXPECT_EQ(std::isnan(ran.o.at(row * 16)), row == 3 || row == 25) << row;
  EXPECT_EQ(ran.o.at(7 * 16), 0);
  EXPECT_EQ(ran.lse.at(7), -infinity);
}
