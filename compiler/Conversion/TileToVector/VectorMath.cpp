//===- VectorMath.cpp - Functions of vectors ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/TileToVector/VectorMath.h"
#include "compiler/Conversion/TileToVector/Avx512Math.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;
using namespace tilewright;

namespace {
/// What a binary floating-point format fixes.
struct Format {
  Type integer;         ///< vector of integers of the same width
  int64_t mantissaBits; ///< stored ones
  int64_t bias;
  /// Added to a number, it rounds the sum to an integer that then sits in the lowest bits.
  double roundingConstant;
};

/// Polynomials for 2^x = 1 + x * (c[0] + c[1] x + ...) on [-1/2, 1/2]: those of least relative
/// error with 1 as the constant term, by the exchange algorithm of Remez in 60 digits, rounded to
/// the format when they are emitted. f32: degree 6, 2.0e-9 before rounding; f64: degree
/// 11, 3.4e-18. So the error is that of evaluating them.
constexpr double exp2Single[] = {0.69314720285503164763,   0.24022647913636852127,
                                 0.055503324711908571697,  0.0096184373569574205587,
                                 0.0013398874393981390061, 0.00015353362068858489034};
constexpr double exp2Double[] = {
    0.69314718055994532581,     0.2402265069591013126,    0.055504108664820083227,
    0.0096181291075941200896,   0.0013333558146774620517, 0.0001540353045711209086,
    0.000015252733493127489347, 1.3215435282308487999e-6, 1.0178199571842137974e-7,
    7.0737832485031332991e-9,   4.4347712982003767083e-10};
constexpr double log2OfE = 1.4426950408889634074;

/// ln 2 as a number with enough trailing zeros that its product with an exponent is exact, and the
/// rest.
constexpr double ln2HighSingle = 0.693145751953125, ln2LowSingle = 1.4286068203094172321e-06;
constexpr double ln2HighDouble = 0x1.62e42fee00000p-1, ln2LowDouble = 1.9082149292705877e-10;

/// tanh x = x + x z (c[0] + c[1] z + ...) with z = x^2, for |x| <= 0.625, of least relative error
/// by the same algorithm. f32: 1.6e-10; f64: 3.7e-19.
constexpr double tanhSingle[] = {-0.33333330802723516104,   0.13333206008151459394,
                                 -0.053946763041674395729,  0.021700703143666018353,
                                 -0.0081773980995314409223, 0.0021429617514730817855};
constexpr double tanhDouble[] = {
    -0.33333333333333312815,    0.13333333333329742816,      -0.053968253966058900213,
    0.021869488468715126734,    -0.0088632343125725723132,   0.0035921139998080535481,
    -0.0014557259476144095739,  0.00058945179705774792593,   -0.00023701172509923843219,
    0.000091558403299720779001, -0.000030187212378656866879, 6.0424649187477785605e-6};
constexpr double tanhNear = 0.625;
} // namespace

static Format formatOf(VectorBuilder &b, Type type) {
  auto vector = cast<VectorType>(type);
  if (vector.getElementType().isF64())
    return {vector.clone(b.getI64Type()), 52, 1023, 0x1.8p52};
  return {vector.clone(b.getI32Type()), 23, 127, 0x1.8p23};
}

static Format formatOf(VectorBuilder &b, Value x) {
  return formatOf(b, x.getType());
}

/// c[0] + c[1] x + ...
static Value polynomial(VectorBuilder &b, ArrayRef<double> c, Value x) {
  const Type type = x.getType();
  Value sum = b.real(type, c.back());
  for (double coefficient : llvm::reverse(c.drop_back()))
    sum = b.multiplyAdd(sum, x, b.real(type, coefficient));
  return sum;
}

/// 2^fraction for a fraction in [-1/2, 1/2].
static Value powerOfFraction(VectorBuilder &b, Value fraction) {
  const bool isDouble = formatOf(b, fraction).mantissaBits == 52;
  Value sum = polynomial(b, isDouble ? ArrayRef<double>(exp2Double) : ArrayRef<double>(exp2Single),
                         fraction);
  return b.multiplyAdd(sum, fraction, b.real(fraction.getType(), 1));
}

