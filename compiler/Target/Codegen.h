//===- Codegen.h - From the llvm dialect through LLVM -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What code generation is for every target; each has a folder here with the rest.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TARGET_CODEGEN_H
#define TILEWRIGHT_COMPILER_TARGET_CODEGEN_H

#include <tilewright/result.h>

#include "llvm/Support/CodeGen.h"

#include <memory>
#include <string>

namespace llvm {
class LLVMContext;
class Module;
class TargetMachine;
} // namespace llvm

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace tilewright {

/// LLVM IR for `module`, which is in the llvm dialect and whose context has what registerDialects
/// gives it (compiler/Pipelines/Register.h), with the machine's triple and data layout.
Result<std::unique_ptr<llvm::Module>>
translateToLLVM(mlir::ModuleOp module, llvm::TargetMachine &machine, llvm::LLVMContext &context);

/// Refused: IR that LLVM's verifier rejects, which is our fault.
Status verifyLLVM(const llvm::Module &module);

/// LLVM IR as text.
std::string printLLVM(const llvm::Module &module);

/// Runs the code generator on `module` itself, which changes it: whoever wants two kinds of code
/// translates twice.
Result<std::string> emitCode(llvm::Module &module, llvm::TargetMachine &machine,
                             llvm::CodeGenFileType fileType);

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_TARGET_CODEGEN_H
