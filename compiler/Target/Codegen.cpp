//===- Codegen.cpp - From the llvm dialect through LLVM -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/Codegen.h"
#include "compiler/Frontend/CollectDiagnostics.h"
#include "dialect/Attn/Attn.h"
#include "lib/Support/MakeError.h"

#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <mlir/IR/BuiltinOps.h>
#include <mlir/Interfaces/FunctionInterfaces.h>
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

/// Takes the names of arguments off. LLVM has none such, and the translation would warn of each
/// with the text of the whole module.
void removeArgumentNames(mlir::ModuleOp module) {
  module.walk([](mlir::FunctionOpInterface function) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      function.removeArgAttr(i, attn::nameAttribute);
  });
}
} // namespace

Result<std::unique_ptr<llvm::Module>> tilewright::translateToLLVM(mlir::ModuleOp module,
                                                                  llvm::TargetMachine &machine,
                                                                  llvm::LLVMContext &context) {
  removeArgumentNames(module);
  CollectDiagnostics diagnostics(*module.getContext());
  std::unique_ptr<llvm::Module> translated =
      mlir::translateModuleToLLVMIR(module, context, "tilewright");
  if (!translated)
    return internalError("the llvm dialect could not be translated to LLVM IR: {}",
                         diagnostics.message("unknown reason"));
  translated->setTargetTriple(machine.getTargetTriple());
  translated->setDataLayout(machine.createDataLayout());
  return translated;
}

Status tilewright::verifyLLVM(const llvm::Module &module) {
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (llvm::verifyModule(module, &stream))
    return internalError("the lowering gave invalid LLVM IR: {}", problem);
  return {};
}

std::string tilewright::printLLVM(const llvm::Module &module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return text;
}

Result<std::string> tilewright::emitCode(llvm::Module &module, llvm::TargetMachine &machine,
                                         llvm::CodeGenFileType fileType) {
  std::string errors;
  std::unique_ptr<llvm::DiagnosticHandler> previous = module.getContext().getDiagnosticHandler();
  module.getContext().setDiagnosticHandler(std::make_unique<CollectErrors>(errors));
  llvm::SmallVector<char, 0> output;
  llvm::raw_svector_ostream stream(output);
  llvm::legacy::PassManager passes;
  const bool cannotEmit = machine.addPassesToEmitFile(passes, stream, nullptr, fileType);
  if (!cannotEmit)
    passes.run(module);
  module.getContext().setDiagnosticHandler(std::move(previous));
  if (cannotEmit)
    return internalError("LLVM cannot write files of this kind for {}",
                         machine.getTargetTriple().str());
  if (!errors.empty())
    return internalError("LLVM could not generate code: {}", errors);
  return std::string(output.begin(), output.end());
}
