//===- CpuKernel.h - Kernels that run on this machine's processor -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TARGET_CPU_CPUKERNEL_H
#define TILEWRIGHT_COMPILER_TARGET_CPU_CPUKERNEL_H

#include "compiler/Target/CPU/CpuTarget.h"
#include "compiler/Target/CPU/Signature.h"
#include "lib/Expression/Expression.h"

#include <tilewright/runtime.h>

#include <vector>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace tilewright {

/// What is known of a kernel's expressions, for the checks of a launch: that no index leaves its
/// tensor and no integer its 32 bits (lib/Expression/Bounds.h). Empty for a kernel compiled from
/// the tile stage or below, whose author answers for it.
struct LaunchExpressions {
  expression::Declarations declarations;
  std::vector<expression::Expression> scores, masks;
};

/// Code in memory for `llvmModule`, which is in the llvm dialect and was lowered from vector code
/// of this signature with the attribute llvm.emit_c_interface on its functions. Debuggers learn the
/// symbols at once; perf does if JITDUMPDIR is set in the environment, which is where LLVM then
/// writes what `perf inject --jit` reads.
///
/// Refused: a target that is not this machine.
Result<Kernel> makeCpuKernel(mlir::ModuleOp llvmModule, const CpuTarget &target,
                             Signature signature, LaunchExpressions expressions = {});

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_TARGET_CPU_CPUKERNEL_H
