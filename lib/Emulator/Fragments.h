//===- Fragments.h - Descriptors, swizzles and fragments --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one place that knows where matrix elements lie in shared memory and in
// registers. PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions" and
// "Warp Level Matrix Instructions"; agrees byte for byte with an H200 on the
// vectors of tests/emulator/golden.
//
// Names: g = lane / 4, t = lane % 4; W is the width of a swizzle row in bytes.
//
//   accumulator i of lane:  row g + 8 * ((i >> 1) & 1), column 8 * (i / 4) + 2t + (i & 1)
//   A register q of lane:   row g + 8 * (q & 1), bytes 4t..4t+3 of half q >> 1 of a k-step
//   (rows count inside the 16 of a warp; a half is 16 bytes, that is 8 or 16 elements)
//
//   K-major, row r, byte b of the 32 of a k-step (offset from the start, before the XOR)
//     swizzled      (r / 8) * SBO + (r % 8) * W + b
//     not swizzled  (r / 8) * SBO + (r % 8) * 16 + (b / 16) * LBO + b % 16
//   MN-major, element n of k (2-byte types only; E = W / 2)
//     swizzled      (n / E) * LBO + (n % E) * 2 + (k / 8) * SBO + (k % 8) * W
//     not swizzled  (n / 8) * SBO + (n % 8) * 2 + (k / 8) * LBO + (k % 8) * 16
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_LIB_EMULATOR_FRAGMENTS_H
#define TILEWRIGHT_LIB_EMULATOR_FRAGMENTS_H

#include <cstdint>

namespace tilewright::emulator {

/// The XOR on absolute shared addresses: `mask` is 7, 3, 1 or 0.
constexpr uint32_t swizzled(uint32_t address, uint32_t mask) {
  return address ^ (((address >> 7) & mask) << 4);
}

/// A matrix descriptor of wgmma.
struct MatrixDescriptor {
  uint32_t start = 0;     ///< Bytes.
  uint32_t leading = 0;   ///< LBO in bytes.
  uint32_t stride = 0;    ///< SBO in bytes.
  uint32_t rowBytes = 16; ///< W: 16 without a swizzle.
  uint32_t baseOffset = 0;
  uint64_t reservedBits = 0;

  explicit MatrixDescriptor(uint64_t bits);

  uint32_t swizzleMask() const { return rowBytes / 16 - 1; }
  /// Whether the start lies on row 0 of its 8-row pattern, as a base offset of 0 promises.
  bool startsOnRowZero() const {
    return rowBytes == 16 || (start & (rowBytes * 8 - 1) & ~(rowBytes - 1)) == 0;
  }
  /// Address of 16 bytes: row `row`, byte `byte` (0 or 16) of the k-step.
  uint32_t kMajor(uint32_t row, uint32_t byte) const;
  /// Address of 16 bytes: elements n to n + 7 of row k. `n` is a multiple of 8.
  uint32_t mnMajor(uint32_t n, uint32_t k) const;
};

struct MatrixElement {
  uint32_t row, column;
};

/// Where accumulator `index` of `lane` lies in the 16 rows of its warp.
constexpr MatrixElement accumulatorElement(uint32_t lane, uint32_t index) {
  return {lane / 4 + 8 * ((index >> 1) & 1), 8 * (index / 4) + 2 * (lane % 4) + (index & 1)};
}

/// Row, and byte within the 32 of a k-step, of the four bytes in register `index` of A.
constexpr MatrixElement aRegisterBytes(uint32_t lane, uint32_t index) {
  return {lane / 4 + 8 * (index & 1), 4 * (lane % 4) + 16 * (index >> 1)};
}

/// mma.sync m16n8k16: the column, and the first of the two k, in register `index` of B.
constexpr MatrixElement bRegisterElement(uint32_t lane, uint32_t index) {
  return {2 * (lane % 4) + 8 * index, lane / 4};
}

} // namespace tilewright::emulator

#endif // TILEWRIGHT_LIB_EMULATOR_FRAGMENTS_H
