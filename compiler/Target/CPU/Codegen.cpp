//===- Codegen.cpp - Native code from the llvm dialect --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/CPU/Codegen.h"
#include "lib/Support/MakeError.h"

#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>
#include <mlir/IR/BuiltinOps.h>
#include <mlir/IR/Diagnostics.h>
#include <mlir/Target/LLVMIR/Export.h>

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

/// The code generator ends the process at an intrinsic of another architecture.
Status checkIntrinsics(const llvm::Module &module, const CpuTarget &target) {
  llvm::StringRef own = llvm::Triple(target.triple).isX86() ? "llvm.x86." : "llvm.aarch64.";
  for (const llvm::Function &function : module)
    if (llvm::Intrinsic::isTargetIntrinsic(function.getIntrinsicID()) &&
        !function.getName().starts_with(own))
      return invalidArgument("the code calls {}, which {} does not have", function.getName().str(),
                             target.cpu);
  return {};
}

Result<std::string> emit(llvm::Module &module, const CpuTarget &target,
                         llvm::CodeGenFileType fileType) {
  Result<std::unique_ptr<llvm::TargetMachine>> machine = createTargetMachine(target);
  if (!machine)
    return machine.error();
  std::string errors;
  std::unique_ptr<llvm::DiagnosticHandler> previous = module.getContext().getDiagnosticHandler();
  module.getContext().setDiagnosticHandler(std::make_unique<CollectErrors>(errors));
  llvm::SmallVector<char, 0> output;
  llvm::raw_svector_ostream stream(output);
  llvm::legacy::PassManager passes;
  bool cannotEmit = (*machine)->addPassesToEmitFile(passes, stream, nullptr, fileType);
  if (!cannotEmit)
    passes.run(module);
  module.getContext().setDiagnosticHandler(std::move(previous));
  if (cannotEmit)
    return internalError("LLVM cannot write files of this kind for {}", target.triple);
  if (!errors.empty())
    return internalError("LLVM could not generate code: {}", errors);
  return std::string(output.begin(), output.end());
}
} // namespace

Result<std::unique_ptr<llvm::TargetMachine>>
tilewright::createTargetMachine(const CpuTarget &target) {
  std::string message;
  llvm::Triple triple(target.triple);
  const llvm::Target *known = llvm::TargetRegistry::lookupTarget(triple, message);
  if (!known)
    return internalError("LLVM has no target for {}: {}", target.triple, message);
  return std::unique_ptr<llvm::TargetMachine>(
      known->createTargetMachine(triple, target.cpu, target.features, llvm::TargetOptions(),
                                 llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Default));
}

Result<std::unique_ptr<llvm::Module>> tilewright::translateToLLVM(mlir::ModuleOp module,
                                                                  const CpuTarget &target,
                                                                  llvm::LLVMContext &context) {
  Result<std::unique_ptr<llvm::TargetMachine>> machine = createTargetMachine(target);
  if (!machine)
    return machine.error();
  std::string problem;
  mlir::ScopedDiagnosticHandler handler(module.getContext(), [&](mlir::Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error && problem.empty())
      problem = diagnostic.str();
    return mlir::success();
  });
  std::unique_ptr<llvm::Module> translated =
      mlir::translateModuleToLLVMIR(module, context, "tilewright");
  if (!translated)
    return internalError("the llvm dialect could not be translated to LLVM IR: {}", problem);

  translated->setTargetTriple(llvm::Triple(target.triple));
  translated->setDataLayout((*machine)->createDataLayout());
  for (llvm::Function &function : *translated) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", target.cpu);
    if (!target.features.empty())
      function.addFnAttr("target-features", target.features);
    function.addFnAttr("frame-pointer", "all");
  }
  llvm::raw_string_ostream stream(problem);
  if (llvm::verifyModule(*translated, &stream))
    return internalError("the lowering gave invalid LLVM IR: {}", problem);
  if (Status checked = checkIntrinsics(*translated, target); !checked)
    return checked.error();
  return translated;
}

std::string tilewright::printLLVM(const llvm::Module &module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return text;
}

Result<std::string> tilewright::emitAssembly(llvm::Module &module, const CpuTarget &target) {
  return emit(module, target, llvm::CodeGenFileType::AssemblyFile);
}

Result<std::string> tilewright::emitObject(llvm::Module &module, const CpuTarget &target) {
  return emit(module, target, llvm::CodeGenFileType::ObjectFile);
}
