//===- ColumnProduct.cpp - Products with columns on lanes -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/TileToVector/ColumnProduct.h"

#include <numeric>

using namespace mlir;
using namespace tilewright;

/// Rows of a register tile.
static constexpr int64_t tileRows = 2;
/// Sums of a register tile of scores: they keep both multiply-add units busy, and their keys'
/// addresses fit the registers.
static constexpr int64_t scoreSums = 8;
static constexpr int64_t segmentBits = 128;

/// Whether the rows of the right-hand side are read as pairs of bf16, which takes two instructions
/// for two vectors and not four.
static bool readsPairs(const Product &product) {
  return product.type.isF32() && cast<MemRefType>(product.rhs.getType()).getElementType().isBF16();
}

/// Makes of two vectors of columns that of the even ones and that of the odd ones.
static void splitPair(VectorBuilder &b, Value &first, Value &second) {
  SmallVector<int64_t> even, odd;
  for (int64_t i = 0; i < 2 * b.shape.lanes; i += 2) {
    even.push_back(i);
    odd.push_back(i + 1);
  }
  Value rest = vector::ShuffleOp::create(b, first, second, odd);
  first = vector::ShuffleOp::create(b, first, second, even);
  second = rest;
}

/// The reverse.
static void joinPair(VectorBuilder &b, Value &even, Value &odd) {
  SmallVector<int64_t> first, second;
  for (int64_t i = 0; i < b.shape.lanes; ++i)
    for (int64_t vector : {int64_t(0), b.shape.lanes})
      (i < b.shape.lanes / 2 ? first : second).push_back(vector + i);
  Value rest = vector::ShuffleOp::create(b, even, odd, second);
  even = vector::ShuffleOp::create(b, even, odd, first);
  odd = rest;
}

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

  /// How many of `width` columns are read in pairs.
  int64_t pairedColumns(int64_t width) const {
    return readsPairs(product) ? width / (2 * lanes) * 2 * lanes : 0;
  }

  /// The even and the odd ones of two vectors of columns of bf16: as i32 one half is shifted into
  /// place and the other is in place.
  std::pair<Value, Value> loadPair(Value window, Value row, Value column) {
    const Type bits = b.vectorOf(b.getI32Type());
    Value pairs = vector::LoadOp::create(b, VectorType::get({2 * lanes}, b.getBF16Type()), window,
                                         ValueRange{row, column});
    pairs = vector::BitCastOp::create(b, cast<VectorType>(bits), pairs);
    Value even = arith::ShLIOp::create(b, pairs, b.integer(bits, 16));
    Value odd = arith::AndIOp::create(b, pairs, b.integer(bits, int64_t(-1) << 16));
    return {arith::BitcastOp::create(b, vectorType(), even),
            arith::BitcastOp::create(b, vectorType(), odd)};
  }

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
    auto type = VectorType::get({rest}, cast<MemRefType>(window.getType()).getElementType());
    Value vector =
        b.widen(vector::LoadOp::create(b, type, window, ValueRange{row, column}), product.type);
    SmallVector<int64_t> order(lanes, rest);
    std::iota(order.begin(), order.begin() + rest, 0);
    return vector::ShuffleOp::create(b, vector, b.real(vector.getType(), 0), order);
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
    const int64_t paired = pairedColumns(width);
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
    if (paired > 0)
      sums = b.loop(b.index(0), b.index(paired), 2 * lanes, sums, [&](Value x, ValueRange sums) {
        SmallVector<std::pair<Value, Value>> pairs;
        for (Value key : keys)
          pairs.push_back(loadPair(key, b.index(0), x));
        size_t i = 0, j = 0;
        return step(b.offset(x, lanes), step(x, sums, [&](Value) { return pairs[i++].first; }),
                    [&](Value) { return pairs[j++].second; });
      });
    if (paired < whole)
      sums = b.loop(b.index(paired), b.index(whole), lanes, sums, [&](Value x, ValueRange sums) {
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

  /// The queries with even and odd columns apart, as the keys' are.
  void splitQueries(Value queries) {
    const int64_t width = b.shape.padded(product.depth.limit);
    const int64_t paired = pairedColumns(product.depth.limit);
    b.loop(b.index(0), rowCount, 1, [&](Value row) {
      b.loop(b.index(0), b.index(paired), 2 * lanes, [&](Value x) {
        Value first = b.load(product.lhs, row, x), other = b.offset(x, lanes);
        Value second = b.load(product.lhs, row, other);
        splitPair(b, first, second);
        b.store(first, queries, row, x);
        b.store(second, queries, row, other);
      });
      for (int64_t x = paired; x < width; x += lanes)
        b.store(b.load(product.lhs, row, b.index(x)), queries, row, b.index(x));
    });
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
    // Vectors before this one are even and odd columns of two.
    const int64_t paired = isEnd ? pairedColumns(width - *getConstantIntValue(column)) / lanes
                                 : (readsPairs(product) ? vectors : 0);
    SmallVector<Value> columns, sums;
    for (int64_t j = 0; j < vectors; ++j)
      columns.push_back(b.offset(column, j * lanes));
    for (Value row : rows)
      for (auto [j, place] : llvm::enumerate(columns)) {
        Value from = start(row, place);
        sums.push_back(from ? from : b.real(vectorType(), 0));
        if (from && j % 2 == 1 && static_cast<int64_t>(j) < paired)
          splitPair(b, sums[sums.size() - 2], sums.back());
      }
    sums = b.loop(b.index(0), depth, 1, sums, [&](Value n, ValueRange sums) {
      if (!product.streams.empty())
        b.branch(isFirst, [&] { fetch(n, part, parts); });
      SmallVector<Value> factors, next(sums.size());
      for (Value row : rows)
        factors.push_back(b.broadcast(memref::LoadOp::create(b, product.lhs, ValueRange{row, n})));
      const auto add = [&](int64_t j, Value vector) {
        for (size_t r = 0; r < rows.size(); ++r)
          next[r * vectors + j] = b.multiplyAdd(vector, factors[r], sums[r * vectors + j]);
      };
      for (int64_t j = 0; j < paired; j += 2) {
        const auto [even, odd] = loadPair(values, n, columns[j]);
        add(j, even);
        add(j + 1, odd);
      }
      for (int64_t j = paired; j < vectors; ++j) {
        const bool isRest = isEnd && j == vectors - 1 && width % lanes != 0;
        add(j, isRest ? loadEnd(values, n, columns[j], width) : load(values, n, columns[j]));
      }
      return next;
    });
    for (auto [r, row] : llvm::enumerate(rows))
      for (int64_t j = 0; j < vectors; ++j) {
        Value &sum = sums[r * vectors + j];
        if (j % 2 == 0 && j < paired)
          joinPair(b, sum, sums[r * vectors + j + 1]);
        b.store(sum, result, row, columns[j]);
      }
  }

  void emitOutputs() {
    const int64_t vectors = b.shape.padded(product.rows.limit) / lanes;
    const int64_t unit = readsPairs(product) ? 2 : 1;
    forEachRowTile([&](ArrayRef<Value> rows) {
      // Whole units, so that no part has more and the last one has some.
      const int64_t sums = b.shape.rows * b.shape.vectors / static_cast<int64_t>(rows.size());
      const int64_t most = std::max(unit, sums / unit * unit);
      const int64_t parts = llvm::divideCeil(vectors, most);
      const int64_t size = llvm::alignTo(llvm::divideCeil(vectors, parts), unit);
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

bool tilewright::needsSplitQueries(const Product &product) {
  return product.rhsIsRowsByDepth && readsPairs(product);
}

void tilewright::emitColumnProduct(VectorBuilder &builder, Product product, Value rows,
                                   int64_t tileRows, StartRow start, Value result,
                                   Value splitQueries) {
  ColumnProduct code{builder, product, rows, tileRows, start, result};
  if (splitQueries) {
    code.splitQueries(splitQueries);
    product.lhs = splitQueries;
  }
  if (product.rhsIsRowsByDepth)
    code.emitScores();
  else
    code.emitOutputs();
}
