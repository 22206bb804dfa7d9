//===- Passes.h - Transformations within a dialect --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TRANSFORMS_PASSES_H
#define TILEWRIGHT_COMPILER_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace tilewright {

#define GEN_PASS_DECL
#include "compiler/Transforms/Passes.h.inc"

/// What sm-verify-protocol does: errors are reported at the op that breaks the protocol.
mlir::LogicalResult verifyProtocol(mlir::Operation *module);

#define GEN_PASS_REGISTRATION
#include "compiler/Transforms/Passes.h.inc"

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_TRANSFORMS_PASSES_H
