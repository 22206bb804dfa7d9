//===- LoadStore.cpp - Between memory and lanes ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/TileToVector/LoadStore.h"

using namespace mlir;
using namespace tilewright;

/// What one iteration widens, so that its address and its end cost little beside it.
static constexpr int64_t vectorsOfIteration = 4;

bool tilewright::isFolded(Value tensor, ValueRange indices, RankedTensorType tile) {
  const int64_t columns = tile.getRank() == 2 ? 1 : 0;
  return static_cast<int64_t>(indices.size()) + columns <
         cast<MemRefType>(tensor.getType()).getRank();
}

/// The rows from `first` on of which a dimension holds `extent`.
static Value countRows(VectorBuilder &b, Value extent, Value first, RankedTensorType tile) {
  Value count = arith::SubIOp::create(b, extent, first);
  count = arith::MinSIOp::create(b, count, b.index(tile.getDimSize(0)));
  return arith::MaxSIOp::create(b, count, b.index(0));
}

View tilewright::emitView(VectorBuilder &b, Value tensor, ValueRange indices,
                          RankedTensorType tile) {
  auto type = cast<MemRefType>(tensor.getType());
  const int64_t rowDim = indices.size() - 1;
  Value first = indices.back(), group;
  Value extent = memref::DimOp::create(b, tensor, b.index(rowDim));
  SmallVector<OpFoldResult> offsets = llvm::to_vector_of<OpFoldResult>(indices);
  SmallVector<OpFoldResult> sizes(rowDim, b.getIndexAttr(1));
  SmallVector<OpFoldResult> strides(type.getRank(), b.getIndexAttr(1));
  SmallVector<int64_t> shape = {ShapedType::kDynamic};
  Value count;
  if (isFolded(tensor, indices, tile)) {
    group = memref::DimOp::create(b, tensor, b.index(rowDim + 1));
    count = countRows(b, arith::MulIOp::create(b, extent, group), first, tile);
    offsets.back() = b.getIndexAttr(0);
    offsets.push_back(b.getIndexAttr(0));
    sizes.append({extent, group});
    shape.push_back(ShapedType::kDynamic);
  } else {
    count = countRows(b, extent, first, tile);
    sizes.push_back(count);
  }
  if (tile.getRank() == 2) {
    offsets.push_back(b.getIndexAttr(0));
    sizes.push_back(b.getIndexAttr(tile.getDimSize(1)));
    shape.push_back(tile.getDimSize(1));
  }
  MemRefType rows =
      memref::SubViewOp::inferRankReducedResultType(shape, type, offsets, sizes, strides);
  return {memref::SubViewOp::create(b, rows, tensor, offsets, sizes, strides), count, group, first};
}

Stream tilewright::emitStream(VectorBuilder &b, Value tensor, ValueRange indices, int64_t ahead) {
  auto type = cast<MemRefType>(tensor.getType());
  const int64_t rowDim = type.getRank() - 2;
  Value count =
      arith::SubIOp::create(b, memref::DimOp::create(b, tensor, b.index(rowDim)), indices.back());
  count = arith::MaxSIOp::create(b, count, b.index(1));
  SmallVector<OpFoldResult> offsets = llvm::to_vector_of<OpFoldResult>(indices);
  offsets.push_back(b.getIndexAttr(0));
  SmallVector<OpFoldResult> sizes(rowDim, b.getIndexAttr(1));
  sizes.append({count, b.getIndexAttr(type.getShape().back())});
  SmallVector<OpFoldResult> strides(type.getRank(), b.getIndexAttr(1));
  MemRefType rows = memref::SubViewOp::inferRankReducedResultType(
      {ShapedType::kDynamic, type.getShape().back()}, type, offsets, sizes, strides);
  return {memref::SubViewOp::create(b, rows, tensor, offsets, sizes, strides), count, ahead};
}

SmallVector<Value> tilewright::indicesOf(VectorBuilder &b, const View &view, Value row) {
  if (!view.group)
    return {row};
  Value number = arith::AddIOp::create(b, view.first, row);
  return {arith::DivUIOp::create(b, number, view.group),
          arith::RemUIOp::create(b, number, view.group)};
}

SmallVector<Value> tilewright::indicesWith(SmallVector<Value> indices, Value column) {
  indices.push_back(column);
  return indices;
}

