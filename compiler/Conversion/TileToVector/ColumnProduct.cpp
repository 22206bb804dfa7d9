//===- ColumnProduct.cpp - Products with columns on lanes -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/TileToVector/ColumnProduct.h"

using namespace mlir;
using namespace tilewright;

/// Rows of a register tile.
static constexpr int64_t tileRows = 2;
/// Sums of a register tile of scores: they keep both multiply-add units busy, and their keys'
/// addresses fit the registers.
static constexpr int64_t scoreSums = 8;
static constexpr int64_t segmentBits = 128;

namespace {
struct ColumnProduct {
  VectorBuilder &b;
  const Product &product;
  Value rowCount;
  int64_t rowLimit;
  StartRow start;
  Value result;
  const int64_t lanes = b.shape.lanes;

  VectorType vectorType() { return b.vectorOf(product.type); }

  /// Rows in pairs, and one where their number is odd.
  void forEachRowTile(function_ref<void(ArrayRef<Value>)> body) {
    Value paired = b.index(0);
    if (rowLimit >= tileRows) {
      Value rest = arith::RemUIOp::create(b, rowCount, b.index(tileRows));
      paired = arith::SubIOp::create(b, rowCount, rest);
      b.loop(b.index(0), paired, tileRows, [&](Value row) {
        SmallVector<Value> rows;
        for (int64_t i = 0; i < tileRows; ++i)
          rows.push_back(b.offset(row, i));
        body(rows);
      });
    }
    b.loop(paired, rowCount, 1, [&](Value row) { body({row}); });
  }

  //===--------------------------------------------------------------------===//
  // Rows of keys and values
  //===--------------------------------------------------------------------===//

  Value load(Value window, Value row, Value column) {
    auto type = cast<MemRefType>(window.getType());
    Value vector = vector::LoadOp::create(b, b.vectorOf(type.getElementType()), window,
                                          ValueRange{row, column});
    return b.widen(vector, product.type);
  }

  /// The columns from `column` on, which do not fill a vector and with which the row of `width`
  /// ends; then zeros. Nothing outside of the row is read.
  Value loadEnd(Value window, Value row, Value column, int64_t width) {
    const int64_t rest = width % lanes;
    Value zero = b.real(vectorType(), 0);
    if (width >= lanes) {
      SmallVector<int64_t> order;
      for (int64_t i = 0; i < lanes; ++i)
        order.push_back(lanes - rest + i);
      return vector::ShuffleOp::create(b, load(window, row, b.offset(column, rest - lanes)), zero,
                                       order);
    }
    SmallVector<Value> elements(lanes, b.real(product.type, 0));
    for (int64_t i = 0; i < rest; ++i)
      elements[i] = b.widen(memref::LoadOp::create(b, window, ValueRange{row, b.offset(column, i)}),
                            product.type);
    return vector::FromElementsOp::create(b, vectorType(), elements);
  }

  /// What is read next had better be on its way: memory is what takes the time with few rows.
  void fetch(Value n, Value part, int64_t parts) {
    for (const Stream &stream : product.streams)
      emitFetch(b, stream, n, part, parts);
  }

  //===--------------------------------------------------------------------===//
  // Scores
  //===--------------------------------------------------------------------===//

  /// Adds neighbours of `unit` elements, within spans of `span`, and puts the sums of both vectors
  /// into each span.
  Value addNeighbours(Value first, Value second, int64_t unit, int64_t span) {
    SmallVector<int64_t> even, odd;
    for (int64_t begin = 0; begin < lanes; begin += span)
      for (int64_t vector : {int64_t(0), lanes})
        for (int64_t i = 0; i < span; i += 2 * unit)
          for (int64_t j = 0; j < unit; ++j) {
            even.push_back(vector + begin + i + j);
            odd.push_back(vector + begin + i + unit + j);
          }
    return b.add(vector::ShuffleOp::create(b, first, second, even),
                 vector::ShuffleOp::create(b, first, second, odd));
  }

