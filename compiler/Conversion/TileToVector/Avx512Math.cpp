//===- Avx512Math.cpp - The exponential in AVX-512's own terms ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/TileToVector/Avx512Math.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace tilewright;

/// 2^f = c[0] + c[1] f + ... on [0, 1): the polynomials of least relative error with 1 as the
/// constant term, by the exchange algorithm of Remez in 50 digits: 8.2e-8 and 2.9e-6.
static constexpr double ofDegree5[] = {1,
                                       0.69315131180026917507,
                                       0.24016445020136963332,
                                       0.055799912946571172715,
                                       0.0090170305283189355012,
                                       0.0018671299794448821712};
static constexpr double ofDegree4[] = {1, 0.69304484490305043793, 0.24128020475114757784,
                                       0.052242474224084042765, 0.013426684271425959508};

ArrayRef<double> tilewright::avx512ExponentialCoefficients() {
  return ofDegree5;
}

ArrayRef<double> tilewright::avx512CoarseExponentialCoefficients() {
  return ofDegree4;
}

Value tilewright::avx512ExponentialOfDifference(VectorBuilder &b, Value larger, Value smaller) {
  const Type type = larger.getType();
  const auto real = [&](double value) { return b.real(type, value); };
  Value x = b.multiply(b.subtract(larger, smaller), real(1.4426950408889634074));
  return avx512ExponentialBase2(b, x,
                                llvm::map_to_vector(avx512ExponentialCoefficients(), real))[0];
}

SmallVector<Value> tilewright::avx512ExponentialBase2(VectorBuilder &b, ArrayRef<Value> x,
                                                      ArrayRef<Value> coefficients) {
  const Type type = x[0].getType();
  // Both keep their source where a mask bit is 0, and none is; the rounding is the current one.
  Value zeros = b.real(type, 0), all = b.integer(b.getIntegerType(16), -1),
        rounding = b.integer(b.getI32Type(), 4);
  const auto call = [&](StringRef name, ValueRange operands) {
    return LLVM::CallIntrinsicOp::create(b, type, b.getStringAttr(name), operands).getResult(0);
  };
  // 9: the fraction above the next lower integer, without an exception for inexactness.
  const auto fractions = llvm::map_to_vector(x, [&](Value x) -> Value {
    return call("llvm.x86.avx512.mask.reduce.ps.512",
                {x, b.integer(b.getI32Type(), 9), zeros, all, rounding});
  });
  SmallVector<Value> results(x.size(), coefficients.back());
  for (Value coefficient : llvm::reverse(coefficients.drop_back()))
    for (auto [sum, fraction] : llvm::zip_equal(results, fractions))
      sum = b.multiplyAdd(sum, fraction, coefficient);
  // Times two to the power of the next lower integer.
  for (auto [sum, x] : llvm::zip_equal(results, x))
    sum = call("llvm.x86.avx512.mask.scalef.ps.512", {sum, x, zeros, all, rounding});
  return results;
}