/// The number whose bits are `exponent` above the mantissa's: 2^(exponent - bias).
static Value powerOfExponent(VectorBuilder &b, Type type, Value exponent, const Format &format) {
  exponent = arith::ShLIOp::create(b, exponent, b.integer(format.integer, format.mantissaBits));
  return arith::BitcastOp::create(b, type, exponent);
}

/// 2^x where that is a normal number; NaN for NaN.
static Value normalPower(VectorBuilder &b, Value x) {
  const Type type = x.getType();
  const Format format = formatOf(b, x);
  Value rounding = b.real(type, format.roundingConstant);
  Value shifted = b.add(x, rounding);
  Value sum = powerOfFraction(b, b.subtract(x, b.subtract(shifted, rounding)));
  // 2^n is made from the low bits of `shifted` and multiplied with, since an addition to the
  // exponent of a NaN could make a number of it.
  Value power = arith::BitcastOp::create(b, format.integer, shifted);
  power = arith::ShLIOp::create(b, power, b.integer(format.integer, format.mantissaBits));
  power = arith::AddIOp::create(b, power,
                                b.integer(format.integer, format.bias << format.mantissaBits));
  return b.multiply(sum, arith::BitcastOp::create(b, type, power));
}

ExponentialOfDifference::ExponentialOfDifference(VectorBuilder &b, Type vector)
    : b(b), isAvx512(vector == VectorType::get({16}, b.getF32Type())) {
  const Format format = formatOf(b, vector);
  const double bias = static_cast<double>(format.bias);
  const auto pinned = [&](double value) { return b.pinned(b.real(vector, value)); };
  base = pinned(log2OfE);
  if (isAvx512) {
    lowest = pinned(-126);
    coefficients = llvm::map_to_vector(avx512ExponentialCoefficients(), pinned);
    return;
  }
  lowest = pinned(-bias / log2OfE);
  rounding = pinned(format.roundingConstant + bias);
  const bool isDouble = format.mantissaBits == 52;
  coefficients.push_back(pinned(1));
  for (double c : isDouble ? ArrayRef<double>(exp2Double) : ArrayRef<double>(exp2Single))
    coefficients.push_back(pinned(c));
}

Value ExponentialOfDifference::operator()(Value larger, Value smaller) {
  Value difference = b.subtract(larger, smaller);
  if (isAvx512) {
    Value x = b.multiply(difference, base);
    Value power = avx512ExponentialBase2(b, x, coefficients)[0];
    // True for NaN.
    Value isNormal = arith::CmpFOp::create(b, arith::CmpFPredicate::UGE, x, lowest);
    return arith::SelectOp::create(b, isNormal, power, b.real(x.getType(), 0));
  }
  // 2^-bias is made as 0. The maximum is NaN for NaN.
  difference = b.maximum(lowest, difference);
  Value shifted = b.multiplyAdd(difference, base, rounding);
  Value fraction = b.multiplyAdd(difference, base, b.subtract(rounding, shifted));
  Value sum = coefficients.back();
  for (Value coefficient : llvm::reverse(ArrayRef<Value>(coefficients).drop_back()))
    sum = b.multiplyAdd(sum, fraction, coefficient);
  // The low bits of `shifted` are the exponent with its bias. 2^n is multiplied with, since an
  // addition to the exponent of a NaN could make a number of it.
  const Format format = formatOf(b, difference);
  Value exponent = arith::BitcastOp::create(b, format.integer, shifted);
  return b.multiply(sum, powerOfExponent(b, sum.getType(), exponent, format));
}

/// x, or the nearest of these limits; NaN for NaN.
static Value clamped(VectorBuilder &b, Value x, double low, double high) {
  Value lowest = b.real(x.getType(), low), highest = b.real(x.getType(), high);
  x = b.choose(arith::CmpFPredicate::OLT, x, lowest, lowest, x);
  return b.choose(arith::CmpFPredicate::OGT, x, highest, highest, x);
}

