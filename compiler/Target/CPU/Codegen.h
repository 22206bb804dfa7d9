//===- Codegen.h - Native code from the llvm dialect ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// There is no LLVM mid-end: vector code that is explicit about registers runs at
// the same speed without it (docs/cpu.md), and compiles in half the time.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TARGET_CPU_CODEGEN_H
#define TILEWRIGHT_COMPILER_TARGET_CPU_CODEGEN_H

#include "compiler/Target/CPU/CpuTarget.h"

#include <tilewright/result.h>

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

/// A code generator for `target`: position independent, codegen level Default.
Result<std::unique_ptr<llvm::TargetMachine>> createTargetMachine(const CpuTarget &target);

/// LLVM IR for `module`, which is in the llvm dialect (compiler/Target/Codegen.h). Every function
/// is for `target` and keeps its frame pointer, so that profilers can walk the stack.
Result<std::unique_ptr<llvm::Module>>
translateToLLVM(mlir::ModuleOp module, const CpuTarget &target, llvm::LLVMContext &context);

/// What the stages asm and obj show. Both change `module`: each takes a fresh translation. An
/// object that would need a function of any library is refused, with the function's name.
Result<std::string> emitAssembly(llvm::Module &module, const CpuTarget &target);
Result<std::string> emitObject(llvm::Module &module, const CpuTarget &target);

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_TARGET_CPU_CODEGEN_H