  /// The sums of the elements of each of several vectors as one vector: a tree whose nodes add two
  /// vectors, first within segments that shuffles do not cross, then among these. What is given are
  /// the sums of `level` vectors each already.
  Value addUp(SmallVector<Value> vectors, int64_t level) {
    const int64_t segment =
        std::min<int64_t>(lanes, segmentBits / product.type.getIntOrFloatBitWidth());
    for (; vectors.size() > 1; level *= 2) {
      const bool isWithin = level < segment;
      for (size_t i = 0; i < vectors.size() / 2; ++i)
        vectors[i] = addNeighbours(vectors[2 * i], vectors[2 * i + 1], isWithin ? 1 : segment,
                                   isWithin ? segment : lanes);
      vectors.resize(vectors.size() / 2);
    }
    return vectors.front();
  }

  /// Sums [row][key] of vectors for one register tile.
  SmallVector<Value> multiply(ArrayRef<Value> keys, ArrayRef<Value> rows) {
    const int64_t width = product.depth.limit, whole = width / lanes * lanes;
    const auto step = [&](Value x, ValueRange sums, function_ref<Value(Value)> loadKey) {
      SmallVector<Value> queries, result(sums.size());
      for (Value row : rows)
        queries.push_back(b.load(product.lhs, row, x));
      for (auto [i, key] : llvm::enumerate(keys)) {
        Value vector = loadKey(key);
        for (size_t r = 0; r < rows.size(); ++r)
          result[r * keys.size() + i] =
              b.multiplyAdd(vector, queries[r], sums[r * keys.size() + i]);
      }
      return result;
    };
    SmallVector<Value> sums(rows.size() * keys.size(), b.real(vectorType(), 0));
    if (whole > 0)
      sums = b.loop(b.index(0), b.index(whole), lanes, sums, [&](Value x, ValueRange sums) {
        return step(x, sums, [&](Value key) { return load(key, b.index(0), x); });
      });
    if (whole < width)
      sums = step(b.index(whole), sums,
                  [&](Value key) { return loadEnd(key, b.index(0), b.index(whole), width); });
    return sums;
  }

  /// Where the keys from n on lie; the last key instead of those that do not exist.
  SmallVector<Value> windowsOf(Value n) {
    SmallVector<Value> windows;
    Value last = b.offset(product.rows.count, -1);
    for (int64_t i = 0; i < lanes; ++i) {
      Value key = arith::MinSIOp::create(b, b.offset(n, i), last);
      windows.push_back(b.window(product.rhs, key, b.index(0), 1, product.depth.limit));
    }
    return windows;
  }

  Value hideMissing(Value sums, Value n) {
    Value exists = b.lanesBelow(arith::SubIOp::create(b, product.rows.count, n));
    return arith::SelectOp::create(b, exists, sums, b.real(vectorType(), 0));
  }

  void emitScores() {
    const int64_t padded = b.shape.padded(product.rows.limit);
    b.loop(b.index(0), product.rows.count, lanes, [&](Value n) {
      b.loop(n, b.offset(n, lanes), 1, [&](Value row) { fetch(row, b.index(0), 1); });
      const SmallVector<Value> windows = windowsOf(n);
      forEachRowTile([&](ArrayRef<Value> rows) {
        const int64_t keys = std::min<int64_t>(lanes, scoreSums / rows.size());
        SmallVector<SmallVector<Value>> sums(rows.size());
        for (int64_t i = 0; i < lanes; i += keys) {
          const SmallVector<Value> tile = multiply(ArrayRef(windows).slice(i, keys), rows);
          for (size_t r = 0; r < rows.size(); ++r)
            sums[r].push_back(addUp(llvm::to_vector(ArrayRef(tile).slice(r * keys, keys)), 1));
        }
        for (auto [row, vectors] : llvm::zip_equal(rows, sums)) {
          Value sum = hideMissing(addUp(vectors, keys), n);
          if (Value from = start(row, n))
            sum = b.add(sum, from);
          b.store(sum, result, row, n);
        }
      });
    });
    Value missing = arith::CeilDivUIOp::create(b, product.rows.count, b.index(lanes));
    missing = arith::MulIOp::create(b, missing, b.index(lanes));
    b.loop(missing, b.index(padded), lanes, [&](Value n) {
      b.loop(b.index(0), rowCount, 1, [&](Value row) {
        Value from = start(row, n);
        b.store(from ? from : b.real(vectorType(), 0), result, row, n);
      });
    });
  }

