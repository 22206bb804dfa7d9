//===- Mathematics.cpp - Functions of score expressions -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/SMToNVVM/Mathematics.h"
#include "compiler/Conversion/SMToNVVM/Fragments.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"

#include <numbers>

using namespace mlir;
using namespace tilewright;
using namespace tilewright::sm90;

namespace {
/// f32 arithmetic on scalars, written as such.
struct Real {
  LocBuilder &b;
  Value value;
};
/// A constant in the text of `like`.
Real real(Real like, float value) {
  return {like.b, arith::ConstantOp::create(like.b, like.b.getF32FloatAttr(value))};
}
Real operator+(Real x, Real y) {
  return {x.b, arith::AddFOp::create(x.b, x.value, y.value)};
}
Real operator-(Real x, Real y) {
  return {x.b, arith::SubFOp::create(x.b, x.value, y.value)};
}
Real operator*(Real x, Real y) {
  return {x.b, arith::MulFOp::create(x.b, x.value, y.value)};
}
Real fma(Real x, Real y, Real z) {
  return {x.b, math::FmaOp::create(x.b, x.value, y.value, z.value)};
}

/// x * log2(e) is rounded, which costs |x| * 2^-24 in the result; the remainder mends it.
Real exponential(Real x) {
  const Real log2e = real(x, std::numbers::log2e_v<float>);
  const Real rest = real(x, static_cast<float>(std::numbers::log2e - std::numbers::log2e_v<float>));
  const Real scaled = x * log2e;
  const Real remainder = fma(x, rest, fma(x, log2e, real(x, 0) - scaled));
  const Real power{x.b, exp2(x.b, scaled.value)};
  const Real mended = fma(power, remainder * real(x, std::numbers::ln2_v<float>), power);
  // Past the ends, where the remainder is inf - inf, the power is right as it is.
  Value isPast =
      arith::CmpFOp::create(x.b, arith::CmpFPredicate::UNO, remainder.value, remainder.value);
  Value isInfinite = arith::CmpFOp::create(x.b, arith::CmpFPredicate::OEQ, power.value,
                                           real(x, std::numeric_limits<float>::infinity()).value);
  Value asItIs = arith::OrIOp::create(x.b, isPast, isInfinite);
  return {x.b, arith::SelectOp::create(x.b, asItIs, power.value, mended.value)};
}

/// 1 - 2 / (e^2|x| + 1) with x's sign; near 0, where that cancels, the Taylor series.
Real hyperbolicTangent(Real x) {
  const Real magnitude{x.b, math::AbsFOp::create(x.b, x.value)};
  const Real grown = exponential(magnitude * real(x, 2)) + real(x, 1);
  const Real far = fma(real(x, -2), Real{x.b, reciprocal(x.b, grown.value)}, real(x, 1));
  const Real farWithSign{x.b, math::CopySignOp::create(x.b, far.value, x.value)};
  const Real square = x * x;
  const Real series =
      fma(fma(fma(real(x, -17.f / 315), square, real(x, 2.f / 15)), square, real(x, -1.f / 3)),
          square * x, x);
  Value isNear = arith::CmpFOp::create(x.b, arith::CmpFPredicate::OLT, magnitude.value,
                                       real(x, 0.0625f).value);
  return {x.b, arith::SelectOp::create(x.b, isNear, series.value, farWithSign.value)};
}
} // namespace

Value sm90::functionValue(LocBuilder &b, Operation *op, Value operand) {
  auto apply = [&](Value x) -> Value {
    if (isa<math::ExpOp>(op))
      return exponential({b, x}).value;
    if (isa<math::Exp2Op>(op))
      return exp2(b, x);
    if (isa<math::LogOp>(op))
      return (Real{b, log2(b, x)} * real({b, x}, std::numbers::ln2_v<float>)).value;
    if (isa<math::Log2Op>(op))
      return log2(b, x);
    if (isa<math::TanhOp>(op))
      return hyperbolicTangent({b, x}).value;
    return {};
  };
  if (!isa<math::ExpOp, math::Exp2Op, math::LogOp, math::Log2Op, math::TanhOp>(op) ||
      !getElementTypeOrSelf(operand.getType()).isF32())
    return {};
  if (!isa<VectorType>(operand.getType()))
    return apply(operand);
  return fromElements(b, llvm::map_to_vector(elements(b, operand), apply));
}

bool sm90::isNative(Operation *op) {
  return isa<math::AbsFOp, math::AbsIOp, math::CeilOp, math::CopySignOp, math::FloorOp, math::FmaOp,
             math::SqrtOp>(op);
}
