//===- AtomicFile.h - A file that is written whole or not at all -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TENSORFILE_ATOMICFILE_H
#define TILEWRIGHT_COMPILER_TENSORFILE_ATOMICFILE_H

#include "tilewright/result.h"

#include <string>
#include <string_view>

namespace tilewright {

/// Writes beside `path` under a name of its own; commit() syncs the bytes to disk and then renames.
/// Without a successful commit() nothing is left, and a file that was at `path` stays as it was.
/// Every error names the path. A path that exists and is no regular file is refused.
class AtomicFile {
public:
  explicit AtomicFile(std::string path) : path(std::move(path)), target(this->path) {}
  AtomicFile(const AtomicFile &) = delete;
  AtomicFile &operator=(const AtomicFile &) = delete;
  ~AtomicFile();

  Status create();
  Status write(std::string_view bytes);
  Status commit();

private:
  Error failure() const;

  std::string path;
  std::string target;
  std::string temporary;
  int descriptor = -1;
  bool exists = false;
};

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_TENSORFILE_ATOMICFILE_H
