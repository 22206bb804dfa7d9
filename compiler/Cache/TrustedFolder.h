//===- TrustedFolder.h - A folder that nobody else writes to ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What lies in the cache is run, so it must be from nobody but this user. On the
// way from the root to the folder everything must belong to this user or to
// root, and no folder may be writable by its group or by others. One exception:
// a folder above with the sticky bit, such as /tmp, because there nobody can
// rename or remove what is another's. A symbolic link is followed if it belongs
// to this user or to root, and where it leads to is held to the same.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_CACHE_TRUSTEDFOLDER_H
#define TILEWRIGHT_COMPILER_CACHE_TRUSTEDFOLDER_H

#include "compiler/Cache/Descriptor.h"

#include <tilewright/result.h>

#include <string>
#include <sys/stat.h>

namespace tilewright {

/// Belongs to this user or to root.
bool isOurs(const struct stat &facts);
bool isWritableByOthers(const struct stat &facts);

/// Opens the folder, after creating it and folders above it where missing, for this user alone.
/// Refused: a relative path, and what is described above.
Result<Descriptor> openTrustedFolder(const std::string &path);

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_CACHE_TRUSTEDFOLDER_H
