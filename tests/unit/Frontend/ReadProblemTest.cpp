//===- ReadProblemTest.cpp - Problems from attn IR ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/unit/Frontend/Testing.h"

#include "lib/Expression/Parse.h"
#include "lib/Support/MakeError.h"

using namespace tilewright;
using testing::HasSubstr;

namespace {
class ReadProblem : public FrontendTest {
protected:
  Result<ParsedProblem> read(std::string_view text) {
    auto module = parseModule(text, context);
    if (!module)
      return module.error();
    return readProblem(**module);
  }

  std::string refusal(std::string_view text) {
    const Result<ParsedProblem> problem = read(text);
    return problem ? "" : problem.error().message();
  }

  /// The text of one region's expression, whose body computes %x.
  std::string readScore(std::string_view body, std::string_view type = "f32") {
    const Result<ParsedProblem> problem = read(file(body, "", "", type));
    if (!problem)
      return problem.error().message();
    return toString(problem->scores.front(), problem->declarations);
  }
  std::string readMask(std::string_view body) {
    const Result<ParsedProblem> problem = read(file("", body));
    if (!problem)
      return problem.error().message();
    return toString(problem->masks.front(), problem->declarations);
  }

  /// A module around the bodies of a score and a mask region, each of which computes %x.
  static std::string file(std::string_view score, std::string_view mask = "",
                          std::string_view before = "", std::string_view type = "f32") {
    const std::string positions =
        "%b: i32, %h: i32, %hkv: i32, %q: i32, %k: i32, %q_len: i32, %kv_len: i32";
    std::string regions;
    if (!score.empty())
      regions += fmt::format(" score {{\n^bb0(%s: {0}, {1}):\n{2}\nattn.yield %x : {0}\n}}", type,
                             positions, score);
    if (!mask.empty())
      regions += fmt::format(" mask {{\n^bb0({}):\n{}\nattn.yield %x : i1\n}}", positions, mask);
    return fmt::format(R"(
!tensor = memref<?x?x?x8x{0}, strided<[?, ?, ?, 1], offset: ?>>
func.func @f(%query: !tensor {{attn.name = "query"}}, %key: !tensor {{attn.name = "key"}},
             %value: !tensor {{attn.name = "value"}}, %out: !tensor {{attn.name = "out"}},
             %scale: {0} {{attn.name = "scale"}}, %window: i32 {{attn.name = "window"}},
             %cap: {0} {{attn.name = "cap"}}, %byte: memref<?xi8> {{attn.name = "byte"}},
             %long: memref<?xi64> {{attn.name = "long"}},
             %half: memref<?xf16> {{attn.name = "half"}},
             %single: memref<?xf32> {{attn.name = "single"}}) {{
  {1}
  attn.forward q(%query : !tensor) k(%key : !tensor) v(%value : !tensor) o(%out : !tensor)
    scale(%scale : {0}){2}
  return
}})",
                       type, before, regions);
  }
};
} // namespace

/// `text` with the first `from` replaced.
static std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST_F(ReadProblem, FieldsComeFromTypes) {
  const Result<ParsedProblem> problem = read(R"(
func.func @f(%query: memref<?x?x?x80xbf16> {attn.name = "query"},
             %key: memref<?x?x?x80xbf16> {attn.name = "key"},
             %value: memref<?x?x?x24xbf16> {attn.name = "value"},
             %out: memref<?x?x?x24xf32> {attn.name = "out"},
             %lse: memref<?x?x?xf32> {attn.name = "lse"}) {
  %scale = arith.constant 0.125 : f32
  attn.forward q(%query : memref<?x?x?x80xbf16>) k(%key : memref<?x?x?x80xbf16>)
    v(%value : memref<?x?x?x24xbf16>) o(%out : memref<?x?x?x24xf32>)
    lse(%lse : memref<?x?x?xf32>) scale(%scale : f32)
  return
})");
  ASSERT_TRUE(problem) << problem.error().message();
  EXPECT_EQ(problem->headDim, 80);
  EXPECT_EQ(problem->valueDim, 24);
  EXPECT_EQ(problem->dtype, DType::BF16);
  EXPECT_EQ(problem->outDType, DType::F32);
  EXPECT_TRUE(problem->lse);
  EXPECT_EQ(problem->scale, 0.125);
  EXPECT_TRUE(problem->scores.empty() && problem->masks.empty());
}

