//===- ParseModuleTest.cpp - Hostile and good MLIR text -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/unit/Frontend/Testing.h"

using namespace tilewright;
using testing::HasSubstr;
using testing::StartsWith;

namespace {
using ParseModule = FrontendTest;
}

static std::string repeat(std::string_view text, size_t times) {
  std::string result;
  for (size_t i = 0; i < times; ++i)
    result += text;
  return result;
}

TEST_F(ParseModule, HundredThousandNestedTypesAreRefused) {
  const std::string text =
      "func.func private @f(" + repeat("tuple<", 100000) + "i32" + repeat(">", 100000) + ")";
  EXPECT_EQ(parseError(text), "line 1: brackets nest deeper than 256 levels");
}

TEST_F(ParseModule, NestingOfEveryBracketIsLimited) {
  for (const char *open : {"(", "[", "{", "<"})
    EXPECT_EQ(parseError("\n\n" + repeat(open, 100000)),
              "line 3: brackets nest deeper than 256 levels")
        << open;
}

TEST_F(ParseModule, RegionsNestUpToTheLimit) {
  EXPECT_EQ(parseError(repeat("module @m {\n", 200) + repeat("}\n", 200)), "");
  EXPECT_EQ(parseError(repeat("module {\n", 257) + repeat("}\n", 257)),
            "line 257: brackets nest deeper than 256 levels");
}

TEST_F(ParseModule, NestingThroughAliasesIsLimited) {
  std::string text = "!t0 = tuple<i32>\n";
  for (int i = 1; i < 100000; ++i)
    text += "!t" + std::to_string(i) + " = tuple<!t" + std::to_string(i - 1) + ">\n";
  EXPECT_THAT(parseError(text), HasSubstr("brackets nest deeper than 256 levels"));
}

TEST_F(ParseModule, AliasesThatDoubleAreRefused) {
  std::string text = "#a0 = [1, 1]\n";
  for (int i = 1; i < 40; ++i)
    text += "#a" + std::to_string(i) + " = [#a" + std::to_string(i - 1) + ", #a" +
            std::to_string(i - 1) + "]\n";
  EXPECT_THAT(parseError(text + "module attributes {test.x = #a39} {}"),
              HasSubstr("the aliases written out take more than 67108864 bytes"));
}

TEST_F(ParseModule, AnAliasMayBeUsedOften) {
  std::string text = "!t = memref<4xf32>\n";
  for (int i = 0; i < 1000; ++i)
    text += "func.func private @f" + std::to_string(i) + "(memref<4xf32>, !t, !t)\n";
  text += "func.func @g(%x: !t, %y: !t) {\n  return\n}\n";
  EXPECT_EQ(parseError(text), "");
}

TEST_F(ParseModule, ChainsOfAffineOperatorsAreLimited) {
  for (const char *chain : {"- ", "d0 + ", "d0 mod 2 + ", "(d0) * "})
    EXPECT_EQ(parseError("#m = affine_map<(d0) -> (" + repeat(chain, 100000) + "d0)>"),
              "line 1: an expression has more than 256 operators")
        << chain;
}

TEST_F(ParseModule, ArrowsComparisonsCommentsAndStringsAreNoBrackets) {
  std::string text = "// " + repeat("(", 1000) + "\n";
  text += "#s = affine_set<(d0, d1) : (d0 - 1 >= 0, d1 - d0 >= 0, d0 <= 7)>\n";
  text += "module attributes {test.note = \"" + repeat("([{<", 1000) + " \\\" \"} {\n";
  for (int i = 0; i < 1000; ++i)
    text += "  func.func private @f" + std::to_string(i) + "(i32) -> (i32)\n";
  text += "}\n";
  // 'test' is no dialect of ours: the attribute is refused, which is past the scan.
  EXPECT_THAT(parseError(text), testing::Not(HasSubstr("nest")));
}

TEST_F(ParseModule, ManyNegativeConstantsAreNoChain) {
  std::string text = "func.func @f() {\n";
  for (int i = 0; i < 1000; ++i)
    text += "  %c" + std::to_string(i) + " = arith.constant -1 : i32\n";
  EXPECT_EQ(parseError(text + "  return\n}\n"), "");
}

TEST_F(ParseModule, OtherDialectsAreNamed) {
  EXPECT_THAT(parseError("func.func @f() {\n  foo.bar\n  return\n}\n"), HasSubstr("foo"));
  EXPECT_EQ(parseError("\n  \"foo.bar\"() : () -> ()\n"),
            "2:12: 'foo.bar' is an op of a dialect that is not known here");
  EXPECT_THAT(parseError("func.func private @f(!foo.bar)\n"), HasSubstr("foo"));
  EXPECT_THAT(parseError("module attributes {a = #foo.bar} {}\n"), HasSubstr("foo"));
}

TEST_F(ParseModule, ErrorsHaveAPlace) {
  EXPECT_EQ(parseError("module {\n  func.func @f( {\n}\n"), "2:16: expected non-function type");
}

TEST_F(ParseModule, ErrorsOfVerifiersAreErrorsToo) {
  EXPECT_THAT(parseError("func.func @f() -> i32 {\n  return\n}\n"),
              StartsWith("2:3: 'func.return'"));
}

TEST_F(ParseModule, TruncatedTextIsRefused) {
  const std::string text =
      "module {\n  func.func @f(%x: memref<4xf32, \"a(b\">) {\n    return\n  }\n}\n";
  for (size_t length = 8; length + 2 < text.size(); ++length)
    EXPECT_NE(parseError(text.substr(0, length)), "") << length;
}

TEST_F(ParseModule, BytecodeIsRefused) {
  EXPECT_EQ(parseError("ML\xefR\x06"), "the module is MLIR bytecode; only text is accepted");
}

TEST_F(ParseModule, LargeTextIsRefused) {
  EXPECT_EQ(parseError(std::string(maxModuleBytes + 1, ' ')),
            "the module has 67108865 bytes; at most 67108864 are accepted");
}

TEST_F(ParseModule, NothingIsWrittenToStderr) {
  testing::internal::CaptureStderr();
  parseError("module {");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(ParseModule, HoldsFunctionsWithPlainNamesAlone) {
  EXPECT_EQ(parseError("func.func private @f()"), "");
  EXPECT_EQ(parseError("%x = arith.constant 1 : i32"),
            "the module holds 'arith.constant' outside of any function");
  EXPECT_EQ(parseError("llvm.call_intrinsic \"llvm.trap\"() : () -> ()"),
            "the module holds 'llvm.call_intrinsic' outside of any function");
  EXPECT_EQ(parseError("module { module {} }"),
            "the module holds 'builtin.module' outside of any function");
  for (const std::string name : {"a b", "a\\00b", "a\\09"})
    EXPECT_THAT(parseError("func.func private @\"" + name + "\"()"),
                HasSubstr("is no name for a function"));
}
