//===- Numbers.h - Conversions as PTX defines them --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small enough to be inlined into loops over lanes. NaNs are canonical: 0x7fff
// in 16 bits, 0x7f in 8 bits, as the PTX ISA says for cvt.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_LIB_EMULATOR_NUMBERS_H
#define TILEWRIGHT_LIB_EMULATOR_NUMBERS_H

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace tilewright::emulator {

inline float floatOf(uint32_t bits) {
  return std::bit_cast<float>(bits);
}
inline uint32_t bitsOf(float value) {
  return std::bit_cast<uint32_t>(value);
}

inline bool isNaN(float value) {
  return value != value;
}

/// Subnormals become zeros of the same sign.
inline float flushed(float value) {
  const uint32_t bits = bitsOf(value);
  return bits & 0x7f800000 ? value : floatOf(bits & 0x80000000);
}

inline float fromBF16(uint32_t bits) {
  return floatOf(bits << 16);
}

/// Rounds to nearest even.
inline uint32_t toBF16(float value) {
  const uint32_t bits = bitsOf(value);
  return isNaN(value) ? 0x7fff : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

inline float fromF16(uint32_t bits) {
  const uint32_t sign = (bits & 0x8000) << 16, magnitude = bits & 0x7fff;
  if (magnitude >= 0x7c00)
    return floatOf(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
  // Subnormals come out right because the product with a power of two is exact.
  const float scaled = floatOf(magnitude << 13) * 0x1p112f;
  return floatOf(sign | bitsOf(scaled));
}

/// Rounds to nearest even; overflow gives infinity.
inline uint32_t toF16(float value) {
  const uint32_t sign = bitsOf(value) >> 16 & 0x8000, magnitude = bitsOf(value) & 0x7fffffff;
  if (magnitude > 0x7f800000)
    return 0x7fff;
  if (magnitude >= 0x47800000) // 2^16
    return sign | 0x7c00;
  if (magnitude < 0x38800000) { // below 2^-14: counts of 2^-24
    const float counts = floatOf(magnitude) * 0x1p24f;
    return sign | static_cast<uint32_t>(std::nearbyint(counts));
  }
  const uint32_t rebased = magnitude - 0x38000000;
  return sign | ((rebased + 0xfff + (rebased >> 13 & 1)) >> 13);
}

/// An 8-bit format with `mantissaBits` bits behind the point; e4m3 has no infinity.
inline float from8(uint32_t bits, uint32_t mantissaBits) {
  const uint32_t exponentBits = 7 - mantissaBits;
  const int bias = exponentBits == 4 ? 7 : 15;
  const uint32_t exponent = bits >> mantissaBits & ((1u << exponentBits) - 1);
  const uint32_t mantissa = bits & ((1u << mantissaBits) - 1);
  const float sign = bits & 128 ? -1.f : 1.f;
  if (exponentBits == 5 && exponent == 31)
    return mantissa ? std::numeric_limits<float>::quiet_NaN()
                    : sign * std::numeric_limits<float>::infinity();
  if (exponentBits == 4 && (bits & 127) == 127)
    return std::numeric_limits<float>::quiet_NaN();
  const int shift = -bias - static_cast<int>(mantissaBits);
  return exponent ? sign * std::ldexp(static_cast<float>((1u << mantissaBits) + mantissa),
                                      static_cast<int>(exponent) + shift)
                  : sign * std::ldexp(static_cast<float>(mantissa), 1 + shift);
}

inline float fromE4M3(uint32_t bits) {
  return from8(bits & 255, 3);
}
inline float fromE5M2(uint32_t bits) {
  return from8(bits & 255, 2);
}

/// Rounds to nearest even; values beyond the largest finite one become it (satfinite).
inline uint32_t to8(float value, uint32_t mantissaBits) {
  const uint32_t exponentBits = 7 - mantissaBits;
  const int bias = exponentBits == 4 ? 7 : 15;
  const uint32_t largest = exponentBits == 4 ? 0x7e : 0x7b;
  const uint32_t sign = bitsOf(value) >> 31 << 7;
  const float magnitude = std::fabs(value);
  if (isNaN(value))
    return 0x7f;
  if (magnitude >= from8(largest, mantissaBits))
    return sign | largest;
  int exponent = magnitude == 0 ? -200 : std::ilogb(magnitude);
  exponent = exponent < 1 - bias ? 1 - bias : exponent;
  const float counts =
      std::nearbyint(std::ldexp(magnitude, static_cast<int>(mantissaBits) - exponent));
  // A carry out of the mantissa moves the exponent on by itself.
  return sign | ((static_cast<uint32_t>(exponent + bias - 1) << mantissaBits) +
                 static_cast<uint32_t>(counts));
}

/// 2^x as the correctly rounded function would be, but for cases within 1e-15 of a tie: a
/// polynomial of degree 12 in double, rounded once. Written for vectorisation.
inline float exp2Rounded(float x) {
  constexpr double ln2 = 0.69314718055994530942;
  const float clamped = x < -160.f ? -160.f : x > 160.f ? 160.f : x;
  const double t = clamped, whole = __builtin_rint(t), f = (t - whole) * ln2;
  double result = 1.0 / 479001600;
  for (double factor : {1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040,
                        1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1.0, 1.0})
    result = result * f + factor;
  // Adding 2^52 puts whole + 1023 into the low bits, from where it becomes the exponent.
  const double biased = whole + (1023.0 + 0x1p52);
  const double power = std::bit_cast<double>(std::bit_cast<uint64_t>(biased) << 52);
  return isNaN(x) ? x : static_cast<float>(result * power);
}

/// min and max return the number beside a NaN; -0 is less than +0.
inline float minNumber(float a, float b) {
  return isNaN(a) ? b : isNaN(b) ? a : a < b ? a : b < a ? b : floatOf(bitsOf(a) | bitsOf(b));
}
inline float maxNumber(float a, float b) {
  return isNaN(a) ? b : isNaN(b) ? a : a > b ? a : b > a ? b : floatOf(bitsOf(a) & bitsOf(b));
}

/// Conversion to an integer: NaN gives 0, values out of range the nearest limit.
template <typename Integer> Integer toInteger(double value) {
  using Limits = std::numeric_limits<Integer>;
  if (value != value)
    return 0;
  if (value <= static_cast<double>(Limits::min()))
    return Limits::min();
  if (value >= static_cast<double>(Limits::max()))
    return Limits::max();
  return static_cast<Integer>(value);
}

} // namespace tilewright::emulator

#endif // TILEWRIGHT_LIB_EMULATOR_NUMBERS_H
