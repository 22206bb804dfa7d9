//===- LoadStore.h - Between memory and lanes -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Memory has a row a query, scratch a row a column: loads and stores of tiles transpose.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_CONVERSION_TILETOVECTOR_LOADSTORE_H
#define TILEWRIGHT_COMPILER_CONVERSION_TILETOVECTOR_LOADSTORE_H

#include "compiler/Conversion/TileToVector/Elementwise.h"
#include "compiler/Conversion/TileToVector/MicroKernel.h"

namespace tilewright {

/// Whether the rows of a tile at `indices` run over two dimensions of `tensor`.
bool isFolded(mlir::Value tensor, mlir::ValueRange indices, mlir::RankedTensorType tile);

/// The rows of `tensor` that a tile at `indices` covers and that exist.
View emitView(VectorBuilder &builder, mlir::Value tensor, mlir::ValueRange indices,
              mlir::RankedTensorType tile);

/// The indices of a view's row, and with those of an element of it.
llvm::SmallVector<mlir::Value> indicesOf(VectorBuilder &builder, const View &view, mlir::Value row);
llvm::SmallVector<mlir::Value> indicesWith(llvm::SmallVector<mlir::Value> row, mlir::Value column);

/// All rows of `tensor` from the last of `indices` on, at least one.
Stream emitStream(VectorBuilder &builder, mlir::Value tensor, mlir::ValueRange indices,
                  int64_t ahead);

/// Copies a view of f16 or bf16 rows to `buffer`, widened, as it lies.
View emitWidened(VectorBuilder &builder, View view, mlir::Value buffer);

/// Transposes lanes x lanes elements in registers.
llvm::SmallVector<mlir::Value> transpose(VectorBuilder &builder,
                                         llvm::SmallVector<mlir::Value> rows);

/// Copies a view into the home of a tile; queries that do not exist are 0. Groups of queries from
/// `used` on are left out.
void emitLoad(VectorBuilder &builder, View view, mlir::RankedTensorType tile, mlir::Value buffer,
              mlir::Value used = {});

/// Evaluates a tile and writes those of its rows that exist.
void emitStore(VectorBuilder &builder, const Homes &homes, const mlir::IRMapping &scalars,
               mlir::Value tile, View view);

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_CONVERSION_TILETOVECTOR_LOADSTORE_H
