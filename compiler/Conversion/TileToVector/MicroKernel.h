//===- MicroKernel.h - The register-tiled product ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Both products of attention are one shape when queries lie on lanes:
//
//     result[n][query] = start[n][query] + sum over x of rhs(n, x) * lhs[x][query]
//
// S^T = K Q^T has n = key, x = column of K; O^T = V^T P^T has n = column of V, x = key. `lhs` is
// scratch with queries on lanes, `rhs` is read in place, one scalar at a time, and broadcast. A
// register tile is `rows` values of n by `vectors` vectors of queries: per step of x it loads
// `vectors` vectors, broadcasts `rows` scalars and does rows * vectors multiply-adds on
// accumulators that never leave the registers.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_CONVERSION_TILETOVECTOR_MICROKERNEL_H
#define TILEWRIGHT_COMPILER_CONVERSION_TILETOVECTOR_MICROKERNEL_H

#include "compiler/Conversion/TileToVector/VectorBuilder.h"

namespace tilewright {

/// A number of rows or steps: at most `limit`, and `count` of them if that is known at run time
/// only.
struct Extent {
  int64_t limit;
  mlir::Value count = nullptr;
  /// Where `count` is given, how many at the beginning nobody asks for, at most `count`; null for
  /// 0.
  mlir::Value begin = nullptr;
  /// Nobody asks for those from here on; null for `limit`.
  mlir::Value end = nullptr;
};

/// Rows of a tensor that will be read soon.
struct Stream {
  mlir::Value rows;  ///< rank-2 tensor in memory
  mlir::Value count; ///< of its rows
  int64_t ahead;     ///< its row that belongs to row 0 of the product
};

/// Asks for the row of a stream that belongs to row n of the product, in `parts`, of which this is
/// one.
void emitFetch(VectorBuilder &builder, const Stream &stream, mlir::Value n, mlir::Value part,
               int64_t parts);

struct Product {
  mlir::Value lhs;       ///< scratch [depth][queries] of `type`
  mlir::Value rhs;       ///< rank-2 tensor in memory, of `type` or narrower
  bool rhsIsRowsByDepth; ///< rhs(n, x) is rhs[n, x], otherwise rhs[x, n]
  Extent rows;           ///< rows from `count` up to `limit` get no products
  Extent depth;
  mlir::Type type; ///< f32 or f64
  /// What is fetched while the rows are computed, a row for each.
  llvm::SmallVector<Stream> streams = {};
};

/// The start of the accumulator of row n, vector j of the group.
using StartSum = llvm::function_ref<mlir::Value(mlir::Value n, int64_t j)>;
/// Takes the vectors of a finished row n and the carried values; returns the new carried values.
using FinishRow = llvm::function_ref<llvm::SmallVector<mlir::Value>(
    mlir::Value n, mlir::ValueRange sums, mlir::ValueRange carried)>;

/// Emits the product for one group of `vectors` vectors of queries from `lane` on.
llvm::SmallVector<mlir::Value> emitProduct(VectorBuilder &builder, const Product &product,
                                           mlir::Value lane, int64_t vectors, StartSum start,
                                           mlir::ValueRange carried, FinishRow finish);

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_CONVERSION_TILETOVECTOR_MICROKERNEL_H