TEST_F(ReadProblem, CapturedArgumentsAreDeclared) {
  const Result<ParsedProblem> problem = read(file(""));
  ASSERT_TRUE(problem) << problem.error().message();
  EXPECT_FALSE(problem->lse);
  EXPECT_FALSE(problem->scale);
  const expression::Declarations &declared = problem->declarations;
  ASSERT_EQ(declared.scalars().size(), 2u);
  EXPECT_EQ(declared.scalars()[0].name, "window");
  EXPECT_EQ(declared.scalars()[0].type, expression::Type::I32);
  EXPECT_EQ(declared.scalars()[1].name, "cap");
  EXPECT_EQ(declared.scalars()[1].type, expression::Type::Real);
  ASSERT_EQ(declared.tensors().size(), 4u);
  EXPECT_EQ(declared.tensors()[0].dtype, DType::U8);
  EXPECT_EQ(declared.tensors()[1].dtype, DType::I64);
  EXPECT_EQ(declared.tensors()[2].dtype, DType::F16);
}

TEST_F(ReadProblem, OpsBecomeOperators) {
  EXPECT_EQ(readScore("%x = arith.addf %s, %cap : f32"), "s + cap");
  EXPECT_EQ(readScore("%y = arith.sitofp %window : i32 to f32 %x = arith.mulf %s, %y : f32"),
            "s * real(window)");
  EXPECT_EQ(readScore("%e = attn.element %half[%k] : memref<?xf16>\n"
                      "%y = arith.extf %e : f16 to f32\n%x = arith.maximumf %s, %y : f32"),
            "max(s, half[k])");
  EXPECT_EQ(readMask("%e = attn.element %byte[%k] : memref<?xi8>\n%c = arith.constant -1 : i8\n"
                     "%x = arith.cmpi eq, %e, %c : i8"),
            "byte[k] == 255");
  EXPECT_EQ(
      readMask("%e = attn.element %long[%k] : memref<?xi64>\n%y = arith.extsi %q : i32 to i64\n"
               "%x = arith.cmpi slt, %e, %y : i64"),
      "long[k] < q");
  EXPECT_EQ(readMask("%x = arith.cmpi sge, %q, %k : i32"), "q >= k");
  EXPECT_EQ(readMask("%c = arith.cmpi eq, %q, %k : i32\n%t = arith.constant true\n"
                     "%x = arith.xori %c, %t : i1"),
            "(q == k) != true");
  EXPECT_EQ(readMask("%y = arith.cmpi eq, %q, %k : i32\n%z = arith.extui %y : i1 to i32\n"
                     "%x = arith.cmpi slt, %z, %k : i32"),
            "(q == k ? 1 : 0) < k");
}

TEST_F(ReadProblem, UnorderedComparisonsAreNegatedOrderedOnes) {
  const auto compare = [&](const char *predicate) {
    return readScore(fmt::format("%c = arith.cmpf {}, %s, %cap : f32\n"
                                 "%x = arith.select %c, %s, %cap : f32",
                                 predicate));
  };
  EXPECT_EQ(compare("ult"), "!(s >= cap) ? s : cap");
  EXPECT_EQ(compare("uge"), "!(s < cap) ? s : cap");
  EXPECT_EQ(compare("one"), "s < cap || s > cap ? s : cap");
  EXPECT_EQ(compare("ueq"), "!(s < cap || s > cap) ? s : cap");
  EXPECT_EQ(compare("ord"), "s == s && cap == cap ? s : cap");
}

TEST_F(ReadProblem, ConstantsMayLieOutside) {
  const Result<ParsedProblem> problem =
      read(file("", "%x = arith.cmpi slt, %k, %c7 : i32", "%c7 = arith.constant 7 : i32"));
  ASSERT_TRUE(problem) << problem.error().message();
  EXPECT_EQ(toString(problem->masks.front(), problem->declarations), "k < 7");
}

TEST_F(ReadProblem, OtherValuesFromOutsideAreRefused) {
  EXPECT_THAT(refusal(file("", "%x = arith.cmpi slt, %k, %w : i32",
                           "%w = arith.addi %window, %window : i32")),
              HasSubstr("'arith.cmpi': uses a value from outside of the region that is neither an "
                        "argument of the function nor a constant"));
}

