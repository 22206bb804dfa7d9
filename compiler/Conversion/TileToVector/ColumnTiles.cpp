//===- ColumnTiles.cpp - Tiles with columns on lanes ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/TileToVector/ColumnTiles.h"
#include "compiler/Conversion/TileToVector/VectorMath.h"

#include "mlir/IR/TypeUtilities.h"

#include <limits>

using namespace mlir;
using namespace tilewright;

static bool isRow(RankedTensorType tile) {
  return tile.getRank() == 1;
}

static Value asResting(VectorBuilder &b, Value value, Type resting) {
  if (getElementTypeOrSelf(value) == resting)
    return value;
  if (isa<FloatType>(resting))
    return b.widen(value, resting);
  auto vector = dyn_cast<VectorType>(value.getType());
  return arith::ExtUIOp::create(b, vector ? vector.clone(resting) : resting, value);
}

static void storeScalar(VectorBuilder &b, Value value, Value buffer, Value row) {
  memref::StoreOp::create(b, value, buffer, ValueRange{b.index(0), row});
}

void tilewright::emitColumnLoad(VectorBuilder &b, const Homes &homes, View view,
                                RankedTensorType tile, Value buffer) {
  const Type resting = cast<MemRefType>(buffer.getType()).getElementType();
  const Type element = tile.getElementType();
  const int64_t columns = isRow(tile) ? 1 : tile.getDimSize(1), lanes = b.shape.lanes;
  // Vectors of i1 are packed bits in memory.
  const int64_t whole = isRow(tile) || element.isInteger(1) ? 0 : columns / lanes * lanes;
  Value zero = b.constant(cast<TypedAttr>(b.getZeroAttr(resting)));
  Value existing = arith::MinSIOp::create(b, view.count, homes.rowsOf(tile));
  b.loop(b.index(0), existing, 1, [&](Value row) {
    const SmallVector<Value> place = indicesOf(b, view, row);
    if (isRow(tile))
      return storeScalar(b, asResting(b, memref::LoadOp::create(b, view.rows, place), resting),
                         buffer, row);
    if (whole > 0)
      b.loop(b.index(0), b.index(whole), lanes, [&](Value column) {
        Value vector =
            vector::LoadOp::create(b, b.vectorOf(element), view.rows, indicesWith(place, column));
        b.store(asResting(b, vector, resting), buffer, row, column);
      });
    for (int64_t column = whole; column < columns; ++column) {
      Value value = memref::LoadOp::create(b, view.rows, indicesWith(place, b.index(column)));
      memref::StoreOp::create(b, asResting(b, value, resting), buffer,
                              ValueRange{row, b.index(column)});
    }
    for (int64_t column = columns; column < b.shape.padded(columns); ++column)
      memref::StoreOp::create(b, zero, buffer, ValueRange{row, b.index(column)});
  });
  b.loop(existing, homes.rowsOf(tile), 1, [&](Value row) {
    if (isRow(tile))
      return storeScalar(b, zero, buffer, row);
    b.loop(b.index(0), b.index(b.shape.padded(columns)), lanes,
           [&](Value column) { b.store(b.broadcast(zero), buffer, row, column); });
  });
}

void tilewright::emitColumnStore(VectorBuilder &b, const Homes &homes, const IRMapping &scalars,
                                 Value tile, View view) {
  auto type = cast<RankedTensorType>(tile.getType());
  const Type element = type.getElementType();
  // LLVM moves elements of bf16 about by way of f32; those of i16 it just moves.
  const bool isMovedAsBits = element.isBF16();
  const int64_t columns = isRow(type) ? 1 : type.getDimSize(1), lanes = b.shape.lanes;
  const int64_t whole = element.isInteger(1) ? 0 : columns / lanes * lanes;
  b.loop(b.index(0), view.count, 1, [&](Value row) {
    const SmallVector<Value> place = indicesOf(b, view, row);
    LaneCode code(b, homes, scalars, row);
    code.hoist(tile);
    if (isRow(type)) {
      memref::StoreOp::create(b, code.scalar(tile), view.rows, place);
      return;
    }
    if (whole > 0)
      b.loop(b.index(0), b.index(whole), lanes, [&](Value column) {
        code.moveTo(column);
        vector::StoreOp::create(b, code.vector(tile), view.rows, indicesWith(place, column));
      });
    if (whole == columns)
      return;
    b.loop(b.index(whole), b.index(columns), lanes, [&](Value column) {
      code.moveTo(column);
      Value vector = code.vector(tile);
      if (isMovedAsBits)
        vector = arith::BitcastOp::create(b, b.vectorOf(b.getI16Type()), vector);
      const int64_t rest = whole > 0 || columns < lanes ? columns % lanes : lanes;
      for (int64_t i = 0; i < rest; ++i) {
        Value value = vector::ExtractOp::create(b, vector, i);
        if (isMovedAsBits)
          value = arith::BitcastOp::create(b, element, value);
        memref::StoreOp::create(b, value, view.rows, indicesWith(place, b.offset(column, i)));
      }
    });
  });
}