/// 2^(n + fraction), n being the integer in the low bits of `shifted`. It may be subnormal or
/// infinite: the power has two factors, neither of which is.
static Value wholePower(VectorBuilder &b, Value fraction, Value shifted) {
  const Type type = fraction.getType();
  const Format format = formatOf(b, fraction);
  Value start = arith::BitcastOp::create(b, format.integer, b.real(type, format.roundingConstant));
  Value exponent =
      arith::SubIOp::create(b, arith::BitcastOp::create(b, format.integer, shifted), start);
  exponent = arith::AddIOp::create(b, exponent, b.integer(format.integer, 2 * format.bias));
  Value half = arith::ShRUIOp::create(b, exponent, b.integer(format.integer, 1));
  Value rest = arith::SubIOp::create(b, exponent, half);
  Value power = b.multiply(powerOfFraction(b, fraction), powerOfExponent(b, type, half, format));
  return b.multiply(power, powerOfExponent(b, type, rest, format));
}

Value tilewright::exponentialBase2(VectorBuilder &b, Value x) {
  const Format format = formatOf(b, x);
  const bool isDouble = format.mantissaBits == 52;
  // Half of the least subnormal number, and more than the largest number.
  x = clamped(b, x, isDouble ? -1076 : -151, isDouble ? 1025 : 129);
  Value rounding = b.real(x.getType(), format.roundingConstant);
  Value shifted = b.add(x, rounding);
  return wholePower(b, b.subtract(x, b.subtract(shifted, rounding)), shifted);
}

Value tilewright::naturalExponential(VectorBuilder &b, Value x) {
  const Type type = x.getType();
  const Format format = formatOf(b, x);
  const bool isDouble = format.mantissaBits == 52;
  x = clamped(b, x, isDouble ? -746 : -104.5, isDouble ? 710.5 : 89.5);
  // The rounded product with log2(e) would cost |x| ulp; x - n ln 2 is exact but for its last
  // digit.
  Value rounding = b.real(type, format.roundingConstant);
  Value shifted = b.multiplyAdd(x, b.real(type, log2OfE), rounding);
  Value n = b.subtract(shifted, rounding);
  Value rest = b.multiplyAdd(n, b.real(type, isDouble ? -ln2HighDouble : -ln2HighSingle), x);
  rest = b.multiplyAdd(n, b.real(type, isDouble ? -ln2LowDouble : -ln2LowSingle), rest);
  return wholePower(b, b.multiply(rest, b.real(type, log2OfE)), shifted);
}

Value tilewright::hyperbolicTangent(VectorBuilder &b, Value x) {
  const Type type = x.getType();
  const bool isDouble = formatOf(b, x).mantissaBits == 52;
  Value magnitude = math::AbsFOp::create(b, x);
  // Near 0, where 1 - 2 / (e^2|x| + 1) cancels, it is a polynomial.
  Value square = b.multiply(x, x);
  Value near =
      polynomial(b, isDouble ? ArrayRef<double>(tanhDouble) : ArrayRef<double>(tanhSingle), square);
  near = b.multiplyAdd(b.multiply(near, square), x, x);
  // From 10, in f64 from 20 on, the result is 1.
  Value limit = b.real(type, isDouble ? 20 : 10);
  Value bounded = b.choose(arith::CmpFPredicate::OGT, magnitude, limit, limit, magnitude);
  Value power = normalPower(b, b.multiply(bounded, b.real(type, 2 * log2OfE)));
  Value grown = b.add(power, b.real(type, 1));
  Value far = b.subtract(b.real(type, 1), arith::DivFOp::create(b, b.real(type, 2), grown));
  return math::CopySignOp::create(
      b, b.choose(arith::CmpFPredicate::OLT, magnitude, b.real(type, tanhNear), near, far), x);
}

