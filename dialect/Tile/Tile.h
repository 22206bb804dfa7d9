//===- Tile.h - The tile dialect --------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_DIALECT_TILE_TILE_H
#define TILEWRIGHT_DIALECT_TILE_TILE_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialect/Tile/TileDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialect/Tile/TileAttrs.h.inc"

#define GET_OP_CLASSES
#include "dialect/Tile/TileOps.h.inc"

namespace tilewright::tile {

/// The attribute of attn.forward that says how to cut it into tiles.
inline constexpr llvm::StringLiteral scheduleAttribute = "tile.schedule";

/// The attribute of a forall whose tiles have few rows: a CPU puts their columns on the lanes of
/// its vectors, and not their rows.
inline constexpr llvm::StringLiteral columnsOnLanesAttribute = "tile.columns_on_lanes";

/// Limits of a schedule's block sizes, for verifiers and for options.
inline constexpr int64_t maxBlockSize = 4096;

} // namespace tilewright::tile

#endif // TILEWRIGHT_DIALECT_TILE_TILE_H