void tilewright::emitColumnsInto(VectorBuilder &b, const Homes &homes, const IRMapping &scalars,
                                 Value tile, Value buffer) {
  auto type = cast<RankedTensorType>(tile.getType());
  const Type resting = cast<MemRefType>(buffer.getType()).getElementType();
  b.loop(b.index(0), homes.rowsOf(type), 1, [&](Value row) {
    LaneCode code(b, homes, scalars, row);
    code.hoist(tile);
    if (isRow(type))
      return storeScalar(b, asResting(b, code.scalar(tile), resting), buffer, row);
    b.loop(b.index(0), b.index(type.getDimSize(1)), b.shape.lanes, [&](Value column) {
      code.moveTo(column);
      b.store(code.restingVector(tile, resting), buffer, row, column);
    });
  });
}

/// `combine` of all lanes, in every lane.
static Value acrossLanes(VectorBuilder &b, Value vector,
                         function_ref<Value(Value, Value)> combine) {
  const int64_t lanes = b.shape.lanes;
  for (int64_t distance = lanes / 2; distance > 0; distance /= 2) {
    SmallVector<int64_t> order;
    for (int64_t i = 0; i < lanes; ++i)
      order.push_back(i ^ distance);
    vector = combine(vector, vector::ShuffleOp::create(b, vector, vector, order));
  }
  return vector;
}

void tilewright::emitColumnSoftmaxStep(VectorBuilder &b, tile::SoftmaxStepOp step,
                                       const Homes &homes, const IRMapping &scalars) {
  const RankedTensorType type = step.getScores().getType();
  const int64_t lanes = b.shape.lanes, keys = type.getDimSize(1);
  const Value weights = homes.bufferOf(step.getWeights());
  const VectorType vector = b.vectorOf(type.getElementType());
  Value none = b.real(vector, -std::numeric_limits<double>::infinity());

  /// Lanes behind the last key are of none.
  const auto hidePadding = [&](Value score, Value key) -> Value {
    if (keys % lanes == 0)
      return score;
    return arith::SelectOp::create(b, b.lanesBelow(arith::SubIOp::create(b, b.index(keys), key)),
                                   score, none);
  };
  const auto storeFirst = [&](Value value, Value tile, Value row) {
    storeScalar(b, vector::ExtractOp::create(b, value, 0), homes.bufferOf(tile), row);
  };

  b.loop(b.index(0), homes.rowsOf(type), 1, [&](Value row) {
    LaneCode code(b, homes, scalars, row);
    code.hoist(step.getScores());
    Value reference = code.vector(step.getReference()), sum = code.vector(step.getSum());
    Value maximum =
        b.loop(b.index(0), b.index(keys), lanes, reference, [&](Value key, ValueRange maxima) {
          code.moveTo(key);
          Value score = hidePadding(code.vector(step.getScores()), key);
          b.store(score, weights, row, key);
          return SmallVector<Value>{b.maximum(score, maxima[0])};
        })[0];
    maximum = acrossLanes(b, maximum, [&](Value x, Value y) { return b.maximum(x, y); });

    // A row without a visible key has no reference: subtracting 0 leaves its scores -inf.
    Value shift = b.choose(arith::CmpFPredicate::OEQ, maximum, none, b.real(vector, 0), maximum);
    ExponentialOfDifference exponential(b, vector);
    Value alpha = exponential(reference, shift);
    storeFirst(alpha, step.getAlpha(), row);
    storeFirst(maximum, step.getNewReference(), row);

    Value added = b.loop(b.index(0), b.index(keys), lanes, b.real(vector, 0),
                         [&](Value key, ValueRange sums) {
                           Value weight = exponential(b.load(weights, row, key), shift);
                           b.store(weight, weights, row, key);
                           return SmallVector<Value>{b.add(sums[0], weight)};
                         })[0];
    added = acrossLanes(b, added, [&](Value x, Value y) { return b.add(x, y); });
    storeFirst(b.multiplyAdd(sum, alpha, added), step.getNewSum(), row);
  });
}
