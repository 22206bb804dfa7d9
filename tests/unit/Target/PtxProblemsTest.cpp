//===- PtxProblemsTest.cpp - Problems lowered to PTX and executed ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/unit/Target/EmulatedKernel.h"

#include <fmt/format.h>

using namespace tilewright;
using namespace tilewright::reference;

static Case random(int64_t queries, int64_t keys, int64_t d, int64_t dv, DType dtype) {
  return Case({.queries = queries,
               .keys = keys,
               .d = d,
               .dv = dv,
               .heads = 2,
               .kvHeads = 1,
               .dtype = dtype},
              noise(1), noise(2), noise(3));
}

/// Compiles the problem and runs it under `seeds` schedules.
static void expectRight(const Case &c, uint64_t seeds, const test::Options &options = {}) {
  expectRight(imageOf(c, options), c, seeds);
}

class PtxHeadDims : public testing::TestWithParam<std::pair<int64_t, int64_t>> {};

TEST_P(PtxHeadDims, AreRight) {
  const auto [d, dv] = GetParam();
  expectRight(random(140, 140, d, dv, DType::BF16).mask("k <= q"), 2);
}

INSTANTIATE_TEST_SUITE_P(Matrix, PtxHeadDims,
                         testing::Values(std::pair{16, 16}, std::pair{32, 32}, std::pair{40, 40},
                                         std::pair{64, 64}, std::pair{72, 72}, std::pair{80, 80},
                                         std::pair{96, 96}, std::pair{128, 128},
                                         std::pair{160, 160}, std::pair{192, 192},
                                         std::pair{256, 256}, std::pair{192, 128},
                                         std::pair{64, 128}, std::pair{128, 64}));

TEST(PtxProblems, NoMaskWithLengthsThatDiffer) {
  const KernelImage image = imageOf(random(1, 1, 64, 64, DType::F16));
  for (auto [queries, keys] : {std::pair{1, 300}, {130, 1}, {200, 129}})
    expectRight(image, random(queries, keys, 64, 64, DType::F16), 2);
}

TEST(PtxProblems, WindowAlignedAtTheLowerRight) {
  expectRight(random(150, 290, 64, 64, DType::F16)
                  .scalar("window", expression::Type::I32, 100)
                  .mask("k <= q + kv_len - q_len && q + kv_len - q_len - k < window"),
              2);
}

TEST(PtxProblems, RowsThatSeeNoKeyAreZero) {
  expectRight(random(300, 140, 64, 64, DType::BF16).mask("k >= q"), 2);
}

TEST(PtxProblems, DocumentsAreReadFromATensor) {
  Case c = random(200, 200, 64, 64, DType::BF16);
  c.tensor("ids",
           makeArray(DType::I32, {200}, [](int64_t i) { return static_cast<double>(i / 70); }));
  expectRight(c.mask("ids[q] == ids[k]"), 2);
}

TEST(PtxProblems, ABiasIsReadForEachScore) {
  Case c = random(140, 70, 64, 64, DType::BF16);
  c.tensor("bias", makeArray(DType::F32, {2, 140, 70}, noise(9)));
  expectRight(c.score("s + bias[h, q, k]"), 2);
}

TEST(PtxProblems, AValueOfAHeadIsRead) {
  Case c = random(140, 70, 64, 64, DType::BF16);
  c.tensor("slope", makeArray(DType::F16, {2}, noise(9)));
  expectRight(c.score("s + slope[h] * (k - q)"), 1);
}

TEST(PtxProblems, TensorsOfEveryType) {
  for (DType dtype : {DType::F32, DType::F16, DType::BF16, DType::I32}) {
    Case c = random(70, 70, 32, 32, DType::BF16);
    c.tensor("t", makeArray(dtype, {70}, [](int64_t i) { return static_cast<double>(i % 3); }));
    expectRight(isFloat(dtype) ? c.score("s + t[k]") : c.mask("t[k] > 0"), 1);
  }
}

TEST(PtxProblems, TheOutputMayBeF32) {
  expectRight(random(140, 70, 64, 64, DType::BF16), 2, {.outDType = DType::F32});
}

TEST(PtxProblems, SchedulesChangeBlocksAndStages) {
  for (const char *schedule : {"stages=1", "stages=3", "block_q=64,block_kv=32"})
    expectRight(random(300, 140, 64, 64, DType::BF16).mask("k <= q"), 1, {.schedule = schedule});
}

TEST(PtxProblems, FunctionsOfScores) {
  for (const char *function :
       {"tanh(s)", "exp(s)", "exp2(s)", "sqrt(abs(s))", "log(abs(s) + 0.01)"})
    expectRight(random(70, 140, 32, 32, DType::F16).score(function).scale(0.5), 1);
}
