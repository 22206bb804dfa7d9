//===- VectorMath.h - Functions of vectors ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels need no library function: these are a few vector operations each, for f32 and f64.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_CONVERSION_TILETOVECTOR_VECTORMATH_H
#define TILEWRIGHT_COMPILER_CONVERSION_TILETOVECTOR_VECTORMATH_H

#include "compiler/Conversion/TileToVector/VectorBuilder.h"

namespace tilewright {

/// exp(a - b) for a <= b, within about 1 ulp (f64: 2 ulp) of 2^x, x being the product of the
/// rounded difference and the rounded log2(e). The subtraction comes first, so that huge finite
/// operands stay exact. Exactly 1 for a == b, exactly 0 for x < -126.5 (a clamp there would leave
/// hidden keys a weight, whose products are denormal and slow; in f64 for x < -1022.5), NaN for NaN
/// and for the difference of equal infinities.
/// 16 lanes of f32 take AVX-512's instructions for it: within 2 ulp, x being rounded too, and 0 for
/// x < -126.
class ExponentialOfDifference {
public:
  /// Puts the constants into registers here, before a loop.
  ExponentialOfDifference(VectorBuilder &builder, mlir::Type vector);

  mlir::Value operator()(mlir::Value a, mlir::Value b);

private:
  VectorBuilder &b;
  bool isAvx512;
  mlir::Value lowest, base, rounding;
  llvm::SmallVector<mlir::Value> coefficients;
};

/// 2^x and e^x within about 1 ulp for any x, subnormal results too: 0 below, inf above, NaN for
/// NaN.
mlir::Value exponentialBase2(VectorBuilder &builder, mlir::Value x);
mlir::Value naturalExponential(VectorBuilder &builder, mlir::Value x);

/// tanh x within 2 ulp, with the sign of x; NaN for NaN.
mlir::Value hyperbolicTangent(VectorBuilder &builder, mlir::Value x);

/// Logarithms within about 1 ulp (f64: 2 ulp), of subnormal numbers too: -inf for 0, NaN for less,
/// inf for inf, NaN for NaN. Those to base 2 of powers of two are exact.
mlir::Value naturalLogarithm(VectorBuilder &builder, mlir::Value x);
mlir::Value logarithmBase2(VectorBuilder &builder, mlir::Value x);

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_CONVERSION_TILETOVECTOR_VECTORMATH_H
