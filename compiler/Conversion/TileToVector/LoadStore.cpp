//===- LoadStore.cpp - Between memory and lanes ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/TileToVector/LoadStore.h"

using namespace mlir;
using namespace tilewright;

View tilewright::emitView(VectorBuilder &b, Value tensor, ValueRange indices,
                          RankedTensorType tile) {
  auto type = cast<MemRefType>(tensor.getType());
  const int64_t rowDim = indices.size() - 1;
  Value first = indices.back();
  Value extent = memref::DimOp::create(b, tensor, b.index(rowDim));
  Value count = arith::SubIOp::create(b, extent, first);
  count = arith::MinSIOp::create(b, count, b.index(tile.getDimSize(0)));
  count = arith::MaxSIOp::create(b, count, b.index(0));

  SmallVector<OpFoldResult> offsets = llvm::to_vector_of<OpFoldResult>(indices);
  SmallVector<OpFoldResult> sizes(rowDim, b.getIndexAttr(1));
  SmallVector<OpFoldResult> strides(type.getRank(), b.getIndexAttr(1));
  SmallVector<int64_t> shape = {ShapedType::kDynamic};
  sizes.push_back(count);
  if (tile.getRank() == 2) {
    offsets.push_back(b.getIndexAttr(0));
    sizes.push_back(b.getIndexAttr(tile.getDimSize(1)));
    shape.push_back(tile.getDimSize(1));
  }
  MemRefType rows =
      memref::SubViewOp::inferRankReducedResultType(shape, type, offsets, sizes, strides);
  return {memref::SubViewOp::create(b, rows, tensor, offsets, sizes, strides), count};
}

View tilewright::emitWidened(VectorBuilder &b, View view, Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  const Type from = cast<MemRefType>(view.rows.getType()).getElementType();
  const int64_t columns = type.getDimSize(1), whole = columns / b.shape.lanes * b.shape.lanes;
  b.loop(b.index(0), view.count, 1, [&](Value row) {
    if (whole > 0)
      b.loop(b.index(0), b.index(whole), b.shape.lanes, [&](Value column) {
        Value vector =
            vector::LoadOp::create(b, b.vectorOf(from), view.rows, ValueRange{row, column});
        b.store(b.widen(vector, type.getElementType()), buffer, row, column);
      });
    if (whole < columns)
      b.loop(b.index(whole), b.index(columns), 1, [&](Value column) {
        Value scalar = memref::LoadOp::create(b, view.rows, ValueRange{row, column});
        memref::StoreOp::create(b, b.widen(scalar, type.getElementType()), buffer,
                                ValueRange{row, column});
      });
  });
  return {buffer, view.count};
}

/// Transposes lanes x lanes elements in registers: at each level, pairs of vectors that are
/// `distance` apart exchange their off-diagonal halves of each 2 distance elements.
static SmallVector<Value> transpose(VectorBuilder &b, SmallVector<Value> rows) {
  const int64_t lanes = b.shape.lanes;
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

void tilewright::emitLoad(VectorBuilder &b, View view, RankedTensorType tile, Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  const Type resting = type.getElementType(), element = tile.getElementType();
  const int64_t columns = type.getDimSize(0), lanes = b.shape.lanes;
  const int64_t whole =
      tile.getRank() == 2 && isVectorElement(element) ? columns / lanes * lanes : 0;

  // One element at a time: columns that fill no vector, and queries that fill none.
  const auto loadElements = [&](Value lane, int64_t firstColumn) {
    Value zero = b.constant(cast<TypedAttr>(b.getZeroAttr(resting)));
    Value end = b.offset(lane, lanes);
    Value valid = arith::MaxSIOp::create(b, arith::MinSIOp::create(b, view.count, end), lane);
    b.loop(b.index(firstColumn), b.index(columns), 1, [&](Value column) {
      b.loop(lane, valid, 1, [&](Value query) {
        const SmallVector<Value> position =
            tile.getRank() == 2 ? SmallVector<Value>{query, column} : SmallVector<Value>{query};
        Value value = memref::LoadOp::create(b, view.rows, position);
        memref::StoreOp::create(b, asResting(b, value, resting), buffer, ValueRange{column, query});
      });
      b.loop(valid, end, 1, [&](Value query) {
        memref::StoreOp::create(b, zero, buffer, ValueRange{column, query});
      });
    });
  };

  b.loop(b.index(0), b.index(type.getDimSize(1)), lanes, [&](Value lane) {
    if (whole == 0)
      return loadElements(lane, 0);
    Value isFull =
        arith::CmpIOp::create(b, arith::CmpIPredicate::sle, b.offset(lane, lanes), view.count);
    b.branch(
        isFull,
        [&] {
          b.loop(b.index(0), b.index(whole), lanes, [&](Value column) {
            SmallVector<Value> rows;
            for (int64_t i = 0; i < lanes; ++i) {
              Value row = vector::LoadOp::create(b, b.vectorOf(element), view.rows,
                                                 ValueRange{b.offset(lane, i), column});
              rows.push_back(isa<FloatType>(resting) ? b.widen(row, resting) : row);
            }
            for (auto [i, vector] : llvm::enumerate(transpose(b, rows)))
              b.store(vector, buffer, b.offset(column, i), lane);
          });
          if (whole < columns)
            loadElements(lane, whole);
        },
        [&] { loadElements(lane, 0); });
  });
}

void tilewright::emitStore(VectorBuilder &b, const Homes &homes, const IRMapping &scalars,
                           Value tile, View view) {
  auto type = cast<RankedTensorType>(tile.getType());
  const int64_t columns = type.getRank() == 2 ? type.getDimSize(1) : 1, lanes = b.shape.lanes;
  const int64_t whole =
      type.getRank() == 2 && isVectorElement(type.getElementType()) ? columns / lanes * lanes : 0;

  b.loop(b.index(0), b.index(b.shape.padded(type.getDimSize(0))), lanes, [&](Value lane) {
    LaneCode code(b, homes, scalars, lane);
    code.hoist(tile);
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
    const auto forEachQuery = [&](function_ref<void(int64_t, Value)> body) {
      for (int64_t i = 0; i < lanes; ++i) {
        Value query = b.offset(lane, i);
        Value exists = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, query, view.count);
        b.branch(exists, [&] { body(i, query); });
      }
    };
    if (whole > 0)
      b.loop(b.index(0), b.index(whole), lanes, [&](Value column) {
        SmallVector<Value> vectors;
        for (int64_t i = 0; i < lanes; ++i)
          vectors.push_back(evaluate(b.offset(column, i)));
        vectors = transpose(b, vectors);
        forEachQuery([&](int64_t i, Value query) {
          vector::StoreOp::create(b, asElement(vectors[i], b.vectorOf(element)), view.rows,
                                  ValueRange{query, column});
        });
      });
    if (whole < columns)
      b.loop(b.index(whole), b.index(columns), 1, [&](Value column) {
        Value vector = evaluate(column);
        forEachQuery([&](int64_t i, Value query) {
          Value value = vector::ExtractOp::create(b, vector, i);
          const SmallVector<Value> position =
              type.getRank() == 2 ? SmallVector<Value>{query, column} : SmallVector<Value>{query};
          memref::StoreOp::create(b, asElement(value, element), view.rows, position);
        });
      });
  });
}