TEST_F(ReadProblem, OpsWithoutCounterpartAreRefusedAtTheOp) {
  EXPECT_EQ(readMask("%x = arith.cmpi ult, %q, %k : i32"),
            "14:6: 'arith.cmpi': has no counterpart in the expression language with the predicate "
            "'ult'");
  EXPECT_THAT(readMask("%y = arith.addi %q, %k overflow<nsw> : i32\n"
                       "%x = arith.cmpi slt, %y, %k : i32"),
              HasSubstr("'arith.addi': has overflow flags"));
  EXPECT_THAT(readScore("%x = arith.addf %s, %cap fastmath<nnan> : f32"),
              HasSubstr("'arith.addf': has fast-math flags"));
  EXPECT_THAT(readMask("%y = arith.andi %q, %k : i32\n%x = arith.cmpi eq, %y, %k : i32"),
              HasSubstr("'arith.andi'"));
  EXPECT_THAT(readMask("%y = arith.xori %q, %k : i32\n%x = arith.cmpi eq, %y, %k : i32"),
              HasSubstr("'arith.xori': has no counterpart"));
  EXPECT_THAT(readMask("%e = attn.element %long[%k] : memref<?xi64>\n"
                       "%y = arith.addi %e, %e : i64\n%x = arith.cmpi slt, %e, %y : i64"),
              HasSubstr("'arith.addi': has no counterpart in the expression language for i64"));
  EXPECT_THAT(readScore("%e = attn.element %half[%k] : memref<?xf16>\n"
                        "%f = arith.addf %e, %e : f16\n%x = arith.extf %f : f16 to f32"),
              HasSubstr("'arith.addf': has no counterpart in the expression language for f16"));
}

TEST_F(ReadProblem, F32ArithmeticInAnF64ProblemIsRefused) {
  const char *body = "%e = attn.element %single[%k] : memref<?xf32>\n"
                     "%f = arith.mulf %e, %e : f32\n%x = arith.extf %f : f32 to f64";
  EXPECT_THAT(readScore(body, "f64"),
              HasSubstr("'arith.mulf': has no counterpart in the expression language for f32"));
}

TEST_F(ReadProblem, AModuleHoldsOneProblem) {
  EXPECT_EQ(refusal("module {}"), "the module has 0 attn.forward; a problem is one");
  std::string text = file("");
  const size_t begin = text.find("  attn.forward"), end = text.find("  return");
  text.insert(end, text.substr(begin, end - begin));
  EXPECT_EQ(refusal(text), "the module has 2 attn.forward; a problem is one");
}

TEST_F(ReadProblem, ArgumentsHaveUsableNames) {
  EXPECT_EQ(refusal(replaced(file(""), " {attn.name = \"window\"}", "")),
            "argument 5 of @f has no 'attn.name'; a host passes arguments by name");
  EXPECT_EQ(refusal(replaced(file(""), "attn.name = \"cap\"", "attn.name = \"window\"")),
            "two arguments of @f are named 'window'");
  EXPECT_EQ(refusal(replaced(file(""), "attn.name = \"key\"", "attn.name = \"keys\"")),
            "key of attn.forward is the argument named 'keys'; a host passes it as 'key'");
  EXPECT_EQ(refusal(replaced(file(""), "attn.name = \"cap\"", "attn.name = \"lse\"")),
            "argument 'lse' is not the lse of attn.forward; choose another name");
  EXPECT_NE(refusal(replaced(file(""), "attn.name = \"cap\"", "attn.name = \"tanh\"")), "");
}

TEST_F(ReadProblem, OperandsAreArgumentsOfTheFunction) {
  EXPECT_EQ(refusal(replaced(file("", "", "%v = memref.cast %value : !tensor to !tensor"),
                             "v(%value", "v(%v")),
            "value of attn.forward is not an argument of the function");
}

TEST_F(ReadProblem, ScalarsHaveTheProblemsRealType) {
  EXPECT_EQ(refusal(replaced(file(""), "%cap: f32", "%cap: f64")),
            "argument 'cap' is f64; a problem that computes in f32 takes i32, f32 and memrefs");
  EXPECT_EQ(refusal(replaced(file(""), "memref<?xf32> {", "memref<?xf64> {")),
            "tensor 'single' has elements of f64; a problem that computes in f32 takes f32, f16, "
            "bf16, i64, i32 and i8");
}