View tilewright::emitWidened(VectorBuilder &b, View view, Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  const Type from = cast<MemRefType>(view.rows.getType()).getElementType();
  const int64_t columns = type.getDimSize(1), lanes = b.shape.lanes;
  const int64_t whole = columns / lanes * lanes, step = vectorsOfIteration * lanes;
  const int64_t main = whole / step * step;
  b.loop(b.index(0), view.count, 1, [&](Value row) {
    Value source = b.window(view.rows, row, b.index(0), 1, columns);
    const auto widenVector = [&](Value column) {
      Value vector =
          vector::LoadOp::create(b, b.vectorOf(from), source, ValueRange{b.index(0), column});
      b.store(b.widen(vector, type.getElementType()), buffer, row, column);
    };
    if (main > 0)
      b.loop(b.index(0), b.index(main), step, [&](Value column) {
        for (int64_t i = 0; i < vectorsOfIteration; ++i)
          widenVector(b.offset(column, i * lanes));
      });
    for (int64_t column = main; column < whole; column += lanes)
      widenVector(b.index(column));
    if (whole < columns)
      b.loop(b.index(whole), b.index(columns), 1, [&](Value column) {
        Value scalar = memref::LoadOp::create(b, source, ValueRange{b.index(0), column});
        memref::StoreOp::create(b, b.widen(scalar, type.getElementType()), buffer,
                                ValueRange{row, column});
      });
  });
  return {buffer, view.count};
}

SmallVector<Value> tilewright::transpose(VectorBuilder &b, SmallVector<Value> rows) {
  const int64_t lanes = b.shape.lanes;
  // At each level, pairs of vectors that are `distance` apart exchange their off-diagonal halves of
  // each 2 distance elements.
  for (int64_t distance = 1; distance < lanes; distance *= 2) {
    SmallVector<int64_t> lower, upper;
    for (int64_t i = 0; i < lanes; ++i) {
      lower.push_back(i & distance ? i - distance + lanes : i);
      upper.push_back(i & distance ? i + lanes : i + distance);
    }
    for (int64_t i = 0; i < lanes; ++i) {
      if (i & distance)
        continue;
      Value first = rows[i], second = rows[i | distance];
      rows[i] = vector::ShuffleOp::create(b, first, second, lower);
      rows[i | distance] = vector::ShuffleOp::create(b, first, second, upper);
    }
  }
  return rows;
}

/// Whether vectors of this type may be read from and written to memory: those of i1 are packed bits
/// there.
static bool isVectorElement(Type element) {
  return !element.isInteger(1);
}

static Value asResting(VectorBuilder &b, Value element, Type resting) {
  if (isa<FloatType>(resting))
    return b.widen(element, resting);
  return element.getType() == resting ? element : arith::ExtUIOp::create(b, resting, element);
}

