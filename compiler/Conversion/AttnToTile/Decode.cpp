//===- Decode.cpp - Few queries against many keys -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/AttnToTile/Decode.h"

#include "dialect/Tile/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace tilewright;

DecodeBlocks tilewright::decodeBlocks(int64_t rows, int64_t below, int64_t run, int64_t rowBits,
                                      int64_t mostKeys) {
  constexpr int64_t cacheBits = int64_t(16) * 1024 * 8, leastKeys = 16;
  const int64_t fitting = cacheBits / rowBits / leastKeys * leastKeys;
  const int64_t keys = std::min(mostKeys, std::max(leastKeys, fitting));
  return {rows, below, keys, std::max<int64_t>(1, run / keys)};
}

Value FoldedHeads::operator()(Value tensor) const {
  const auto type = cast<MemRefType>(tensor.getType());
  auto parts = memref::ExtractStridedMetadataOp::create(builder, tensor);
  ValueRange sizes = parts.getSizes(), strides = parts.getStrides();
  Value headStride = strides[1];
  SmallVector<OpFoldResult> newSizes = {sizes[0], keyHeads, sizes[2], group};
  SmallVector<OpFoldResult> newStrides = {
      strides[0], arith::MulIOp::create(builder, headStride, group).getResult(), strides[2],
      headStride};
  SmallVector<int64_t> shape(4, ShapedType::kDynamic), layout(4, ShapedType::kDynamic);
  if (type.getRank() == 4) {
    shape.push_back(type.getDimSize(3));
    layout.push_back(1);
    newSizes.push_back(builder.getIndexAttr(shape.back()));
    newStrides.push_back(builder.getIndexAttr(1));
  }
  auto folded =
      MemRefType::get(shape, type.getElementType(),
                      StridedLayoutAttr::get(builder.getContext(), ShapedType::kDynamic, layout));
  return memref::ReinterpretCastOp::create(builder, folded, parts.getBaseBuffer(),
                                           OpFoldResult(parts.getOffset()), newSizes, newStrides);
}

Partials Partials::allocate(ImplicitLocOpBuilder &builder, ValueRange extents, int64_t valueDim,
                            Type real) {
  SmallVector<int64_t> shape(extents.size(), ShapedType::kDynamic);
  const auto allocate = [&]() -> Value {
    return memref::AllocOp::create(builder, MemRefType::get(shape, real), extents);
  };
  Value reference = allocate(), sum = allocate();
  shape.push_back(valueDim);
  return {allocate(), reference, sum};
}

void Partials::store(ImplicitLocOpBuilder &builder, const State &state, ValueRange indices) const {
  tile::StoreOp::create(builder, state.accumulator, accumulator, indices);
  tile::StoreOp::create(builder, state.reference, reference, indices);
  tile::StoreOp::create(builder, state.sum, sum, indices);
}

State Partials::load(ImplicitLocOpBuilder &builder, int64_t rows, ValueRange indices) const {
  const auto load = [&](Value tensor) -> Value {
    auto type = cast<MemRefType>(tensor.getType());
    SmallVector<int64_t> shape = {rows};
    if (type.getRank() == 5)
      shape.push_back(type.getDimSize(4));
    return tile::LoadOp::create(builder, RankedTensorType::get(shape, type.getElementType()),
                                tensor, indices);
  };
  return {load(accumulator), load(reference), load(sum)};
}

State tilewright::combine(ImplicitLocOpBuilder &builder, const State &a, const State &b) {
  const auto row = cast<RankedTensorType>(a.reference.getType());
  const auto constant = [&](const APFloat &value) -> Value {
    return arith::ConstantOp::create(builder, DenseElementsAttr::get(row, value));
  };
  const llvm::fltSemantics &format = cast<FloatType>(row.getElementType()).getFloatSemantics();
  const auto choose = [&](arith::CmpFPredicate predicate, Value x, Value y, Value then,
                          Value otherwise) -> Value {
    Value condition = arith::CmpFOp::create(builder, predicate, x, y);
    return arith::SelectOp::create(builder, condition, then, otherwise);
  };
  Value reference =
      choose(arith::CmpFPredicate::OGT, b.reference, a.reference, b.reference, a.reference);
  // Rows that have seen no key subtract 0 and so keep the weight 0.
  Value shift =
      choose(arith::CmpFPredicate::OEQ, reference, constant(APFloat::getInf(format, true)),
             constant(APFloat::getZero(format)), reference);
  const auto weightOf = [&](const State &state) -> Value {
    return math::ExpOp::create(builder, arith::SubFOp::create(builder, state.reference, shift));
  };
  const auto add = [&](Value x, Value factorX, Value y, Value factorY) -> Value {
    return arith::AddFOp::create(builder, arith::MulFOp::create(builder, x, factorX),
                                 arith::MulFOp::create(builder, y, factorY));
  };
  Value weightA = weightOf(a), weightB = weightOf(b);
  const auto wide = [&](Value weight) -> Value {
    return tile::BroadcastOp::create(builder, a.accumulator.getType(), weight);
  };
  return {add(a.accumulator, wide(weightA), b.accumulator, wide(weightB)), reference,
          add(a.sum, weightA, b.sum, weightB)};
}
