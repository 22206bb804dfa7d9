//===- TileProgram.h - The walk over a tile program -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_CONVERSION_TILETOVECTOR_TILEPROGRAM_H
#define TILEWRIGHT_COMPILER_CONVERSION_TILETOVECTOR_TILEPROGRAM_H

#include "compiler/Conversion/TileToVector/AmxProgram.h"
#include "compiler/Conversion/TileToVector/LoadStore.h"

namespace tilewright {

/// Whether an op is one of docs/tile.md's grammar; if not, says so at the op.
mlir::LogicalResult verifyTileOp(mlir::Operation *op);

/// Whether every op of the body of a tile program is, and no tensor is both read and written.
mlir::LogicalResult verifyTileProgram(mlir::Block &program);

/// Emits the vector code of one item of a tile program. `scalars` maps what the body uses from
/// outside, its induction variables included. `amx`, if given, has the loops that run on AMX.
/// Returns the bytes of scratch.
mlir::FailureOr<uint64_t> emitTileProgram(VectorBuilder &builder, mlir::Block &program,
                                          mlir::IRMapping &scalars, const AmxProgram *amx);

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_CONVERSION_TILETOVECTOR_TILEPROGRAM_H
