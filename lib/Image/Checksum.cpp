//===- Checksum.cpp - Of a kernel image -----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Image/Format.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t tilewright::image::checksum(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}
