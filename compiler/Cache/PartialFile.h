//===- PartialFile.h - An image on its way to the disk ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The temporary file that a new image is written to is also the lock of whoever
// makes that image: it is there, locked, from before the compilation until its
// rename. The lock is flock()'s. It belongs to an open file and not to a process,
// so it holds between threads as well, and the kernel drops it when the process
// dies. A killed writer thus leaves one file without a lock, which whoever wants
// the same image next takes over, and whoever stores any other image removes.
//
// LLVM's LockFileManager leaves a file that only the owner's number tells from a
// living one, and sys::fs::lockFile() does not hold between threads.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_CACHE_PARTIALFILE_H
#define TILEWRIGHT_COMPILER_CACHE_PARTIALFILE_H

#include "compiler/Cache/Descriptor.h"

#include <tilewright/result.h>

#include <optional>
#include <string>

namespace tilewright {

/// Removed at the end of its scope unless it was published.
class PartialFile {
public:
  /// Creates the file `name` in `folder`, or takes over what a killed writer left. Nothing if
  /// another process or thread holds it.
  static Result<std::optional<PartialFile>> tryCreate(int folder, const std::string &name);

  /// Removes the file if its writer was killed.
  static void removeIfAbandoned(int folder, const std::string &name);

  PartialFile(PartialFile &&) = default;
  ~PartialFile();

  /// Writes all, to the disk itself, and then gives the file its final name.
  Status publish(const std::string &bytes, const std::string &finalName);

private:
  PartialFile(Descriptor file, int folder, std::string name)
      : file(std::move(file)), folder(folder), name(std::move(name)) {}

  static Result<std::optional<PartialFile>> tryLock(int folder, const std::string &name,
                                                    int openFlags);

  Descriptor file;
  int folder;
  std::string name; // empty once it is published
};

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_CACHE_PARTIALFILE_H
