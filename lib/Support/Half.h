//===- Half.h - 16-bit floating point as bit patterns -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Portable, exact, and independent of what the compiler knows about _Float16.
// Narrowing rounds to nearest, ties to even, once (from double, so that a float
// is narrowed exactly as well); NaN stays NaN; f16 overflows to infinity.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_LIB_SUPPORT_HALF_H
#define TILEWRIGHT_LIB_SUPPORT_HALF_H

#include "tilewright/tensor.h"

#include <cstdint>

namespace tilewright {

float bf16ToFloat(uint16_t bits);
float f16ToFloat(uint16_t bits);
uint16_t doubleToBF16(double value);
uint16_t doubleToF16(double value);

/// Reads the element at `offset` (in elements) of a tensor of any dtype.
double loadAsDouble(const void *data, DType dtype, int64_t offset);

/// Rounds `value` to a floating dtype and stores it.
void storeFromDouble(void *data, DType dtype, int64_t offset, double value);

} // namespace tilewright

#endif // TILEWRIGHT_LIB_SUPPORT_HALF_H
