//===- Headers.h - The headers of both formats --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading returns entries whose elements lie within the source, and whose sizes in bytes fit 63
// bits. Making returns all that precedes the data, padded so that the data are aligned.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TENSORFILE_HEADERS_H
#define TILEWRIGHT_COMPILER_TENSORFILE_HEADERS_H

#include "compiler/TensorFile/ByteSource.h"
#include "compiler/TensorFile/TensorFile.h"
#include "compiler/TensorFile/WriteTensors.h"

#include <optional>

namespace tilewright {

/// The bytes that an .npy file starts with. Read as a safetensors header length they are far past
/// that format's limit, so no file is both.
inline constexpr std::string_view npyMagic = "\x93NUMPY";

/// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
Result<std::vector<TensorFile::Entry>> readNpyHeader(const ByteSource &source);
Result<std::string> makeNpyHeader(const TensorView &view);

/// https://github.com/huggingface/safetensors (README.md, "Format")
Result<std::vector<TensorFile::Entry>> readSafetensorsHeader(const ByteSource &source);
Result<std::string> makeSafetensorsHeader(std::span<const NamedTensor> tensors);

/// Bytes of a tensor's elements, or nothing where they do not fit 63 bits.
std::optional<uint64_t> sizeInBytes(const TensorView &layout);

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_TENSORFILE_HEADERS_H
