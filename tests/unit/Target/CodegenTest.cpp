//===- CodegenTest.cpp ----------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/CPU/Codegen.h"
#include "VectorKernel.h"
#include "compiler/Target/Codegen.h"

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <fmt/format.h>
#include <gmock/gmock.h>

using namespace tilewright;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

namespace {
std::string multiplyAdd(unsigned lanes) {
  return fmt::format(R"(
    func.func @multiply_add(%a: vector<{0}xf32>, %b: vector<{0}xf32>, %to: memref<{0}xf32>) {{
      %c0 = arith.constant 0 : index
      %c = vector.load %to[%c0] : memref<{0}xf32>, vector<{0}xf32>
      %r = vector.fma %a, %b, %c : vector<{0}xf32>
      vector.store %r, %to[%c0] : memref<{0}xf32>, vector<{0}xf32>
      return
    }})",
                     lanes);
}

std::string assembly(const char *cpu, const std::string &text) {
  Result<CpuTarget> target = CpuTarget::named(cpu);
  EXPECT_TRUE(target) << target.error().message();
  test::VectorModule module(text);
  llvm::LLVMContext context;
  auto translated = translateToLLVM(module.lower(), *target, context);
  EXPECT_TRUE(translated) << translated.error().message();
  Result<std::string> text2 = emitAssembly(**translated, *target);
  EXPECT_TRUE(text2) << text2.error().message();
  return *text2;
}
} // namespace

TEST(Codegen, Sapphirerapids) {
  EXPECT_THAT(assembly("sapphirerapids", multiplyAdd(16)), HasSubstr("%zmm"));
}

TEST(Codegen, Haswell) {
  std::string text = assembly("haswell", multiplyAdd(8));
  EXPECT_THAT(text, HasSubstr("vfmadd"));
  EXPECT_THAT(text, HasSubstr("%ymm"));
  EXPECT_THAT(text, Not(HasSubstr("%zmm")));
}

TEST(Codegen, PlainX86HasFourLanes) {
  std::string text = assembly("x86-64", R"(
    func.func @scale(%a: vector<4xf32>, %to: memref<4xf32>) {
      %c0 = arith.constant 0 : index
      %r = arith.mulf %a, %a : vector<4xf32>
      vector.store %r, %to[%c0] : memref<4xf32>, vector<4xf32>
      return
    })");
  EXPECT_THAT(text, HasSubstr("mulps"));
  EXPECT_THAT(text, Not(HasSubstr("%ymm")));
}

TEST(Codegen, Neoverse) {
  EXPECT_THAT(assembly("neoverse-v1", multiplyAdd(4)), HasSubstr("fmla\tv"));
}

TEST(Codegen, KeepsNamesAndFramePointers) {
  std::string text = assembly("haswell", multiplyAdd(8));
  EXPECT_THAT(text, HasSubstr("multiply_add:"));
  EXPECT_THAT(text, HasSubstr("movq\t%rsp, %rbp"));
}

TEST(Codegen, EveryFunctionIsForTheTarget) {
  test::VectorModule module(multiplyAdd(8));
  Result<CpuTarget> target = CpuTarget::named("haswell");
  llvm::LLVMContext context;
  auto translated = translateToLLVM(module.lower(), *target, context);
  ASSERT_TRUE(translated) << translated.error().message();
  std::string text = printLLVM(**translated);
  EXPECT_THAT(text, HasSubstr("\"target-cpu\"=\"haswell\""));
  EXPECT_THAT(text, HasSubstr("target triple = \"x86_64-"));
  EXPECT_THAT(text, HasSubstr("target datalayout = "));
}

TEST(Codegen, ObjectIsAnElfFileAndRepeats) {
  auto object = [] {
    test::VectorModule module(multiplyAdd(8));
    Result<CpuTarget> target = CpuTarget::named("haswell");
    llvm::LLVMContext context;
    auto translated = translateToLLVM(module.lower(), *target, context);
    EXPECT_TRUE(translated) << translated.error().message();
    return *emitObject(**translated, *target);
  };
  std::string first = object();
  EXPECT_THAT(first, StartsWith("\177ELF"));
  EXPECT_EQ(first, object());
}

TEST(Codegen, RefusesIntrinsicsThatTheProcessorDoesNotHave) {
  const auto refusal = [](const char *code, const char *cpu) {
    test::VectorModule module(code);
    Result<CpuTarget> target = CpuTarget::named(cpu);
    llvm::LLVMContext context;
    auto translated = translateToLLVM(module.lower(), *target, context);
    return translated ? "" : translated.error().message();
  };
  const char *power = R"(
    llvm.func @power(%x: vector<16xf32>, %mask: i16) -> vector<16xf32> {
      %rounding = llvm.mlir.constant(4 : i32) : i32
      %y = llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"(%x, %x, %x, %mask, %rounding)
          : (vector<16xf32>, vector<16xf32>, vector<16xf32>, i16, i32) -> vector<16xf32>
      llvm.return %y : vector<16xf32>
    })";
  EXPECT_EQ(refusal(power, "skylake-avx512"), "");
  EXPECT_EQ(refusal(power, "haswell"),
            "the code calls llvm.x86.avx512.mask.scalef.ps.512, which haswell does not have");
  const char *wait = R"(
    llvm.func @wait() {
      llvm.call_intrinsic "llvm.x86.sse2.pause"() : () -> ()
      llvm.return
    })";
  for (const char *cpu : {"neoverse-v1", "haswell"})
    EXPECT_EQ(refusal(wait, cpu),
              "the code calls llvm.x86.sse2.pause, which is no instruction that kernels use");
}

TEST(Codegen, BadInlineAssemblyIsAnError) {
  test::VectorModule module(R"(
    llvm.func @bad() {
      llvm.inline_asm has_side_effects "no_such_instruction", "" : () -> ()
      llvm.return
    })");
  Result<CpuTarget> target = CpuTarget::named("haswell");
  llvm::LLVMContext context;
  auto translated = translateToLLVM(module.lower(), *target, context);
  ASSERT_TRUE(translated) << translated.error().message();
  Result<std::string> object = emitObject(**translated, *target);
  ASSERT_FALSE(object);
  EXPECT_THAT(object.error().message(), HasSubstr("no_such_instruction"));
}
