//===- PtxProblemsTest.cpp - Problems lowered to PTX and executed ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/unit/Target/EmulatedKernel.h"

#include <fmt/format.h>

using namespace tilewright;
using namespace tilewright::reference;

/// A problem as the attn dialect has it. `score` and `mask` are bodies of regions, `captured` more
/// arguments of the function.
static std::string attnText(int64_t d, int64_t dv, const char *dtype, const std::string &score,
                            const std::string &mask, const std::string &captured) {
  const char *positions =
      "%b: i32, %h: i32, %hkv: i32, %q: i32, %k: i32, %q_len: i32, %kv_len: i32";
  std::string regions;
  if (!score.empty())
    regions += fmt::format(" score {{\n^bb0(%s: f32, {}):\n{}\n}}", positions, score);
  if (!mask.empty())
    regions += fmt::format(" mask {{\n^bb0({}):\n{}\n}}", positions, mask);
  return fmt::format(
      "!qk = memref<?x?x?x{}x{}, strided<[?, ?, ?, 1], offset: ?>>\n"
      "!vo = memref<?x?x?x{}x{}, strided<[?, ?, ?, 1], offset: ?>>\n"
      "!lse = memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>\n"
      "func.func @forward(%query: !qk, %key: !qk, %value: !vo, %out: !vo, %lse: !lse, "
      "%scale: f32{}) {{\n"
      "attn.forward q(%query : !qk) k(%key : !qk) v(%value : !vo) o(%out : !vo) "
      "lse(%lse : !lse) scale(%scale : f32){}\nreturn\n}}\n",
      d, dtype, dv, dtype, captured, regions);
}

static CompiledKernel compileProblem(int64_t d, int64_t dv, const char *dtype,
                                     const std::string &score = "", const std::string &mask = "",
                                     const std::string &captured = "") {
  return compileKernel(attnText(d, dv, dtype, score, mask, captured),
                       attnToTilePipeline(defaultGpuSchedule(d, dv)) + "," + tileToSMPipeline(2) +
                           "," + smToNVVMPipeline() + "," + nvvmToLLVMPipeline());
}

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

static const char *const causalBody = "%keep = arith.cmpi sle, %k, %q : i32\nattn.yield %keep : i1";

class PtxHeadDims : public testing::TestWithParam<std::pair<int64_t, int64_t>> {};

TEST_P(PtxHeadDims, AreRight) {
  const auto [d, dv] = GetParam();
  Case c = random(140, 140, d, dv, DType::BF16);
  c.mask("k <= q");
  expectRight(compileProblem(d, dv, "bf16", "", causalBody), c, 2,
              1 / std::sqrt(static_cast<double>(d)));
}

INSTANTIATE_TEST_SUITE_P(Matrix, PtxHeadDims,
                         testing::Values(std::pair{16, 16}, std::pair{32, 32}, std::pair{40, 40},
                                         std::pair{64, 64}, std::pair{72, 72}, std::pair{80, 80},
                                         std::pair{96, 96}, std::pair{128, 128},
                                         std::pair{160, 160}, std::pair{192, 192},
                                         std::pair{256, 256}, std::pair{192, 128},
                                         std::pair{64, 128}, std::pair{128, 64}));

TEST(PtxProblems, NoMaskWithLengthsThatDiffer) {
  const CompiledKernel kernel = compileProblem(64, 64, "f16");
  for (auto [queries, keys] : {std::pair{1, 300}, {130, 1}, {200, 129}})
    expectRight(kernel, random(queries, keys, 64, 64, DType::F16), 2, 0.125);
}

TEST(PtxProblems, WindowAlignedAtTheLowerRight) {
  Case c = random(150, 290, 64, 64, DType::F16);
  c.mask("k <= q + kv_len - q_len && q + kv_len - q_len - k < 100");
  expectRight(compileProblem(64, 64, "f16", "",
                             "%d = arith.subi %kv_len, %q_len : i32\n"
                             "%at = arith.addi %q, %d : i32\n"
                             "%below = arith.cmpi sle, %k, %at : i32\n"
                             "%distance = arith.subi %at, %k : i32\n"
                             "%c100 = arith.constant 100 : i32\n"
                             "%near = arith.cmpi slt, %distance, %c100 : i32\n"
                             "%keep = arith.andi %below, %near : i1\nattn.yield %keep : i1"),
              c, 2, 0.125);
}

TEST(PtxProblems, RowsThatSeeNoKeyAreZero) {
  Case c = random(300, 140, 64, 64, DType::BF16);
  c.mask("k >= q");
  expectRight(compileProblem(64, 64, "bf16", "",
                             "%keep = arith.cmpi sge, %k, %q : i32\nattn.yield %keep : i1"),
              c, 2, 0.125);
}

TEST(PtxProblems, DocumentsAreReadFromATensor) {
  Case c = random(200, 200, 64, 64, DType::BF16);
  c.tensor("ids",
           makeArray(DType::I32, {200}, [](int64_t i) { return static_cast<double>(i / 70); }));
  c.mask("ids[q] == ids[k]");
  expectRight(compileProblem(64, 64, "bf16", "",
                             "%x = attn.element %ids[%q] : memref<?xi32>\n"
                             "%y = attn.element %ids[%k] : memref<?xi32>\n"
                             "%keep = arith.cmpi eq, %x, %y : i32\nattn.yield %keep : i1",
                             ", %ids: memref<?xi32>"),
              c, 2, 0.125);
}

TEST(PtxProblems, ABiasIsReadForEachScore) {
  Case c = random(140, 70, 64, 64, DType::BF16);
  c.tensor("bias", makeArray(DType::F32, {2, 140, 70}, noise(9)));
  c.score("s + bias[h, q, k]");
  expectRight(compileProblem(64, 64, "bf16",
                             "%x = attn.element %bias[%h, %q, %k] : memref<?x?x?xf32>\n"
                             "%r = arith.addf %s, %x : f32\nattn.yield %r : f32",
                             "", ", %bias: memref<?x?x?xf32>"),
              c, 2, 0.125);
}

TEST(PtxProblems, FunctionsOfScores) {
  struct Function {
    const char *expression, *op;
  };
  for (auto [expression, op] : {Function{"tanh(s)", "math.tanh %s"},
                                {"exp(s)", "math.exp %s"},
                                {"exp2(s)", "math.exp2 %s"},
                                {"sqrt(abs(s))", nullptr},
                                {"log(abs(s) + 0.01)", nullptr}}) {
    Case c = random(70, 140, 32, 32, DType::F16);
    c.score(expression).scale(0.5);
    std::string body = op ? fmt::format("%r = {} : f32\n", op) : "%a = math.absf %s : f32\n";
    if (std::string_view(expression).starts_with("sqrt"))
      body += "%r = math.sqrt %a : f32\n";
    if (std::string_view(expression).starts_with("log"))
      body +=
          "%c = arith.constant 0.01 : f32\n%t = arith.addf %a, %c : f32\n%r = math.log %t : f32\n";
    expectRight(compileProblem(32, 32, "f16", body + "attn.yield %r : f32"), c, 1, 0.5);
  }
}
