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

void tilewright::emitLoad(VectorBuilder &b, View view, RankedTensorType tile, Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  const Type resting = type.getElementType();
  const int64_t columns = type.getDimSize(0);
  b.loop(b.index(0), b.index(columns), 1, [&](Value column) {
    Value zero = b.constant(cast<TypedAttr>(b.getZeroAttr(resting)));
    b.loop(view.count, b.index(type.getDimSize(1)), 1, [&](Value query) {
      memref::StoreOp::create(b, zero, buffer, ValueRange{column, query});
    });
    b.loop(b.index(0), view.count, 1, [&](Value query) {
      SmallVector<Value> position = {query};
      if (tile.getRank() == 2)
        position.push_back(column);
      Value element = memref::LoadOp::create(b, view.rows, position);
      if (isa<FloatType>(resting))
        element = b.widen(element, resting);
      else if (element.getType() != resting)
        element = arith::ExtUIOp::create(b, resting, element);
      memref::StoreOp::create(b, element, buffer, ValueRange{column, query});
    });
  });
}

void tilewright::emitStore(VectorBuilder &b, Homes &homes, const IRMapping &scalars, Value tile,
                           View view) {
  auto type = cast<RankedTensorType>(tile.getType());
  const size_t scope = homes.openScope();
  Value buffer = homes.acquire(homes.bufferType(type, homes.restingType(type.getElementType())));
  emitInto(b, homes, scalars, tile, buffer);
  b.loop(b.index(0), b.index(cast<MemRefType>(buffer.getType()).getDimSize(0)), 1,
         [&](Value column) {
           b.loop(b.index(0), view.count, 1, [&](Value query) {
             Value element = memref::LoadOp::create(b, buffer, ValueRange{column, query});
             if (element.getType() != type.getElementType()) {
               if (isa<FloatType>(type.getElementType()))
                 element = arith::TruncFOp::create(b, type.getElementType(), element);
               else
                 element = arith::TruncIOp::create(b, type.getElementType(), element);
             }
             SmallVector<Value> position = {query};
             if (type.getRank() == 2)
               position.push_back(column);
             memref::StoreOp::create(b, element, view.rows, position);
           });
         });
  homes.closeScope(scope);
}
