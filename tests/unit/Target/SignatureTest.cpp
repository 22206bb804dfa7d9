//===- SignatureTest.cpp --------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VectorKernel.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

using namespace tilewright;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {
constexpr int64_t open = KernelArgument::dynamic;

/// A kernel whose functions take these arguments and whose item does `body`.
std::string kernel(const std::string &arguments, const std::string &body = "") {
  return fmt::format(R"(
    func.func @f_items({0}) -> index {{
      %c1 = arith.constant 1 : index
      return %c1 : index
    }}
    func.func @f({0}{1}%item: index) {{
      {2}
      return
    }})",
                     arguments, arguments.empty() ? "" : ", ", body);
}

std::string errorOf(const std::string &text) {
  test::VectorModule module(text);
  Result<Signature> signature = extractSignature(*module);
  return signature ? "" : signature.error().message();
}
} // namespace

TEST(Signature, ReadsNamesTypesExtentsAndStrides) {
  test::VectorModule module(kernel(
      R"(%q: memref<?x?x?x64xbf16, strided<[?, ?, ?, 1], offset: ?>> {attn.name = "query"},
         %t: memref<?x3xi8> {attn.name = "keep"}, %s: f32 {attn.name = "scale"},
         %w: i32 {attn.name = "window"}, %x: f64 {attn.name = "x"})"));
  Result<Signature> signature = extractSignature(*module);
  ASSERT_TRUE(signature) << signature.error().message();
  EXPECT_EQ(signature->function, "f");
  const auto &arguments = signature->arguments;
  ASSERT_EQ(arguments.size(), 5u);
  EXPECT_EQ(arguments[0].name, "query");
  EXPECT_EQ(arguments[0].dtype, DType::BF16);
  EXPECT_THAT(arguments[0].shape, ElementsAre(open, open, open, 64));
  EXPECT_THAT(arguments[0].strides, ElementsAre(open, open, open, 1));
  EXPECT_EQ(arguments[1].dtype, DType::U8);
  EXPECT_THAT(arguments[1].strides, ElementsAre(3, 1));
  EXPECT_EQ(arguments[2].kind, KernelArgument::Kind::F32);
  EXPECT_EQ(arguments[3].kind, KernelArgument::Kind::I32);
  EXPECT_EQ(arguments[4].kind, KernelArgument::Kind::F64);
}

TEST(Signature, CountsScratch) {
  test::VectorModule module(kernel("", R"(
    %a = memref.alloca() {alignment = 64 : i64} : memref<96x64xf32>
    %b = memref.alloca() : memref<10xvector<16xf32>>)"));
  Result<Signature> signature = extractSignature(*module);
  ASSERT_TRUE(signature) << signature.error().message();
  EXPECT_GE(signature->scratchBytes, 96 * 64 * 4 + 10 * 16 * 4);
  EXPECT_LE(signature->scratchBytes, 96 * 64 * 4 + 64 + 10 * 16 * 8);
}

TEST(Signature, RefusesWhatCannotBeLaunched) {
  EXPECT_THAT(errorOf("func.func @f(%i: index) { return }"), HasSubstr("no kernel"));
  EXPECT_THAT(errorOf(kernel("") + R"(
    func.func @g_items() -> index { %c = arith.constant 1 : index return %c : index }
    func.func @g(%i: index) { return })"),
              HasSubstr("two kernels, @f and @g"));
  EXPECT_THAT(errorOf(R"(
    func.func @f_items(%a: f32) -> index { %c = arith.constant 1 : index return %c : index }
    func.func @f(%i: index) { return })"),
              HasSubstr("@f must take the arguments of @f_items"));
  EXPECT_THAT(errorOf(kernel("%a: f32")), HasSubstr("argument 0 of @f has no name"));
  EXPECT_THAT(errorOf(kernel(R"(%a: f32 {attn.name = "x"}, %b: i32 {attn.name = "x"})")),
              HasSubstr("two arguments of @f are named 'x'"));
  EXPECT_THAT(errorOf(kernel(R"(%a: i16 {attn.name = "x"})")),
              HasSubstr("argument 'x' of @f has type i16"));
  EXPECT_THAT(errorOf(kernel(R"(%a: memref<4xi1> {attn.name = "x"})")),
              HasSubstr("has type memref<4xi1>"));
}

TEST(Signature, RefusesScratchThatNoStackHolds) {
  EXPECT_THAT(errorOf(kernel("", "%a = memref.alloca() : memref<1048577xf32>")),
              HasSubstr("4194304 bytes"));
  EXPECT_THAT(errorOf(kernel("", "%a = memref.alloca() : memref<4611686018427387904x8xf32>")),
              HasSubstr("4194304 bytes"));
  EXPECT_THAT(errorOf(kernel("", "%a = memref.alloca(%item) : memref<?xf32>")),
              HasSubstr("memref<?xf32>"));
}
