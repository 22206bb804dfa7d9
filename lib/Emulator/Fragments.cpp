//===- Fragments.cpp - Descriptors, swizzles and fragments ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Emulator/Fragments.h"

using namespace tilewright::emulator;

MatrixDescriptor::MatrixDescriptor(uint64_t bits)
    : start(static_cast<uint32_t>(bits & 0x3fff) << 4),
      leading(static_cast<uint32_t>(bits >> 16 & 0x3fff) << 4),
      stride(static_cast<uint32_t>(bits >> 32 & 0x3fff) << 4),
      baseOffset(static_cast<uint32_t>(bits >> 49 & 7)),
      reservedBits(bits & ~0xC00E'3FFF'3FFF'3FFFull) {
  constexpr uint32_t rowBytesOfLayout[] = {16, 128, 64, 32};
  rowBytes = rowBytesOfLayout[bits >> 62];
}

uint32_t MatrixDescriptor::kMajor(uint32_t row, uint32_t byte) const {
  const uint32_t inRow = rowBytes == 16 ? byte / 16 * leading : byte;
  return swizzled(start + row / 8 * stride + row % 8 * rowBytes + inRow, swizzleMask());
}

uint32_t MatrixDescriptor::mnMajor(uint32_t n, uint32_t k) const {
  const uint32_t elements = rowBytes / 2;
  const uint32_t offset = rowBytes == 16
                              ? n / 8 * stride + k / 8 * leading
                              : n / elements * leading + n % elements * 2 + k / 8 * stride;
  return swizzled(start + offset + k % 8 * rowBytes, swizzleMask());
}
