//===- KernelDescription.h - How a kernel is launched -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lowering leaves what a launch needs in one attribute, #sm.launch. In PTX,
// which has no attributes, it stands in a comment, so that an edited file of PTX
// can still be launched.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TARGET_PTX_KERNELDESCRIPTION_H
#define TILEWRIGHT_COMPILER_TARGET_PTX_KERNELDESCRIPTION_H

#include "lib/Image/KernelImage.h"

#include "mlir/IR/BuiltinOps.h"

namespace tilewright::ptx {

struct KernelDescription {
  std::vector<KernelArgument> arguments;
  /// Without the registers, which the assembler tells.
  KernelLaunch launch;
};

/// The first line of PTX that was made of `module`, which is on the nvvm or llvm stage: a comment
/// with the name and the #sm.launch of its kernel, as a module that MLIR reads. Refused: no kernel
/// or several.
Result<std::string> describeInComment(mlir::ModuleOp module);

/// Reads what describeInComment() wrote in front of `ptx`. Refused: other files, an argument
/// without a name or of a type that no host tensor or scalar has.
Result<KernelDescription> readDescription(std::string_view ptx, mlir::MLIRContext &context);

} // namespace tilewright::ptx

#endif // TILEWRIGHT_COMPILER_TARGET_PTX_KERNELDESCRIPTION_H
