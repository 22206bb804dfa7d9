//===- Fragments.cpp - Register tiles as one thread holds them ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/SMToNVVM/Fragments.h"
#include "dialect/SM/SM.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::sm90;

Place Place::of(LocBuilder &b, Value threadIndex) {
  Value lane = arith::AndIOp::create(b, threadIndex, constant(b, 31));
  Value warp = arith::ShRUIOp::create(b, threadIndex, constant(b, 5));
  return {arith::AndIOp::create(b, warp, constant(b, 3)), lane,
          arith::ShRUIOp::create(b, lane, constant(b, 2)),
          arith::AndIOp::create(b, lane, constant(b, 3))};
}

Type sm90::fragmentType(Type type) {
  if (auto inFlight = dyn_cast<sm::InFlightType>(type))
    type = inFlight.getTensor();
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return type;
  if (isa<sm::OperandAttr>(tensor.getEncoding()))
    return VectorType::get({tensor.getDimSize(1) / 4}, IntegerType::get(type.getContext(), 32));
  if (isa<sm::AccumulatorAttr>(tensor.getEncoding()))
    return VectorType::get({tensor.getDimSize(1) / 2}, tensor.getElementType());
  return VectorType::get({2}, tensor.getElementType());
}

SmallVector<Value> sm90::elements(LocBuilder &b, Value vector) {
  return vector::ToElementsOp::create(b, vector).getResults();
}

Value sm90::fromElements(LocBuilder &b, ValueRange elements) {
  auto type = VectorType::get({static_cast<int64_t>(elements.size())}, elements[0].getType());
  return vector::FromElementsOp::create(b, type, elements);
}

Value sm90::firstRow(LocBuilder &b, const Place &place) {
  Value ofWarp = arith::MulIOp::create(b, place.warp, constant(b, 16));
  return arith::AddIOp::create(b, ofWarp, place.group);
}

Value sm90::firstColumn(LocBuilder &b, const Place &place) {
  return arith::MulIOp::create(b, place.inGroup, constant(b, 2));
}

Value sm90::coordinates(LocBuilder &b, const Place &place, VectorType type, Value first,
                        int64_t dim) {
  Value origin =
      arith::AddIOp::create(b, first, dim == 0 ? firstRow(b, place) : firstColumn(b, place));
  SmallVector<Value> values;
  for (int64_t i = 0; i < type.getNumElements(); ++i)
    values.push_back(
        arith::AddIOp::create(b, origin, constant(b, dim == 0 ? 8 * rowOf(i) : columnOf(i))));
  return fromElements(b, values);
}

Value sm90::broadcast(LocBuilder &b, Value source, VectorType type) {
  if (!isa<VectorType>(source.getType()))
    return vector::BroadcastOp::create(b, type, source);
  SmallVector<Value> rows = elements(b, source), values;
  for (int64_t i = 0; i < type.getNumElements(); ++i)
    values.push_back(rows[static_cast<size_t>(rowOf(i))]);
  return fromElements(b, values);
}

Value sm90::pack(LocBuilder &b, Value accumulator, Type element) {
  SmallVector<Value> values = elements(b, accumulator), words;
  auto pair = VectorType::get({2}, element);
  auto word = VectorType::get({1}, b.getI32Type());
  for (size_t i = 0; i < values.size(); i += 2) {
    Value two = fromElements(b, {values[i], values[i + 1]});
    Value rounded = arith::TruncFOp::create(b, pair, two);
    words.push_back(elements(b, vector::BitCastOp::create(b, word, rounded))[0]);
  }
  return fromElements(b, words);
}

static Value combined(LocBuilder &b, Value x, Value y, Combine combine) {
  // A NaN is not kept by this maximum; its own difference to the maximum is NaN again.
  if (combine == Combine::Maximum)
    return arith::MaxNumFOp::create(b, x, y);
  return arith::AddFOp::create(b, x, y);
}

Value sm90::overQuad(LocBuilder &b, Value row, Combine combine) {
  SmallVector<Value> values;
  for (Value value : elements(b, row)) {
    for (int mask : {1, 2})
      value = combined(b, value, exchange(b, value, mask), combine);
    values.push_back(value);
  }
  return fromElements(b, values);
}

Value sm90::alongRows(LocBuilder &b, Value accumulator, Value start, Combine combine) {
  // Two chains a row: half the latency of one.
  SmallVector<Value> chains[2], values = elements(b, accumulator), rows = elements(b, start);
  for (size_t row = 0; row < 2; ++row)
    chains[row] = {rows[row], Value()};
  for (auto [i, value] : llvm::enumerate(values)) {
    Value &chain = chains[rowOf(static_cast<int64_t>(i))][i % 2];
    chain = chain ? combined(b, chain, value, combine) : value;
  }
  return fromElements(b, {combined(b, chains[0][0], chains[0][1], combine),
                          combined(b, chains[1][0], chains[1][1], combine)});
}
