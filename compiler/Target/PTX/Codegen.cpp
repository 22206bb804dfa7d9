//===- Codegen.cpp - PTX from the llvm dialect ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/PTX/Codegen.h"
#include "compiler/Target/Codegen.h"
#include "lib/Support/MakeError.h"

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>
#include <mlir/IR/BuiltinOps.h>

#include <mutex>

using namespace tilewright;

namespace {
Result<std::unique_ptr<llvm::TargetMachine>> createTargetMachine() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  std::string message;
  llvm::Triple triple("nvptx64-nvidia-cuda");
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, message);
  if (!target)
    return internalError("LLVM has no NVPTX target: {}", message);
  // Below this level accumulators are copied between products, and ptxas gives up on overlapping
  // them.
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, "sm_90a", "+ptx87", llvm::TargetOptions(), std::nullopt,
                                  std::nullopt, llvm::CodeGenOptLevel::Default));
}

/// Inline PTX with `.aligned` in it may not be moved into or out of divergent code.
void markConvergent(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction); call && call->isInlineAsm()) {
        call->setConvergent();
        call->setDoesNotThrow();
      }
}

Status simplify(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager callGraph;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(callGraph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, callGraph, modules);
  llvm::ModulePassManager passes;
  if (llvm::Error error = builder.parsePassPipeline(
          passes, "function(scalarizer,early-cse,instcombine<no-verify-fixpoint>,simplifycfg,"
                  "early-cse,loop-simplify,lcssa,loop-mssa(licm),instcombine<no-verify-fixpoint>,"
                  "simplifycfg)"))
    return internalError("LLVM's passes: {}", llvm::toString(std::move(error)));
  passes.run(module, modules);
  return {};
}
} // namespace

Result<std::unique_ptr<llvm::Module>> ptx::translateToLLVM(mlir::ModuleOp module,
                                                           llvm::LLVMContext &context) {
  Result<std::unique_ptr<llvm::TargetMachine>> machine = createTargetMachine();
  if (!machine)
    return machine.error();
  Result<std::unique_ptr<llvm::Module>> translated =
      tilewright::translateToLLVM(module, **machine, context);
  if (!translated)
    return translated;
  markConvergent(**translated);
  if (Status verified = verifyLLVM(**translated); !verified)
    return verified.error();
  if (Status simplified = simplify(**translated, **machine); !simplified)
    return simplified.error();
  return translated;
}

Result<std::string> ptx::emitPtx(llvm::Module &module) {
  Result<std::unique_ptr<llvm::TargetMachine>> machine = createTargetMachine();
  if (!machine)
    return machine.error();
  return emitCode(module, **machine, llvm::CodeGenFileType::AssemblyFile);
}
