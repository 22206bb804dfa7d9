//===- MicroKernel.cpp - The register-tiled product -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/TileToVector/MicroKernel.h"

using namespace mlir;
using namespace tilewright;

namespace {
/// Emits the register tiles of one group of queries.
struct RegisterTile {
  VectorBuilder &b;
  const Product &product;
  Value lane;
  int64_t vectors;
  StartSum start;
  FinishRow finish;

  /// One step of the depth for rows n[0], n[1], ...
  SmallVector<Value> step(ArrayRef<Value> n, Value x, ValueRange sums) {
    SmallVector<Value> result, lhs;
    for (int64_t j = 0; j < vectors; ++j)
      lhs.push_back(b.load(product.lhs, x, b.offset(lane, j * b.shape.lanes)));
    for (auto [r, row] : llvm::enumerate(n)) {
      Value scalar = memref::LoadOp::create(
          b, product.rhs, product.rhsIsRowsByDepth ? ValueRange{row, x} : ValueRange{x, row});
      Value factor = b.broadcast(b.widen(scalar, product.type));
      for (int64_t j = 0; j < vectors; ++j)
        result.push_back(b.multiplyAdd(factor, lhs[j], sums[r * vectors + j]));
    }
    return result;
  }

  SmallVector<Value> sumOverDepth(ArrayRef<Value> n, SmallVector<Value> sums) {
    const auto one = [&](Value x, ValueRange carried) { return step(n, x, carried); };
    // Two steps an iteration halve the loop's own instructions; more gain nothing.
    const auto two = [&](Value x, ValueRange carried) {
      SmallVector<Value> half = step(n, x, carried);
      return step(n, b.offset(x, 1), half);
    };
    if (Value count = product.depth.count) {
      Value even = arith::AndIOp::create(b, count, b.index(-2));
      sums = b.loop(b.index(0), even, 2, sums, two);
      return b.loop(even, count, 1, sums, one);
    }
    const int64_t even = product.depth.limit / 2 * 2;
    if (even > 0)
      sums = b.loop(b.index(0), b.index(even), 2, sums, two);
    return even < product.depth.limit ? one(b.index(even), sums) : sums;
  }

  /// The tile of `rows` rows from `first` on; without products where `isEmpty`.
  SmallVector<Value> tile(int64_t rows, Value first, ValueRange carried, bool isEmpty = false) {
    SmallVector<Value> n, sums;
    for (int64_t r = 0; r < rows; ++r)
      n.push_back(b.offset(first, r));
    for (Value row : n)
      for (int64_t j = 0; j < vectors; ++j)
        sums.push_back(start(row, j));
    if (!isEmpty)
      sums = sumOverDepth(n, sums);
    SmallVector<Value> result = llvm::to_vector(carried);
    for (auto [r, row] : llvm::enumerate(n))
      result = finish(row, ValueRange(sums).slice(r * vectors, vectors), result);
    return result;
  }

  SmallVector<Value> allRows(ValueRange carried) {
    const auto [limit, count] = product.rows;
    const int64_t rows = b.shape.rows;
    SmallVector<Value> result = llvm::to_vector(carried);
    const auto whole = [&](Value n, ValueRange carried) { return tile(rows, n, carried); };
    if (!count) {
      const int64_t main = limit / rows * rows;
      if (main > 0)
        result = b.loop(b.index(0), b.index(main), rows, result, whole);
      return main < limit ? tile(limit - main, b.index(main), result) : result;
    }
    Value main = b.index(0);
    if (limit >= rows) {
      main = arith::SubIOp::create(b, count, arith::RemUIOp::create(b, count, b.index(rows)));
      result = b.loop(b.index(0), main, rows, result, whole);
    }
    result = b.loop(main, count, 1, result,
                    [&](Value n, ValueRange carried) { return tile(1, n, carried); });
    return b.loop(count, b.index(limit), 1, result,
                  [&](Value n, ValueRange carried) { return tile(1, n, carried, true); });
  }
};
} // namespace

SmallVector<Value> tilewright::emitProduct(VectorBuilder &builder, const Product &product,
                                           Value lane, int64_t vectors, StartSum start,
                                           ValueRange carried, FinishRow finish) {
  return RegisterTile{builder, product, lane, vectors, start, finish}.allRows(carried);
}
