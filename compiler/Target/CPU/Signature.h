//===- Signature.h - What a kernel's functions take -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vector code has one pair of functions, `X_items(arguments...) -> index` and
// `X(arguments..., item)`. The signature is read from them before they are
// lowered: the llvm dialect no longer knows what a memref was.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TARGET_CPU_SIGNATURE_H
#define TILEWRIGHT_COMPILER_TARGET_CPU_SIGNATURE_H

#include "lib/Image/KernelArgument.h"

#include <tilewright/result.h>

#include <cstdint>
#include <string>
#include <vector>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace tilewright {

struct Signature {
  /// X, without "_items", and the functions of further phases, "X_2", "X_3", ...: a phase starts
  /// when all items of the one before are done.
  std::string function;
  int64_t phases = 1;
  /// Whether there is "X_workspace" and all X take temporary memory of so many bytes.
  bool hasWorkspace = false;
  /// Named by the attribute attn.name. An i8 memref is U8.
  std::vector<KernelArgument> arguments;
  /// Stack that one item uses for its tiles.
  int64_t scratchBytes = 0;
};

/// Refused: no such pair or several, functions that differ in their arguments, an argument without
/// a name or with one used twice, types that no host tensor or scalar has, scratch of a size known
/// only at run time or above 4 MiB.
Result<Signature> extractSignature(mlir::ModuleOp vectorModule);

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_TARGET_CPU_SIGNATURE_H
