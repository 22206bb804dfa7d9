//===- Implementation.cpp - One stage after the other ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Driver/Implementation.h"

#include "compiler/Frontend/ParseModule.h"
#include "compiler/Frontend/PrintModule.h"
#include "compiler/Pipelines/CpuPipeline.h"
#include "compiler/Pipelines/Register.h"
#include "compiler/Target/CPU/Codegen.h"
#include "compiler/Target/CPU/CpuKernel.h"
#include "compiler/Target/CPU/Signature.h"
#include "lib/Support/MakeError.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/Remarks.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

using namespace mlir;
using namespace tilewright;

namespace {
/// Keeps remarks as data.
struct CollectRemarks : remark::detail::MLIRRemarkStreamerBase {
  explicit CollectRemarks(std::vector<Remark> &remarks) : remarks(remarks) {}

  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    std::string message;
    for (const remark::detail::Remark::Arg &argument : remark.getArgs()) {
      if (!message.empty())
        message += "; ";
      // "Remark" is what the engine calls plain text.
      if (argument.key != "Remark")
        message += argument.key + ": ";
      message += argument.val;
    }
    remarks.push_back({.pass = remark.getCategoryName().str(), .message = std::move(message)});
  }

  std::vector<Remark> &remarks;
};
} // namespace

static DialectRegistry allDialects() {
  DialectRegistry registry;
  registerDialects(registry);
  return registry;
}

Compilation::Implementation::Implementation(CpuTarget target, Stage from)
    : context(allDialects(), MLIRContext::Threading::DISABLED), target(std::move(target)),
      from(from) {
  const std::string every = ".*";
  const remark::RemarkCategories categories{every, every, every, every, every};
  [[maybe_unused]] const LogicalResult enabled = remark::enableOptimizationRemarks(
      context, std::make_unique<CollectRemarks>(collected),
      std::make_unique<remark::RemarkEmittingPolicyAll>(), categories);
  assert(succeeded(enabled) && "a streamer of our own cannot fail to open");
}

void Compilation::Implementation::setFirstText(std::string text) {
  texts.emplace(from, std::move(text));
}

Result<std::string> Compilation::Implementation::text(Stage stage) {
  const std::lock_guard lock(mutex);
  return memoized(stage);
}

Result<Kernel> Compilation::Implementation::kernel() {
  const std::lock_guard lock(mutex);
  if (!compiled)
    compiled = computeKernel();
  return *compiled;
}

std::vector<Remark> Compilation::Implementation::remarks() {
  const std::lock_guard lock(mutex);
  return collected;
}

std::string Compilation::Implementation::pipeline() const {
  std::string passes = vectorToLLVMPipeline();
  if (from <= Stage::Tile)
    passes = tileToVectorPipeline(target) + "," + passes;
  if (from <= Stage::Attn)
    passes = attnToTilePipeline(*schedule, target.lanes) + "," + passes;
  return "builtin.module(" + passes + ")";
}

Result<std::string> Compilation::Implementation::memoized(Stage stage) {
  if (stage < from)
    return invalidArgument("there is no stage {}: the compilation starts at {}, which comes later",
                           nameOf(stage), nameOf(from));
  const auto found = texts.find(stage);
  if (found != texts.end())
    return found->second;
  return texts.emplace(stage, compute(stage)).first->second;
}

Result<std::string> Compilation::Implementation::compute(Stage stage) {
  switch (stage) {
  case Stage::Attn:
    break;
  case Stage::Tile:
    return lowerText(Stage::Attn, attnToTilePipeline(*schedule, target.lanes));
  case Stage::Vector:
    return lowerText(Stage::Tile, tileToVectorPipeline(target));
  case Stage::LLVM:
  case Stage::Asm:
  case Stage::Object:
    return computeCode(stage);
  }
  return internalError("stage {} cannot be computed", static_cast<int>(stage));
}

Result<std::string> Compilation::Implementation::lowerText(Stage before, std::string_view passes) {
  Result<std::string> source = memoized(before);
  if (!source)
    return source.error();
  Result<OwningOpRef<ModuleOp>> module = parseModule(*source, context);
  if (!module)
    return module.error().within(nameOf(before));
  if (Status status = runPipeline(**module, passes); !status)
    return status.error();
  return printModule(**module);
}

Result<ModuleOp> Compilation::Implementation::llvmModule() {
  const auto lower = [&]() -> Result<OwningOpRef<ModuleOp>> {
    Result<std::string> source = memoized(Stage::Vector);
    if (!source)
      return source.error();
    Result<OwningOpRef<ModuleOp>> module = parseModule(*source, context);
    if (!module)
      return module.error().within(nameOf(Stage::Vector));
    if (Status status = runPipeline(**module, vectorToLLVMPipeline()); !status)
      return status.error();
    return module;
  };
  if (!lowered)
    lowered.emplace(lower());
  if (!*lowered)
    return lowered->error();
  return lowered->value().get();
}

/// Generating code changes the module that it is given, so each stage translates anew.
Result<std::string> Compilation::Implementation::computeCode(Stage stage) {
  Result<ModuleOp> module = llvmModule();
  if (!module)
    return module.error();
  llvm::LLVMContext llvmContext;
  Result<std::unique_ptr<llvm::Module>> translated = translateToLLVM(*module, target, llvmContext);
  if (!translated)
    return translated.error();
  if (stage == Stage::LLVM)
    return printLLVM(**translated);
  if (stage == Stage::Asm)
    return emitAssembly(**translated, target);
  return emitObject(**translated, target);
}

Result<Kernel> Compilation::Implementation::computeKernel() {
  if (!target.isHost)
    return unsupported("the code is for {}, which this machine cannot run", target.cpu);
  Result<std::string> source = memoized(Stage::Vector);
  if (!source)
    return source.error();
  Result<OwningOpRef<ModuleOp>> vectorModule = parseModule(*source, context);
  if (!vectorModule)
    return vectorModule.error().within(nameOf(Stage::Vector));
  Result<Signature> signature = extractSignature(**vectorModule);
  if (!signature)
    return signature.error();
  Result<ModuleOp> module = llvmModule();
  if (!module)
    return module.error();
  LaunchExpressions expressions;
  if (problem)
    expressions = {problem->declarations, problem->scores, problem->masks};
  return makeCpuKernel(*module, target, *std::move(signature), std::move(expressions));
}
