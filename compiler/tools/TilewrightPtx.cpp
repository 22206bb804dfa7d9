//===- TilewrightPtx.cpp - From a file of sm or nvvm to PTX or a cubin ----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/CollectDiagnostics.h"
#include "compiler/Pipelines/CpuPipeline.h"
#include "compiler/Pipelines/GpuPipeline.h"
#include "compiler/Pipelines/Register.h"
#include "compiler/Target/PTX/Assembler.h"
#include "compiler/Target/PTX/Codegen.h"
#include "compiler/Target/PTX/PtxKernel.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace tilewright;
namespace cl = llvm::cl;

namespace {
enum class Stage { LLVM, Ptx, Cubin, Kernels };

cl::OptionCategory category("tilewright-ptx");
cl::opt<std::string> input(cl::Positional, cl::desc("<file on the sm or nvvm stage>"),
                           cl::init("-"), cl::cat(category));
cl::opt<std::string> output("o", cl::desc("Where to write"), cl::init("-"), cl::cat(category));
cl::opt<Stage> stage(
    "emit", cl::desc("What to write"), cl::init(Stage::Ptx), cl::cat(category),
    cl::values(clEnumValN(Stage::LLVM, "llvm", "LLVM IR"), clEnumValN(Stage::Ptx, "ptx", "PTX"),
               clEnumValN(Stage::Cubin, "cubin", "what ptxas makes of it, if nothing was lost"),
               clEnumValN(Stage::Kernels, "kernels", "how to launch each kernel, in JSON")));
cl::opt<std::string> ptxas("ptxas", cl::desc("The assembler"), cl::cat(category));

Result<std::string> compile(mlir::ModuleOp module) {
  if (Status lowered = runPipeline(module, smToNVVMPipeline() + "," + nvvmToLLVMPipeline());
      !lowered)
    return lowered.error();
  Result<std::vector<PtxKernel>> kernels = kernelsOf(module);
  if (!kernels)
    return kernels.error();
  std::string text;
  if (stage == Stage::Kernels) {
    for (const PtxKernel &kernel : *kernels)
      text += toJson(kernel) + "\n";
    return text;
  }
  llvm::LLVMContext context;
  Result<std::unique_ptr<llvm::Module>> translated = ptx::translateToLLVM(module, context);
  if (!translated)
    return translated.error();
  if (stage == Stage::LLVM) {
    llvm::raw_string_ostream(text) << **translated;
    return text;
  }
  Result<std::string> ptx = ptx::emitPtx(**translated);
  if (!ptx || stage == Stage::Ptx)
    return ptx;
  Result<std::string> assembler = ptx::findPtxas(ptxas.getValue());
  if (!assembler)
    return assembler.error();
  Result<ptx::Assembled> assembled = ptx::assemble(*ptx, *assembler);
  if (!assembled)
    return assembled.error();
  const std::string name = kernels->empty() ? "(none)" : kernels->front().name;
  llvm::errs() << name << ": " << assembled->resources.registers << " registers at launch\n";
  if (Status passed = ptx::checkResources(name, assembled->resources); !passed)
    return passed.error();
  return assembled->cubin;
}
} // namespace

int main(int argc, char **argv) {
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv, "Tilewright's code generator for NVIDIA GPUs\n");
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::parseSourceFile<mlir::ModuleOp>(input.getValue(), &context);
  if (!module)
    return 1;
  Result<std::string> result = compile(*module);
  if (!result) {
    llvm::errs() << "error: " << result.error().message() << '\n';
    return 1;
  }
  std::error_code code;
  llvm::ToolOutputFile file(output, code, llvm::sys::fs::OF_None);
  if (code) {
    llvm::errs() << "error: " << output << ": " << code.message() << '\n';
    return 1;
  }
  file.os() << *result;
  file.keep();
  return 0;
}
