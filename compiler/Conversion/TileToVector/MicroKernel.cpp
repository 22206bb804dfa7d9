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
/// Steps of an iteration of a whole tile's depth loop, which then ends after few enough iterations
/// for a processor to predict.
static constexpr int64_t stepsOfIteration = 4;

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
  /// depth loop does not change computed here. Rows that are columns of rhs are neighbours: they
  /// share one address, which leaves registers to others.
  SmallVector<Value> windowsOf(ArrayRef<Value> n) {
    const int64_t depth = product.depth.limit, rows = n.size();
    if (!product.rhsIsRowsByDepth)
      return SmallVector<Value>(rows, b.window(product.rhs, b.index(0), n.front(), depth, rows));
    return llvm::map_to_vector(
        n, [&](Value row) { return b.window(product.rhs, row, b.index(0), 1, depth); });
  }

  /// One step of the depth.
  SmallVector<Value> step(ArrayRef<Value> windows, Value x, ValueRange sums) {
    SmallVector<Value> result, lhs;
    for (int64_t j = 0; j < vectors; ++j)
      lhs.push_back(b.load(product.lhs, x, b.offset(lane, j * b.shape.lanes)));
    for (auto [r, window] : llvm::enumerate(windows)) {
      Value scalar = memref::LoadOp::create(b, window,
                                            product.rhsIsRowsByDepth ? ValueRange{b.index(0), x}
                                                                     : ValueRange{x, b.index(r)});
      Value factor = b.broadcast(b.widen(scalar, product.type));
      for (int64_t j = 0; j < vectors; ++j)
        result.push_back(b.multiplyAdd(factor, lhs[j], sums[r * vectors + j]));
    }
    return result;
  }

  /// Steps from x on, one after the other: LLVM would begin the next before it ends one, and that
  /// takes more registers than AVX2 has. Loads do not cross an instruction that may do anything.
  SmallVector<Value> steps(int64_t count, ArrayRef<Value> windows, Value x, ValueRange sums) {
    SmallVector<Value> result = llvm::to_vector(sums);
    for (int64_t i = 0; i < count; ++i) {
      if (i > 0)
        b.barrier();
      result = step(windows, b.offset(x, i), result);
    }
    return result;
  }

  Value firstOf(const Extent &extent) { return extent.begin ? extent.begin : b.index(0); }

  /// Where whole iterations of `step` end, if their number is known at run time only.
  Value endOfMain(const Extent &extent, int64_t step) {
    Value length = b.createOrFold<arith::SubIOp>(extent.count, firstOf(extent));
    return arith::SubIOp::create(b, extent.count, arith::RemUIOp::create(b, length, b.index(step)));
  }

  SmallVector<Value> sumOverDepth(ArrayRef<Value> n, SmallVector<Value> sums) {
    const SmallVector<Value> windows = windowsOf(n);
    const auto loop = [&](Value low, Value high, int64_t count) {
      return b.loop(low, high, count, sums,
                    [&](Value x, ValueRange sums) { return steps(count, windows, x, sums); });
    };
    const int64_t limit = product.depth.limit;
    const Value count = product.depth.count, first = firstOf(product.depth);
    if (static_cast<int64_t>(n.size()) < rowsFor(vectors))
      return loop(first, count ? count : b.index(limit), 1);
    if (!count) {
      const int64_t main = limit / stepsOfIteration * stepsOfIteration;
      if (main > 0)
        sums = loop(b.index(0), b.index(main), stepsOfIteration);
      return steps(limit - main, windows, b.index(main), sums);
    }
    Value main = first;
    if (limit >= stepsOfIteration) {
      main = endOfMain(product.depth, stepsOfIteration);
      sums = loop(first, main, stepsOfIteration);
    }
    return loop(main, count, 1);
  }

  /// The tile of `rows` rows from `first` on; without products where `isEmpty`.
  SmallVector<Value> tile(int64_t rows, Value first, ValueRange carried, bool isEmpty = false) {
    SmallVector<Value> sums;
    const auto rowsFrom = [&](Value first) {
      SmallVector<Value> n;
      for (int64_t r = 0; r < rows; ++r)
        n.push_back(b.offset(first, r));
      return n;
    };
    SmallVector<Value> n = rowsFrom(first);
    for (const Stream &stream : product.streams)
      for (Value row : n)
        emitFetch(b, stream, row, b.index(0), 1);
    for (Value row : n)
      for (int64_t j = 0; j < vectors; ++j)
        sums.push_back(start(row, j));
    if (!isEmpty) {
      sums = sumOverDepth(n, sums);
      n = rowsFrom(b.forget(first));
    }
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
    const int64_t limit = product.rows.limit, rows = rowsFor(vectors);
    const Value count = product.rows.count, end = product.rows.end;
    SmallVector<Value> result = llvm::to_vector(carried);
    const auto whole = [&](Value n, ValueRange carried) { return tile(rows, n, carried); };
    if (!count) {
      const int64_t main = limit / rows * rows;
      if (main > 0)
        result = b.loop(b.index(0), b.index(main), rows, result, whole);
      return main < limit ? tile(limit - main, b.index(main), result) : result;
    }
    const Value first = firstOf(product.rows);
    Value main = first;
    if (limit >= rows) {
      main = endOfMain(product.rows, rows);
      result = b.loop(first, main, rows, result, whole);
    }
    result = b.loop(main, count, 1, result,
                    [&](Value n, ValueRange carried) { return tile(1, n, carried); });
    return b.loop(count, end ? end : b.index(limit), 1, result,
                  [&](Value n, ValueRange carried) { return tile(1, n, carried, true); });
  }
};
} // namespace

void tilewright::emitFetch(VectorBuilder &b, const Stream &stream, Value n, Value part,
                           int64_t parts) {
  const auto type = cast<MemRefType>(stream.rows.getType());
  const int64_t line = cacheLineBits / type.getElementTypeBitWidth();
  const int64_t lines = llvm::divideCeil(llvm::divideCeil(type.getDimSize(1), line), parts);
  Value row = arith::MinSIOp::create(b, b.offset(n, stream.ahead), b.offset(stream.count, -1));
  Value column = arith::MulIOp::create(b, part, b.index(lines * line));
  for (int64_t i = 0; i < lines; ++i)
    memref::PrefetchOp::create(b, stream.rows, ValueRange{row, b.offset(column, i * line)},
                               /*isWrite=*/false, /*localityHint=*/3, /*isDataCache=*/true);
}

SmallVector<Value> tilewright::emitProduct(VectorBuilder &builder, const Product &product,
                                           Value lane, int64_t vectors, StartSum start,
                                           ValueRange carried, FinishRow finish) {
  return RegisterTile{builder, product, lane, vectors, start, finish}.allRows(carried);
}
