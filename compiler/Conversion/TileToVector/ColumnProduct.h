//===- ColumnProduct.h - Products with columns on lanes ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With few rows a vector of queries is mostly empty, and each element of a key or value costs an
// instruction. Here the columns of a tile lie on the lanes instead, so that rows of keys and values
// are read a vector at a time, f16 and bf16 widened on the way:
//
//     scores   sum over x of key[n][x..] * query[row][x..]: a vector of sums for each key, reduced
//              for a vector of keys together
//     outputs  sum over n of value[n][x..] * weight[row][n], broadcast
//
// A register tile takes two rows, so that what is read from memory serves both.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_CONVERSION_TILETOVECTOR_COLUMNPRODUCT_H
#define TILEWRIGHT_COMPILER_CONVERSION_TILETOVECTOR_COLUMNPRODUCT_H

#include "compiler/Conversion/TileToVector/MicroKernel.h"

namespace tilewright {

/// The start of the accumulators of a row, from a column on.
using StartRow = llvm::function_ref<mlir::Value(mlir::Value row, mlir::Value column)>;

/// Whether the product reads a copy of its left-hand side, because the other comes as even columns
/// and odd columns.
bool needsSplitQueries(const Product &product);

/// Emits the product for rows 0 to `rows` of a tile that has `tileRows` of them. `product.lhs` and
/// `result` are scratch [row][column], the columns padded to whole vectors; those that do not exist
/// get no more than the start. `splitQueries` is scratch like `product.lhs` for the copy, if one is
/// needed.
void emitColumnProduct(VectorBuilder &builder, Product product, mlir::Value rows, int64_t tileRows,
                       StartRow start, mlir::Value result, mlir::Value splitQueries);

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_CONVERSION_TILETOVECTOR_COLUMNPRODUCT_H
