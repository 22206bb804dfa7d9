//===- ParallelCodegenTest.cpp - Functions generated side by side ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/CPU/ParallelCodegen.h"
#include "VectorKernel.h"
#include "compiler/Target/CPU/Codegen.h"

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Object/ObjectFile.h>

#include <gmock/gmock.h>

using namespace tilewright;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

namespace {
Result<std::vector<std::string>> objectsOf(const char *code, std::vector<std::string> apart) {
  test::VectorModule module(code);
  const Result<CpuTarget> target = CpuTarget::host();
  llvm::LLVMContext context;
  auto translated = translateToLLVM(module.lower(), *target, context);
  if (!translated)
    return translated.error();
  return emitObjectsInParallel(**translated, apart, *target);
}

std::vector<std::string> functionsOf(const std::string &object) {
  auto file = llvm::cantFail(
      llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(object, "object")));
  std::vector<std::string> names;
  for (const llvm::object::SymbolRef &symbol : file->symbols())
    if (llvm::cantFail(symbol.getType()) == llvm::object::SymbolRef::ST_Function)
      names.push_back(llvm::cantFail(symbol.getName()).str());
  return names;
}

constexpr const char *code = R"(
  llvm.func @quarter(%x: f32) -> f32 {
    %y = llvm.call @half(%x) : (f32) -> f32
    %z = llvm.call @half(%y) : (f32) -> f32
    llvm.return %z : f32
  }
  llvm.func internal @half(%x: f32) -> f32 {
    %half = llvm.mlir.constant(0.5 : f32) : f32
    %y = llvm.fmul %x, %half : f32
    llvm.return %y : f32
  }
  llvm.func @first(%x: f32) -> f32 {
    %y = llvm.call @quarter(%x) : (f32) -> f32
    llvm.return %y : f32
  }
  llvm.func @second(%x: f32) -> f32 {
    llvm.return %x : f32
  }
  llvm.func @third(%x: f32) -> f32 {
    %y = llvm.call @half(%x) : (f32) -> f32
    llvm.return %y : f32
  })";
} // namespace

TEST(ParallelCodegen, EachFunctionHasWhatItUsesBesideIt) {
  const auto objects = objectsOf(code, {"first", "third"});
  ASSERT_TRUE(objects) << objects.error().message();
  ASSERT_EQ(objects->size(), 3U);
  EXPECT_THAT(functionsOf(objects->at(0)), UnorderedElementsAre("quarter", "half", "first"));
  EXPECT_THAT(functionsOf(objects->at(1)), UnorderedElementsAre("half", "third"));
  EXPECT_THAT(functionsOf(objects->at(2)), UnorderedElementsAre("quarter", "half", "second"));
}

TEST(ParallelCodegen, GivesTheSameEachTime) {
  EXPECT_EQ(*objectsOf(code, {"first", "third"}), *objectsOf(code, {"first", "third"}));
}

TEST(ParallelCodegen, RefusesFunctionsThatNeedALibrary) {
  const auto objects = objectsOf(R"(
    llvm.func @missing(f32) -> f32
    llvm.func @first(%x: f32) -> f32 {
      %y = llvm.call @missing(%x) : (f32) -> f32
      llvm.return %y : f32
    })",
                                 {"first"});
  ASSERT_FALSE(objects);
  EXPECT_THAT(objects.error().message(), HasSubstr("the code calls the function missing"));
}
