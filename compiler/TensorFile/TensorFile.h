//===- TensorFile.h - Reads tensors from files ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two formats, told apart by the file's first bytes:
//
//   safetensors  F64 F32 F16 BF16 I64 I32 U8 BOOL; any number of named entries
//   .npy         the same without BF16; format versions 1 to 3, C and Fortran order;
//                one entry, whose name is empty
//
// A file is hostile until checked. Opening it reads and checks its header alone, against the size
// that the file really has; elements are read when an entry is loaded. What the formats allow but
// this reader does not (other dtypes, big-endian data, more than TensorView::maxRank dimensions)
// is refused by name.
//
//   Result<OwnedTensor> q = loadTensor("examples/data/qkv.safetensors:layer0.q");
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TENSORFILE_TENSORFILE_H
#define TILEWRIGHT_COMPILER_TENSORFILE_TENSORFILE_H

#include "compiler/TensorFile/OwnedTensor.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

class ByteSource;

class TensorFile {
public:
  struct Entry {
    /// UTF-8; empty in an .npy file.
    std::string name;
    /// Dtype, shape and strides; `data` is null.
    TensorView layout;
    /// Where the elements start in the file, in bytes. There are as many bytes as the layout says.
    uint64_t offset = 0;
  };

  /// Opens a regular file and checks its header. Every error names the path.
  static Result<TensorFile> open(const std::string &path);

  /// The same for a file's bytes in memory, which must outlive the result.
  static Result<TensorFile> parse(std::string_view bytes);

  TensorFile(TensorFile &&);
  TensorFile &operator=(TensorFile &&);
  ~TensorFile();

  /// All entries, in the order of their data.
  const std::vector<Entry> &entries() const { return contents; }

  /// The entry of that name, or null.
  const Entry *find(std::string_view name) const;

  /// Reads the elements of the entry of that name. The error for an unknown name lists the names
  /// that there are, at most ten of them. Bool elements other than 0 and 1 are refused.
  Result<OwnedTensor> load(std::string_view name) const;

  /// Reads the only entry; if there is not exactly one, the error lists them in the same way.
  Result<OwnedTensor> loadOnly() const;

private:
  TensorFile(std::string path, std::unique_ptr<ByteSource> source, std::vector<Entry> contents);

  static Result<TensorFile> read(std::string path, std::unique_ptr<ByteSource> source);
  Result<OwnedTensor> load(const Entry &entry) const;
  std::string listEntries() const;

  std::string path;
  std::unique_ptr<ByteSource> source;
  std::vector<Entry> contents;
};

/// Loads what FILE[:entry] on a command line means. Without an entry, the file must hold exactly
/// one. Paths and names may contain colons: FILE is the longest part, up to the end or to a colon,
/// that exists.
Result<OwnedTensor> loadTensor(std::string_view fileAndEntry);

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_TENSORFILE_TENSORFILE_H
