//===- Avx512Math.h - The exponential in AVX-512's own terms ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_CONVERSION_TILETOVECTOR_AVX512MATH_H
#define TILEWRIGHT_COMPILER_CONVERSION_TILETOVECTOR_AVX512MATH_H

#include "compiler/Conversion/TileToVector/VectorBuilder.h"

namespace tilewright {

/// 2^x for x <= 100 of vectors of 16 f32: 0 for -inf, NaN for NaN. Results below the normal numbers
/// are subnormal. The coefficients are those of a polynomial below, that of x^0 first, where the
/// caller has put them. The vectors' instructions alternate, so that none waits for the one before.
llvm::SmallVector<mlir::Value> avx512ExponentialBase2(VectorBuilder &builder,
                                                      llvm::ArrayRef<mlir::Value> x,
                                                      llvm::ArrayRef<mlir::Value> coefficients);

/// Of degree 5: within 2 ulp.
llvm::ArrayRef<double> avx512ExponentialCoefficients();
/// Of degree 4, for weights that are cut off to bf16: within 3e-6.
llvm::ArrayRef<double> avx512CoarseExponentialCoefficients();

/// exp(a - b) for a <= b + 64 of 16 f32 in 9 instructions, within 2 ulp of 2^x, x being the rounded
/// product of the rounded difference and log2(e); exactly 1 for a == b, 0 for a of -inf, NaN for
/// NaN. Results below the normal numbers are subnormal, unlike those of ExponentialOfDifference.
mlir::Value avx512ExponentialOfDifference(VectorBuilder &builder, mlir::Value a, mlir::Value b);

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_CONVERSION_TILETOVECTOR_AVX512MATH_H
