//===- CpuKernel.h - Kernels that run on this machine's processor -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TARGET_CPU_CPUKERNEL_H
#define TILEWRIGHT_COMPILER_TARGET_CPU_CPUKERNEL_H

#include "compiler/Target/CPU/CpuTarget.h"
#include "compiler/Target/CPU/Signature.h"
#include "lib/Image/KernelImage.h"

#include <tilewright/runtime.h>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace tilewright {

/// Code in memory for `llvmModule`, which is in the llvm dialect and was lowered from vector code
/// of this signature. Debuggers learn the symbols at once; perf does if JITDUMPDIR is set in the
/// environment, which is where LLVM then writes what `perf inject --jit` reads.
///
/// Refused: a target that is not this machine, more than maxArguments arguments.
Result<Kernel> makeCpuKernel(mlir::ModuleOp llvmModule, const CpuTarget &target,
                             Signature signature, LaunchExpressions expressions = {});

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_TARGET_CPU_CPUKERNEL_H