void tilewright::emitLoad(VectorBuilder &b, View view, RankedTensorType tile, Value buffer,
                          Value used) {
  auto type = cast<MemRefType>(buffer.getType());
  const Type resting = type.getElementType(), element = tile.getElementType();
  const int64_t columns = tile.getRank() == 2 ? tile.getDimSize(1) : 1, lanes = b.shape.lanes;
  const int64_t whole =
      tile.getRank() == 2 && isVectorElement(element) ? columns / lanes * lanes : 0;

  // One element at a time: columns that fill no vector, and queries that fill none.
  const auto loadElements = [&](Value part, Value first, Value lane, int64_t firstColumn) {
    Value zero = b.constant(cast<TypedAttr>(b.getZeroAttr(resting)));
    Value end = b.offset(lane, lanes), count = arith::SubIOp::create(b, view.count, first);
    Value valid = arith::MaxSIOp::create(b, arith::MinSIOp::create(b, count, end), lane);
    const auto forEachColumn = [&](function_ref<void(Value)> body) {
      b.loop(b.index(firstColumn), b.index(columns), 1, body);
    };
    b.loop(lane, valid, 1, [&](Value query) {
      const SmallVector<Value> row = indicesOf(b, view, arith::AddIOp::create(b, first, query));
      forEachColumn([&](Value column) {
        Value value = memref::LoadOp::create(b, view.rows,
                                             tile.getRank() == 2 ? indicesWith(row, column) : row);
        memref::StoreOp::create(b, asResting(b, value, resting), part, ValueRange{column, query});
      });
    });
    b.loop(valid, end, 1, [&](Value query) {
      forEachColumn(
          [&](Value column) { memref::StoreOp::create(b, zero, part, ValueRange{column, query}); });
    });
  };

  const auto loadVector = [&](Value first, Value lane) {
    Value part = b.slice(buffer, first);
    if (whole == 0)
      return loadElements(part, first, lane, 0);
    Value query = arith::AddIOp::create(b, first, lane);
    Value isFull =
        arith::CmpIOp::create(b, arith::CmpIPredicate::sle, b.offset(query, lanes), view.count);
    b.branch(
        isFull,
        [&] {
          SmallVector<SmallVector<Value>> places;
          for (int64_t i = 0; i < lanes; ++i)
            places.push_back(indicesOf(b, view, b.offset(query, i)));
          b.loop(b.index(0), b.index(whole), lanes, [&](Value column) {
            SmallVector<Value> rows;
            for (const SmallVector<Value> &place : places) {
              Value row = vector::LoadOp::create(b, b.vectorOf(element), view.rows,
                                                 indicesWith(place, column));
              rows.push_back(isa<FloatType>(resting) ? b.widen(row, resting) : row);
            }
            for (auto [i, vector] : llvm::enumerate(transpose(b, rows)))
              b.store(vector, part, b.offset(column, i), lane);
          });
          if (whole < columns)
            loadElements(part, first, lane, whole);
        },
        [&] { loadElements(part, first, lane, 0); });
  };
  b.forEachVector(tile.getDimSize(0), loadVector, used);
}

void tilewright::emitStore(VectorBuilder &b, const Homes &homes, const IRMapping &scalars,
                           Value tile, View view) {
  auto type = cast<RankedTensorType>(tile.getType());
  const int64_t columns = type.getRank() == 2 ? type.getDimSize(1) : 1, lanes = b.shape.lanes;
  const int64_t whole =
      type.getRank() == 2 && isVectorElement(type.getElementType()) ? columns / lanes * lanes : 0;

  const auto storeVector = [&](Value first, Value lane) {
    LaneCode code(b, homes, scalars, lane, first);
    code.hoist(tile);
    Value query = arith::AddIOp::create(b, first, lane);
    // LLVM moves elements of bf16 about by way of f32; those of i16 it just moves.
    const Type element = type.getElementType();
    const Type moved = element.isBF16() ? b.getI16Type() : element;
    const auto evaluate = [&](Value column) -> Value {
      code.moveTo(column);
      Value vector = code.vector(tile);
      return moved == element ? vector : arith::BitcastOp::create(b, b.vectorOf(moved), vector);
    };
    const auto asElement = [&](Value value, Type type) -> Value {
      return moved == element ? value : arith::BitcastOp::create(b, type, value);
    };
    SmallVector<SmallVector<Value>> places;
    for (int64_t i = 0; i < lanes; ++i)
      places.push_back(indicesOf(b, view, b.offset(query, i)));
    const auto forEachQuery = [&](function_ref<void(int64_t)> body) {
      for (int64_t i = 0; i < lanes; ++i) {
        Value exists =
            arith::CmpIOp::create(b, arith::CmpIPredicate::slt, b.offset(query, i), view.count);
        b.branch(exists, [&] { body(i); });
      }
    };
    if (whole > 0)
      b.loop(b.index(0), b.index(whole), lanes, [&](Value column) {
        SmallVector<Value> vectors;
        for (int64_t i = 0; i < lanes; ++i)
          vectors.push_back(evaluate(b.offset(column, i)));
        vectors = transpose(b, vectors);
        forEachQuery([&](int64_t i) {
          vector::StoreOp::create(b, asElement(vectors[i], b.vectorOf(element)), view.rows,
                                  indicesWith(places[i], column));
        });
      });
    if (whole < columns)
      b.loop(b.index(whole), b.index(columns), 1, [&](Value column) {
        Value vector = evaluate(column);
        forEachQuery([&](int64_t i) {
          Value value = vector::ExtractOp::create(b, vector, i);
          memref::StoreOp::create(b, asElement(value, element), view.rows,
                                  type.getRank() == 2 ? indicesWith(places[i], column) : places[i]);
        });
      });
  };
  b.forEachVector(type.getDimSize(0), storeVector, view.count);
}
