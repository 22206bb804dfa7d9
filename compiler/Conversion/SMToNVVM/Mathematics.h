//===- Mathematics.h - Functions of score expressions -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The GPU has instructions for 2^x, log2(x), 1/x and sqrt(x) in f32; other
// functions are made of these. Absolute errors are below 1e-6 where a function's
// value is about 1, which is the order of f32's rounding in a score.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_CONVERSION_SMTONVVM_MATHEMATICS_H
#define TILEWRIGHT_COMPILER_CONVERSION_SMTONVVM_MATHEMATICS_H

#include "compiler/Conversion/SMToNVVM/Instructions.h"

namespace tilewright::sm90 {

/// The value of a math op with one f32 operand, a scalar or a fragment; null if `op` is none of
/// those that must be made here.
Value functionValue(LocBuilder &b, mlir::Operation *op, Value operand);

/// Whether LLVM's NVPTX has a form for this math op as it is.
bool isNative(mlir::Operation *op);

} // namespace tilewright::sm90

#endif // TILEWRIGHT_COMPILER_CONVERSION_SMTONVVM_MATHEMATICS_H
