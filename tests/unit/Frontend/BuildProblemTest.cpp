//===- BuildProblemTest.cpp - Problems as attn IR -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/unit/Frontend/Testing.h"

#include "lib/Expression/Presets.h"
#include "lib/Support/MakeError.h"

using namespace tilewright;
using testing::HasSubstr;
using testing::Not;

namespace {
using BuildProblem = FrontendTest;
}

/// The lines of a region's body between its arguments and its yield.
static std::string body(const std::string &text, std::string_view region) {
  const size_t start = text.find(fmt::format(" {} {{", region));
  if (start == std::string::npos)
    return "";
  const size_t arguments = text.find("^bb0", start);
  const size_t begin = text.find('\n', arguments) + 1;
  std::string lines;
  for (size_t at = begin; text.find("attn.yield", at) != std::string::npos;) {
    const size_t end = text.find('\n', at);
    const std::string line = text.substr(at, end - at);
    const size_t first = line.find_first_not_of(' ');
    lines += line.substr(first) + "\n";
    if (line.find("attn.yield") != std::string::npos)
      break;
    at = end + 1;
  }
  return lines;
}

TEST_F(BuildProblem, ArgumentsHaveNamesAndTypes) {
  Problem problem;
  problem.headDim = 80;
  problem.valueDim = 24;
  problem.dtype = DType::BF16;
  problem.outDType = DType::F32;
  problem.scalars = {{"window", ScalarType::I32}, {"cap", ScalarType::Real}};
  problem.tensors = {{"slope", DType::F16, 1}, {"keep", DType::Bool, 2}, {"id", DType::I64, 2}};
  const std::string text = build(problem);
  for (const char *argument :
       {"%query: memref<?x?x?x80xbf16, strided<[?, ?, ?, 1], offset: ?>> {attn.name = \"query\"}",
        "%key: memref<?x?x?x80xbf16, strided<[?, ?, ?, 1], offset: ?>> {attn.name = \"key\"}",
        "%value: memref<?x?x?x24xbf16, strided<[?, ?, ?, 1], offset: ?>> {attn.name = \"value\"}",
        "%out: memref<?x?x?x24xf32, strided<[?, ?, ?, 1], offset: ?>> {attn.name = \"out\"}",
        "%lse: memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>> {attn.name = \"lse\"}",
        "%scale: f32 {attn.name = \"scale\"}", "%window: i32 {attn.name = \"window\"}",
        "%cap: f32 {attn.name = \"cap\"}",
        "%slope: memref<?xf16, strided<[?], offset: ?>> {attn.name = \"slope\"}",
        "%keep: memref<?x?xi8, strided<[?, ?], offset: ?>> {attn.name = \"keep\"}",
        "%id: memref<?x?xi64, strided<[?, ?], offset: ?>> {attn.name = \"id\"}"})
    EXPECT_THAT(text, HasSubstr(argument));
}

TEST_F(BuildProblem, TheSumOfLogarithmsIsOptional) {
  Problem problem;
  problem.lse = false;
  EXPECT_THAT(build(problem), Not(HasSubstr("lse")));
}

TEST_F(BuildProblem, WithoutExpressionsThereAreNoRegions) {
  EXPECT_THAT(build(Problem()), Not(HasSubstr("^bb0")));
}

TEST_F(BuildProblem, F64ProblemsComputeInF64) {
  Problem problem;
  problem.dtype = DType::F64;
  problem.scores = {"s * cap + bias[k]"};
  problem.scalars = {{"cap", ScalarType::Real}};
  problem.tensors = {{"bias", DType::F32, 1}};
  const std::string text = build(problem);
  EXPECT_THAT(text, HasSubstr("%lse: memref<?x?x?xf64"));
  EXPECT_THAT(text, HasSubstr("%cap: f64"));
  EXPECT_THAT(body(text, "score"), HasSubstr("arith.extf"));
  EXPECT_THAT(body(text, "score"), HasSubstr("attn.yield %3 : f64"));
}

TEST_F(BuildProblem, ScoresComposeInOrderAndMasksAreAnded) {
  Problem problem;
  problem.scores = {"s + 1.0", "s * 2.0"};
  problem.masks = {"k <= q", "k < 7", "k != 3"};
  const std::string text = build(problem);
  EXPECT_EQ(body(text, "score"), "%cst = arith.constant 1.000000e+00 : f32\n"
                                 "%0 = arith.addf %s, %cst : f32\n"
                                 "%cst_0 = arith.constant 2.000000e+00 : f32\n"
                                 "%1 = arith.mulf %0, %cst_0 : f32\n"
                                 "attn.yield %1 : f32\n");
  EXPECT_EQ(body(text, "mask"), "%0 = arith.cmpi sle, %k, %q : i32\n"
                                "%c7_i32 = arith.constant 7 : i32\n"
                                "%1 = arith.cmpi slt, %k, %c7_i32 : i32\n"
                                "%2 = arith.andi %0, %1 : i1\n"
                                "%c3_i32 = arith.constant 3 : i32\n"
                                "%3 = arith.cmpi ne, %k, %c3_i32 : i32\n"
                                "%4 = arith.andi %2, %3 : i1\n"
                                "attn.yield %4 : i1\n");
}

