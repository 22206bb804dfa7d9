//===- Codegen.h - PTX from the llvm dialect --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TARGET_PTX_CODEGEN_H
#define TILEWRIGHT_COMPILER_TARGET_PTX_CODEGEN_H

#include <tilewright/result.h>

#include <memory>
#include <string>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace tilewright::ptx {

/// LLVM IR for `module`, which is in the llvm dialect and whose context has what registerDialects
/// gives it: scalar code for sm_90a, light on passes because ptxas does the real work.
Result<std::unique_ptr<llvm::Module>> translateToLLVM(mlir::ModuleOp module,
                                                      llvm::LLVMContext &context);

/// PTX ISA 8.7 for sm_90a. Runs the code generator on `module` itself, which changes it.
Result<std::string> emitPtx(llvm::Module &module);

} // namespace tilewright::ptx

#endif // TILEWRIGHT_COMPILER_TARGET_PTX_CODEGEN_H
