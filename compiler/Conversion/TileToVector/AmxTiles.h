//===- AmxTiles.h - Products on AMX and the layouts that feed them -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An AMX product is C += A B of tile registers: C is 16 x 16 f32, A 16 rows of 32 bf16, and B
// 16 rows of 16 pairs of bf16, a pair being two successive elements of the depth. With queries on
// lanes, S^T = K Q^T and O^T = V^T P^T: A is keys as they lie, or values transposed, and B is
// queries or weights, which rest in *paired tiles*: the tile of depth 32 k to 32 k + 31 and of
// queries 16 j to 16 j + 15 is the 16 rows from (k J + j) * 16 on of a memref<?x32xbf16>, J being
// the number of tiles that the queries fill.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_CONVERSION_TILETOVECTOR_AMXTILES_H
#define TILEWRIGHT_COMPILER_CONVERSION_TILETOVECTOR_AMXTILES_H

#include "compiler/Conversion/TileToVector/AmxProgram.h"
#include "compiler/Conversion/TileToVector/LoadStore.h"

namespace tilewright {

/// Scratch for `depth` x `queries` elements in paired tiles.
mlir::MemRefType pairedType(VectorBuilder &builder, int64_t depth, int64_t queries);

/// Two f32 of each lane as pairs of bf16 in the lanes of an i32 vector. The bits below those of a
/// bf16 are dropped: who wants rounding rounds before.
mlir::Value pair(VectorBuilder &builder, mlir::Value first, mlir::Value second);

/// Copies f32 scratch [depth][queries] whose elements are bf16 to paired tiles; rows of it from
/// `depth` on are zero.
void emitPairedTiles(VectorBuilder &builder, mlir::Value buffer, int64_t depth, mlir::Value paired);

/// The row and the column in memory where the A tile starts that has row tile `i` and depth tile
/// `k` of a product.
using TilePosition =
    llvm::function_ref<std::pair<mlir::Value, mlir::Value>(mlir::Value i, int64_t k)>;

/// A product of `rows` x `depth` tiles, read from memory at `position`, with paired tiles, `pitch`
/// of which have the same depth, into scratch [rows * 16][columns * 16] of f32: added to what is
/// there, or in its place.
struct TileProduct {
  mlir::Value a, b, c;
  int64_t rows, columns, depth, pitch;
  bool accumulates;
};
void emitTileProduct(VectorBuilder &builder, const TileProduct &product, TilePosition position);

/// Packs the keys and values of one block.
/// `position` is its batch, head and number.
void emitPacking(VectorBuilder &builder, const AmxProgram &program, const mlir::IRMapping &scalars,
                 mlir::ValueRange position);

/// The packed block at `position`, as rows.
mlir::Value packedBlock(VectorBuilder &builder, mlir::Value packed, mlir::ValueRange position);

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_CONVERSION_TILETOVECTOR_AMXTILES_H