/// One operator or function, the declarations it may use, and the ops that it must become.
struct Translation {
  const char *expression;
  const char *op;
};

TEST_F(BuildProblem, OperatorsBecomeOps) {
  for (const Translation &t : std::initializer_list<Translation>{
           {"abs(q - k) + s", "math.absi"},
           {"abs(s)", "math.absf"},
           {"-s", "arith.negf"},
           {"s + (-q)", "arith.subi %c0_i32, %q"},
           {"min(s, 1.0)", "arith.minimumf"},
           {"max(s, 1.0)", "arith.maximumf"},
           {"s + min(q, k)", "arith.minsi"},
           {"s + max(q, k)", "arith.maxsi"},
           {"s / 3.0", "arith.divf"},
           {"s + q // 3", "attn.floor_div %q, %c3_i32"},
           {"s + q % 3", "attn.floor_mod %q, %c3_i32"},
           {"s + q", "arith.sitofp %q : i32 to f32"},
           {"exp(s)", "math.exp %s"},
           {"exp2(s)", "math.exp2 %s"},
           {"log(s)", "math.log %s"},
           {"log2(s)", "math.log2 %s"},
           {"tanh(s)", "math.tanh %s"},
           {"sqrt(s)", "math.sqrt %s"},
           {"floor(s)", "math.floor %s"},
           {"k <= q ? s : -inf", "arith.select"},
           {"!(k <= q) ? s : 0.0", "arith.xori"},
           {"s == 0.0 ? s : 0.0", "arith.cmpf oeq"},
           {"s != 0.0 ? s : 0.0", "arith.cmpf une"},
           {"s < 0.0 ? s : 0.0", "arith.cmpf olt"},
           {"s >= 0.0 ? s : 0.0", "arith.cmpf oge"},
           {"k > q || k < 3 ? s : 0.0", "arith.ori"},
           {"byte[k] == 2 ? s : 0.0", "arith.extui %0 : i8 to i32"},
           {"flag[k] ? s : 0.0", "arith.cmpi ne, %0, %c0_i8 : i8"},
           {"long[k] == q ? s : 0.0", "arith.extsi %q : i32 to i64"},
           {"long[k] < long[q] ? s : 0.0", "arith.cmpi slt, %0, %1 : i64"},
           {"s + half[k]", "arith.extf %0 : f16 to f32"},
           {"s + brain[k]", "arith.extf %0 : bf16 to f32"},
           {"s + single[hkv]", "attn.element %single[%hkv]"},
           {"s * 0.1", "arith.constant 1.000000e-01 : f32"},
           {"s + kv_len - q_len", "arith.sitofp %kv_len"}}) {
    Problem problem;
    problem.scores = {t.expression};
    problem.tensors = {{"byte", DType::U8, 1},    {"flag", DType::Bool, 1},
                       {"long", DType::I64, 1},   {"half", DType::F16, 1},
                       {"brain", DType::BF16, 1}, {"single", DType::F32, 1}};
    EXPECT_THAT(body(build(problem), "score"), HasSubstr(t.op)) << t.expression;
  }
}

TEST_F(BuildProblem, EveryPresetBecomesAModuleThatVerifies) {
  for (const expression::Preset &preset : expression::presets()) {
    Problem problem;
    (preset.role == expression::Role::Mask ? problem.masks : problem.scores)
        .emplace_back(preset.text);
    for (const expression::PresetScalar &scalar : preset.scalars)
      problem.scalars.push_back({std::string(scalar.name), scalar.type == expression::Type::I32
                                                               ? ScalarType::I32
                                                               : ScalarType::Real});
    for (const expression::PresetTensor &tensor : preset.tensors)
      for (DType dtype : tensor.dtypes)
        if (dtype != DType::F64) {
          problem.tensors = {{std::string(tensor.name), dtype, tensor.extents.size()}};
          EXPECT_EQ(parseError(build(problem)), "") << preset.name << " " << nameOf(dtype);
        }
    if (preset.tensors.empty())
      EXPECT_EQ(parseError(build(problem)), "") << preset.name;
  }
}
