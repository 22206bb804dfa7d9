//===- MicroKernel.cpp - The register-tiled product -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/TileToVector/MicroKernel.h"

using namespace mlir;
using namespace tilewright;

/// More rows than this need more registers for addresses than there are.
static constexpr int64_t maxRows = 8;
static constexpr int64_t cacheLineBits = 512;

namespace {
/// Emits the register tiles of one group of queries.
struct RegisterTile {
  VectorBuilder &b;
  const Product &product;
  Value lane;
  int64_t vectors;
  StartSum start;
  FinishRow finish;

  /// What the tile at rows n[0], n[1], ... reads of rhs, with the part of the addresses that the
  /// depth loop does not change computed here.
  SmallVector<Value> windowsOf(ArrayRef<Value> n) {
    const int64_t depth = product.depth.limit;
    return llvm::map_to_vector(n, [&](Value row) {
      return product.rhsIsRowsByDepth ? b.window(product.rhs, row, b.index(0), 1, depth)
                                      : b.window(product.rhs, b.index(0), row, depth, 1);
    });
  }

  /// One step of the depth.
  SmallVector<Value> step(int64_t rows, ArrayRef<Value> windows, Value x, ValueRange sums) {
    SmallVector<Value> result, lhs;
    for (int64_t j = 0; j < vectors; ++j)
      lhs.push_back(b.load(product.lhs, x, b.offset(lane, j * b.shape.lanes)));
    for (int64_t r = 0; r < rows; ++r) {
      const Value zero = b.index(0);
      Value scalar = memref::LoadOp::create(
          b, windows[r], product.rhsIsRowsByDepth ? ValueRange{zero, x} : ValueRange{x, zero});
      Value factor = b.broadcast(b.widen(scalar, product.type));
      for (int64_t j = 0; j < vectors; ++j)
        result.push_back(b.multiplyAdd(factor, lhs[j], sums[r * vectors + j]));
    }
    return result;
  }

  SmallVector<Value> sumOverDepth(ArrayRef<Value> n, SmallVector<Value> sums) {
    const SmallVector<Value> windows = windowsOf(n);
    Value depth = product.depth.count ? product.depth.count : b.index(product.depth.limit);
    // One step an iteration: unrolled, LLVM mixes two steps, which takes more registers than AVX2
    // has.
    return b.loop(b.index(0), depth, 1, sums,
                  [&](Value x, ValueRange sums) { return step(n.size(), windows, x, sums); });
  }

  void fetch(Value n) {
    for (const Stream &stream : product.streams) {
      const auto type = cast<MemRefType>(stream.rows.getType());
      const int64_t line = cacheLineBits / type.getElementTypeBitWidth();
      Value row = arith::MinSIOp::create(b, b.offset(n, stream.ahead), b.offset(stream.count, -1));
      for (int64_t column = 0; column < type.getDimSize(1); column += line)
        memref::PrefetchOp::create(b, stream.rows, ValueRange{row, b.index(column)},
                                   /*isWrite=*/false, /*localityHint=*/3, /*isDataCache=*/true);
    }
  }

  /// The tile of `rows` rows from `first` on; without products where `isEmpty`.
  SmallVector<Value> tile(int64_t rows, Value first, ValueRange carried, bool isEmpty = false) {
    SmallVector<Value> n, sums;
    for (int64_t r = 0; r < rows; ++r)
      n.push_back(b.offset(first, r));
    for (Value row : n)
      fetch(row);
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

  /// Fewer vectors leave room for more rows, which keep both multiply-add units busy: a chain of
  /// sums takes a new one each four cycles.
  int64_t rowsFor(int64_t vectors) const {
    return std::max(b.shape.rows, std::min(b.shape.rows * b.shape.vectors / vectors, maxRows));
  }

  SmallVector<Value> allRows(ValueRange carried) {
    const auto [limit, count] = product.rows;
    const int64_t rows = rowsFor(vectors);
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
