//===- ByteSource.h - Where a tensor file's bytes come from -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TENSORFILE_BYTESOURCE_H
#define TILEWRIGHT_COMPILER_TENSORFILE_BYTESOURCE_H

#include "tilewright/result.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace tilewright {

/// A known number of bytes that can be read at any place.
class ByteSource {
public:
  virtual ~ByteSource() = default;

  /// How many bytes there really are; headers are checked against it.
  uint64_t size() const { return byteCount; }

  /// Fills `destination` with the `count` bytes from `offset` on, which must lie within size().
  virtual Status read(uint64_t offset, void *destination, uint64_t count) const = 0;

  /// A regular file. Directories, FIFOs, devices and sockets are refused without blocking.
  static Result<std::unique_ptr<ByteSource>> openFile(const std::string &path);

  /// Bytes in memory, not copied.
  static std::unique_ptr<ByteSource> fromMemory(std::string_view bytes);

protected:
  explicit ByteSource(uint64_t byteCount) : byteCount(byteCount) {}

private:
  uint64_t byteCount;
};

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_TENSORFILE_BYTESOURCE_H
