//===- Codegen.cpp - PTX from the llvm dialect ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/PTX/Codegen.h"
#include "compiler/Frontend/CollectDiagnostics.h"
#include "lib/Support/MakeError.h"

#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>
#include <mlir/IR/BuiltinOps.h>
#include <mlir/Target/LLVMIR/Export.h>

#include <mutex>

using namespace tilewright;

namespace {
/// Keeps LLVM's errors, which by default end the process, as text.
struct CollectErrors : llvm::DiagnosticHandler {
  explicit CollectErrors(std::string &errors) : errors(errors) {}

  bool handleDiagnostics(const llvm::DiagnosticInfo &diagnostic) override {
    if (diagnostic.getSeverity() == llvm::DS_Error && errors.empty()) {
      llvm::raw_string_ostream stream(errors);
      llvm::DiagnosticPrinterRawOStream printer(stream);
      diagnostic.print(printer);
    }
    return true;
  }

  std::string &errors;
};

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
  CollectDiagnostics diagnostics(*module.getContext());
  std::unique_ptr<llvm::Module> translated =
      mlir::translateModuleToLLVMIR(module, context, "tilewright");
  if (!translated)
    return internalError("the llvm dialect could not be translated to LLVM IR: {}",
                         diagnostics.message("unknown reason"));
  translated->setTargetTriple(llvm::Triple("nvptx64-nvidia-cuda"));
  translated->setDataLayout((*machine)->createDataLayout());
  markConvergent(*translated);
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (llvm::verifyModule(*translated, &stream))
    return internalError("the lowering gave invalid LLVM IR: {}", problem);
  if (Status simplified = simplify(*translated, **machine); !simplified)
    return simplified.error();
  return translated;
}

Result<std::string> ptx::emitPtx(llvm::Module &module) {
  Result<std::unique_ptr<llvm::TargetMachine>> machine = createTargetMachine();
  if (!machine)
    return machine.error();
  std::string errors;
  std::unique_ptr<llvm::DiagnosticHandler> previous = module.getContext().getDiagnosticHandler();
  module.getContext().setDiagnosticHandler(std::make_unique<CollectErrors>(errors));
  llvm::SmallVector<char, 0> output;
  llvm::raw_svector_ostream stream(output);
  llvm::legacy::PassManager passes;
  const bool cannotEmit =
      (*machine)->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile);
  if (!cannotEmit)
    passes.run(module);
  module.getContext().setDiagnosticHandler(std::move(previous));
  if (cannotEmit)
    return internalError("LLVM cannot write PTX");
  if (!errors.empty())
    return internalError("LLVM could not generate PTX: {}", errors);
  return std::string(output.begin(), output.end());
}
