//===- Half.cpp - 16-bit floating point as bit patterns -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Support/Half.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>

using namespace tilewright;

float tilewright::bf16ToFloat(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

float tilewright::f16ToFloat(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1f;
  const uint32_t mantissa = bits & 0x3ff;
  if (exponent == 0x1f)
    return std::bit_cast<float>(sign | 0x7f800000 | (mantissa << 13));
  if (exponent == 0) {
    const float magnitude = std::ldexp(static_cast<float>(mantissa), -24);
    return sign ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

/// Rounds to a binary format with `storedBits` mantissa bits and normal numbers from 2^minExponent
/// to below 2^(maxExponent + 1).
static uint16_t narrow(double value, int storedBits, int minExponent, int maxExponent) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const uint16_t infinity = static_cast<uint16_t>((maxExponent - minExponent + 2) << storedBits);
  if (std::isnan(value))
    return sign | infinity | static_cast<uint16_t>(1 << (storedBits - 1));
  const double magnitude = std::fabs(value);
  if (magnitude == 0)
    return sign;
  if (std::isinf(value))
    return sign | infinity;
  int exponent;
  std::frexp(magnitude, &exponent);
  exponent = std::max(exponent - 1, minExponent);
  // The value in units of the last place; nearbyint rounds ties to even in the default mode.
  const double units = std::nearbyint(std::ldexp(magnitude, storedBits - exponent));
  // A carry into the next binade, and from subnormal to normal, falls out of the addition.
  const int64_t biased = static_cast<int64_t>(exponent - minExponent) << storedBits;
  const int64_t bits = biased + static_cast<int64_t>(units);
  return sign | static_cast<uint16_t>(std::min<int64_t>(bits, infinity));
}

uint16_t tilewright::doubleToBF16(double value) {
  return narrow(value, 7, -126, 127);
}
uint16_t tilewright::doubleToF16(double value) {
  return narrow(value, 10, -14, 15);
}

double tilewright::loadAsDouble(const void *data, DType dtype, int64_t offset) {
  switch (dtype) {
  case DType::F64:
    return static_cast<const double *>(data)[offset];
  case DType::F32:
    return static_cast<const float *>(data)[offset];
  case DType::F16:
    return f16ToFloat(static_cast<const uint16_t *>(data)[offset]);
  case DType::BF16:
    return bf16ToFloat(static_cast<const uint16_t *>(data)[offset]);
  case DType::I64:
    return static_cast<double>(static_cast<const int64_t *>(data)[offset]);
  case DType::I32:
    return static_cast<const int32_t *>(data)[offset];
  case DType::U8:
  case DType::Bool:
    return static_cast<const uint8_t *>(data)[offset];
  }
  return 0;
}

void tilewright::storeFromDouble(void *data, DType dtype, int64_t offset, double value) {
  switch (dtype) {
  case DType::F64:
    static_cast<double *>(data)[offset] = value;
    return;
  case DType::F32:
    static_cast<float *>(data)[offset] = static_cast<float>(value);
    return;
  case DType::F16:
    static_cast<uint16_t *>(data)[offset] = doubleToF16(value);
    return;
  case DType::BF16:
    static_cast<uint16_t *>(data)[offset] = doubleToBF16(value);
    return;
  default:
    assert(false && "only floating tensors are written from double");
  }
}
