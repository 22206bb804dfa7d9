//===- Format.h - How a kernel image lies in a file -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   bytes     what, all numbers little endian
//   8         magic; as in PNG, its line ends tell of a transfer as text
//   4         version of the format
//   8         length of the payload
//   length    payload: the fields of KernelImage in the order of Encode.cpp
//   8         XXH3, 64 bits, of everything before
//
// A text is its length in 8 bytes and the bytes; a list is its length in 4 bytes
// and the entries. Any change of the payload is a new version.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_LIB_IMAGE_FORMAT_H
#define TILEWRIGHT_LIB_IMAGE_FORMAT_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace tilewright::image {

constexpr std::string_view magic = "\x89TWK\r\n\x1a\n";
constexpr uint32_t version = 2;
constexpr size_t headerBytes = 8 + 4 + 8;
constexpr size_t checksumBytes = 8;

uint64_t checksum(std::span<const std::byte> bytes);

} // namespace tilewright::image

#endif // TILEWRIGHT_LIB_IMAGE_FORMAT_H