// x = 2^k * (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), and with s = f / (2 + f), z = s * s:
//     ln(1 + f) = 2 artanh(s) = 2 s + s R,   R = 2/3 z + 2/5 z^2 + 2/7 z^3 + ...
// R's terms are those of the series, since z <= 0.0295 makes them few; 2 s = f - s f, and the sum
// is ordered so that the rounded parts are small beside f and k ln 2 (as in FreeBSD's msun,
// e_log.c).
static Value logarithm(VectorBuilder &b, Value x, bool isBase2) {
  const Type type = x.getType();
  const Format format = formatOf(b, x);
  const bool isDouble = format.mantissaBits == 52;
  const auto real = [&](double value) { return b.real(type, value); };
  const auto integer = [&](int64_t value) { return b.integer(format.integer, value); };

  // Numbers below the normal ones are moved up first.
  Value isSmall =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, x, real(isDouble ? 0x1p-1022 : 0x1p-126));
  const int64_t lift = format.mantissaBits + 1;
  Value normal = arith::SelectOp::create(
      b, isSmall, b.multiply(x, real(static_cast<double>(int64_t(1) << lift))), x);

  // k is the exponent by which the bits differ from those of sqrt(1/2), rounded down.
  const int64_t rootBits = isDouble ? 0x3FE6A09E667F3BCD : 0x3F3504F3;
  Value bits = arith::BitcastOp::create(b, format.integer, normal);
  Value exponent = arith::ShRSIOp::create(b, arith::SubIOp::create(b, bits, integer(rootBits)),
                                          integer(format.mantissaBits));
  Value mantissa = arith::SubIOp::create(
      b, bits, arith::ShLIOp::create(b, exponent, integer(format.mantissaBits)));
  exponent = arith::SubIOp::create(b, exponent,
                                   arith::SelectOp::create(b, isSmall, integer(lift), integer(0)));
  Value k = arith::SIToFPOp::create(b, type, exponent);

  Value f = b.subtract(arith::BitcastOp::create(b, type, mantissa), real(1));
  Value s = arith::DivFOp::create(b, f, b.add(f, real(2)));
  Value z = b.multiply(s, s);
  const int terms = isDouble ? 10 : 5;
  Value series = real(2.0 / (2 * terms + 1));
  for (int term = terms - 1; term >= 1; --term)
    series = b.multiplyAdd(series, z, real(2.0 / (2 * term + 1)));
  series = b.multiply(series, z);
  Value halfSquare = b.multiply(b.multiply(f, f), real(0.5));
  Value correction = b.multiply(s, b.add(halfSquare, series));
  Value result;
  if (isBase2) {
    // log2(1 + f) is 0 where k is all, so that powers of two are exact.
    Value rest = b.subtract(f, b.subtract(halfSquare, correction));
    result = b.multiplyAdd(rest, real(log2OfE), k);
  } else {
    Value low = b.multiplyAdd(k, real(isDouble ? ln2LowDouble : ln2LowSingle), correction);
    result = b.subtract(f, b.subtract(halfSquare, low));
    result = b.add(b.multiply(k, real(isDouble ? ln2HighDouble : ln2HighSingle)), result);
  }

  const double infinity = std::numeric_limits<double>::infinity();
  Value special = b.choose(arith::CmpFPredicate::OEQ, x, real(0), real(-infinity), x);
  special = b.choose(arith::CmpFPredicate::OLT, x, real(0),
                     real(std::numeric_limits<double>::quiet_NaN()), special);
  Value isOrdinary =
      arith::AndIOp::create(b, arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, x, real(0)),
                            arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, x, real(infinity)));
  return arith::SelectOp::create(b, isOrdinary, result, special);
}

Value tilewright::naturalLogarithm(VectorBuilder &b, Value x) {
  return logarithm(b, x, /*isBase2=*/false);
}

Value tilewright::logarithmBase2(VectorBuilder &b, Value x) {
  return logarithm(b, x, /*isBase2=*/true);
}
