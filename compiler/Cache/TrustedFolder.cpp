//===- TrustedFolder.cpp - A folder that nobody else writes to ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Cache/TrustedFolder.h"
#include "lib/Expression/Spelling.h"
#include "lib/Support/MakeError.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>

using namespace tilewright;
using Path = llvm::SmallString<128>;

bool tilewright::isOurs(const struct stat &facts) {
  return facts.st_uid == geteuid() || facts.st_uid == 0;
}

bool tilewright::isWritableByOthers(const struct stat &facts) {
  return (facts.st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

static Status checkFolder(llvm::StringRef path, const struct stat &facts, bool mayBeSticky) {
  if (!S_ISDIR(facts.st_mode))
    return invalidArgument("{} is no folder", path.str());
  if (!isOurs(facts))
    return invalidArgument("{} belongs to user {}, not to user {}", path.str(), facts.st_uid,
                           geteuid());
  if (isWritableByOthers(facts) && !(mayBeSticky && (facts.st_mode & S_ISVTX)))
    return invalidArgument("{} is writable by others: its mode is {:o}, and `chmod go-w` would "
                           "make it acceptable",
                           path.str(), facts.st_mode & 07777);
  return {};
}

/// Of a path without symbolic links, from the root down.
static Status checkFoldersOf(llvm::StringRef path) {
  Path folder;
  for (auto part = llvm::sys::path::begin(path); part != llvm::sys::path::end(path); ++part) {
    llvm::sys::path::append(folder, *part);
    struct stat facts;
    if (lstat(folder.c_str(), &facts) != 0)
      return systemError("{}: {}", folder.c_str(), std::strerror(errno));
    if (Status checked = checkFolder(folder, facts, /*mayBeSticky=*/true); !checked)
      return checked;
  }
  return {};
}

/// The path without symbolic links, checked and created part by part: what is below a folder means
/// nothing before the folder itself is known to be safe.
static Result<Path> resolve(llvm::StringRef path) {
  Path folder;
  for (auto part = llvm::sys::path::begin(path); part != llvm::sys::path::end(path); ++part) {
    llvm::sys::path::append(folder, *part);
    struct stat facts;
    int failed = lstat(folder.c_str(), &facts);
    if (failed && errno == ENOENT) {
      if (mkdir(folder.c_str(), S_IRWXU) != 0 && errno != EEXIST)
        return systemError("cannot create {}: {}", folder.c_str(), std::strerror(errno));
      failed = lstat(folder.c_str(), &facts);
    }
    if (failed)
      return systemError("{}: {}", folder.c_str(), std::strerror(errno));
    Status checked;
    if (S_ISLNK(facts.st_mode)) {
      if (!isOurs(facts))
        return invalidArgument("{} is a symbolic link of user {}", folder.c_str(), facts.st_uid);
      const std::string link(folder);
      if (std::error_code code = llvm::sys::fs::real_path(link, folder))
        return systemError("{}: {}", link, code.message());
      checked = checkFoldersOf(folder);
    } else {
      checked = checkFolder(folder, facts, /*mayBeSticky=*/true);
    }
    if (!checked)
      return checked.error();
  }
  return folder;
}

Result<Descriptor> tilewright::openTrustedFolder(const std::string &path) {
  if (!llvm::sys::path::is_absolute(path))
    return invalidArgument("'{}' is no absolute path", expression::printable(path, 80));
  Result<Path> resolved = resolve(path);
  if (!resolved)
    return resolved.error();
  Descriptor folder(open(resolved->c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat facts;
  if (!folder || fstat(folder.get(), &facts) != 0)
    return systemError("{}: {}", resolved->c_str(), std::strerror(errno));
  if (Status checked = checkFolder(*resolved, facts, /*mayBeSticky=*/false); !checked)
    return checked.error();
  return folder;
}
