//===- Softmax.cpp - The online softmax in registers ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/SMToNVVM/Softmax.h"
#include "compiler/Conversion/SMToNVVM/Fragments.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <limits>
#include <numbers>

using namespace mlir;
using namespace tilewright;
using namespace tilewright::sm90;

static Value splat(LocBuilder &b, Type type, float value) {
  Attribute element = b.getF32FloatAttr(value);
  if (auto vector = dyn_cast<VectorType>(type))
    element = DenseElementsAttr::get(vector, element);
  return arith::ConstantOp::create(b, cast<TypedAttr>(element));
}

static constexpr float none = -std::numeric_limits<float>::infinity();

/// 2^(x * log2(e)) for each element.
static Value exponential(LocBuilder &b, Value x) {
  Value scaled = arith::MulFOp::create(b, x, splat(b, x.getType(), std::numbers::log2e_v<float>));
  SmallVector<Value> values;
  for (Value value : elements(b, scaled))
    values.push_back(exp2(b, value));
  return fromElements(b, values);
}

/// What can be subtracted from a score, or from a reference: 0 in place of none.
static Value subtrahend(LocBuilder &b, Value reference) {
  Value isNone = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, reference,
                                       splat(b, reference.getType(), none));
  return arith::SelectOp::create(b, isNone, splat(b, reference.getType(), 0), reference);
}

SoftmaxState sm90::softmaxInit(LocBuilder &b) {
  auto row = VectorType::get({2}, b.getF32Type());
  return {splat(b, row, none), splat(b, row, 0)};
}

SoftmaxStep sm90::softmaxStep(LocBuilder &b, Value scores, SoftmaxState state) {
  Value reference =
      overQuad(b, alongRows(b, scores, state.reference, Combine::Maximum), Combine::Maximum);
  Value subtracted = subtrahend(b, reference);
  Value alpha = exponential(b, arith::SubFOp::create(b, state.reference, subtracted));
  Value difference = arith::SubFOp::create(
      b, scores, broadcast(b, subtracted, cast<VectorType>(scores.getType())));
  Value weights = exponential(b, difference);
  Value sum = alongRows(b, weights, arith::MulFOp::create(b, state.sum, alpha), Combine::Sum);
  return {weights, {reference, sum}, alpha};
}

Value sm90::rescale(LocBuilder &b, Value accumulator, Value alpha) {
  return arith::MulFOp::create(b, accumulator,
                               broadcast(b, alpha, cast<VectorType>(accumulator.getType())));
}

SoftmaxResult sm90::softmaxFinalize(LocBuilder &b, Value accumulator, SoftmaxState state) {
  Value sum = overQuad(b, state.sum, Combine::Sum);
  SmallVector<Value> inverses, logarithms;
  for (Value value : elements(b, sum)) {
    Value zero = splat(b, b.getF32Type(), 0);
    Value isEmpty = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, value, zero);
    inverses.push_back(arith::SelectOp::create(b, isEmpty, zero, reciprocal(b, value)));
    // log2(0) = -inf, as the rule for empty rows wants it.
    logarithms.push_back(arith::MulFOp::create(
        b, log2(b, value), splat(b, b.getF32Type(), std::numbers::ln2_v<float>)));
  }
  return {rescale(b, accumulator, fromElements(b, inverses)),
          arith::AddFOp::create(b, state.reference, fromElements(b, logarithms))};
}
