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
/// Symbolic links stay links: what is written or made is the file that they lead to. A stream is
/// not replaced but written to, at once. A folder is refused. Every error names the path.
class AtomicFile {
public:
  explicit AtomicFile(std::string path) : path(std::move(path)), target(this->path) {}
  AtomicFile(const AtomicFile &) = delete;
  AtomicFile &operator=(const AtomicFile &) = delete;
  ~AtomicFile();

  /// Whether it is a device, a pipe or a file that is open already (/dev/null, /dev/stdout).
  static bool isStream(const std::string &path);

  Status create();
  Status write(std::string_view bytes);
  Status commit();

private:
  Error failure() const;

  std::string path;
  std::string target;
  std::string temporary; // empty until there is one, and for what is written to directly
  int descriptor = -1;
};

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_TENSORFILE_ATOMICFILE_H
