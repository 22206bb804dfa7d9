//===- ColumnTiles.h - Tiles with columns on lanes --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile of rows x columns rests as it lies in memory, [row][column], each row padded to whole
// vectors; one value a row is a scalar. Everything runs over rows first, and over those only that
// are stored in the end, so that a lone query costs what one query costs. What is the same for all
// columns of a row is a scalar, made once for the row. Only the softmax's maxima and sums go across
// lanes, once for each row of a block.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_CONVERSION_TILETOVECTOR_COLUMNTILES_H
#define TILEWRIGHT_COMPILER_CONVERSION_TILETOVECTOR_COLUMNTILES_H

#include "compiler/Conversion/TileToVector/Elementwise.h"
#include "compiler/Conversion/TileToVector/LoadStore.h"

namespace tilewright {

/// Copies a view into the home of a tile, widened; rows and columns that do not exist are 0.
void emitColumnLoad(VectorBuilder &builder, const Homes &homes, View view,
                    mlir::RankedTensorType tile, mlir::Value buffer);

/// Evaluates a tile and writes those of its rows that exist.
void emitColumnStore(VectorBuilder &builder, const Homes &homes, const mlir::IRMapping &scalars,
                     mlir::Value tile, View view);

/// Evaluates `tile` into `buffer`.
void emitColumnsInto(VectorBuilder &builder, const Homes &homes, const mlir::IRMapping &scalars,
                     mlir::Value tile, mlir::Value buffer);

/// Emits one step of the recurrence, with a running maximum as reference, into the homes of its
/// results: scores and their maximum, then weights and their sum.
void emitColumnSoftmaxStep(VectorBuilder &builder, tile::SoftmaxStepOp step, const Homes &homes,
                           const mlir::IRMapping &scalars);

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_CONVERSION_TILETOVECTOR_COLUMNTILES_H