  //===--------------------------------------------------------------------===//
  // Outputs
  //===--------------------------------------------------------------------===//

  /// One register tile: `vectors` vectors of columns from `column` on, which is number `part` of
  /// `parts` of the columns.
  void emitOutputTile(ArrayRef<Value> rows, Value column, int64_t vectors, Value part,
                      int64_t parts) {
    const int64_t width = product.rows.limit;
    const bool isEnd = getConstantIntValue(column).has_value();
    Value values = b.window(product.rhs, b.index(0), b.index(0), product.depth.limit, width);
    Value depth = product.depth.count ? product.depth.count : b.index(product.depth.limit);
    Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, rows.front(), b.index(0));
    SmallVector<Value> columns, sums;
    for (int64_t j = 0; j < vectors; ++j)
      columns.push_back(b.offset(column, j * lanes));
    for (Value row : rows)
      for (Value place : columns) {
        Value from = start(row, place);
        sums.push_back(from ? from : b.real(vectorType(), 0));
      }
    sums = b.loop(b.index(0), depth, 1, sums, [&](Value n, ValueRange sums) {
      if (!product.streams.empty())
        b.branch(isFirst, [&] { fetch(n, part, parts); });
      SmallVector<Value> factors, next(sums.size());
      for (Value row : rows)
        factors.push_back(b.broadcast(memref::LoadOp::create(b, product.lhs, ValueRange{row, n})));
      for (int64_t j = 0; j < vectors; ++j) {
        const bool isRest = isEnd && j == vectors - 1 && width % lanes != 0;
        Value vector = isRest ? loadEnd(values, n, columns[j], width) : load(values, n, columns[j]);
        for (size_t r = 0; r < rows.size(); ++r)
          next[r * vectors + j] = b.multiplyAdd(vector, factors[r], sums[r * vectors + j]);
      }
      return next;
    });
    for (auto [r, row] : llvm::enumerate(rows))
      for (int64_t j = 0; j < vectors; ++j)
        b.store(sums[r * vectors + j], result, row, columns[j]);
  }

  void emitOutputs() {
    const int64_t vectors = b.shape.padded(product.rows.limit) / lanes;
    forEachRowTile([&](ArrayRef<Value> rows) {
      const int64_t most =
          std::max<int64_t>(1, b.shape.rows * b.shape.vectors / static_cast<int64_t>(rows.size()));
      const int64_t parts = llvm::divideCeil(vectors, most);
      const int64_t size = llvm::divideCeil(vectors, parts);
      b.loop(b.index(0), b.index(parts - 1), 1, [&](Value part) {
        Value column = arith::MulIOp::create(b, part, b.index(size * lanes));
        emitOutputTile(rows, column, size, part, parts);
      });
      const int64_t main = (parts - 1) * size;
      emitOutputTile(rows, b.index(main * lanes), vectors - main, b.index(parts - 1), parts);
    });
  }
};
} // namespace

void tilewright::emitColumnProduct(VectorBuilder &builder, const Product &product, Value rows,
                                   int64_t tileRows, StartRow start, Value result) {
  ColumnProduct code{builder, product, rows, tileRows, start, result};
  if (product.rhsIsRowsByDepth)
    code.emitScores();
  else
    code.emitOutputs();
}
