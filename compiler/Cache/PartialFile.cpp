//===- PartialFile.cpp - An image on its way to the disk ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Cache/PartialFile.h"
#include "lib/Support/MakeError.h"

#include "llvm/Support/Errno.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

using namespace tilewright;

/// Without the file's name, so that what is wrong with all files is said once.
static Error failure(const char *what, int code = errno) {
  return systemError("cannot {} a file: {}", what, std::strerror(code));
}

Result<std::optional<PartialFile>> PartialFile::tryLock(int folder, const std::string &name,
                                                        int openFlags) {
  Descriptor file(
      openat(folder, name.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC | openFlags, S_IRUSR | S_IWUSR));
  if (!file)
    return failure("create");
  if (llvm::sys::RetryAfterSignal(-1, flock, file.get(), LOCK_EX | LOCK_NB) != 0)
    return errno == EWOULDBLOCK ? Result<std::optional<PartialFile>>(std::nullopt)
                                : failure("lock");
  // Between opening and locking, the holder may have renamed or removed the file.
  struct stat locked, named;
  if (fstat(file.get(), &locked) != 0)
    return failure("read");
  if (fstatat(folder, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) != 0 ||
      named.st_dev != locked.st_dev || named.st_ino != locked.st_ino)
    return std::optional<PartialFile>();
  return std::optional(PartialFile(std::move(file), folder, name));
}

Result<std::optional<PartialFile>> PartialFile::tryCreate(int folder, const std::string &name) {
  return tryLock(folder, name, O_CREAT);
}

void PartialFile::removeIfAbandoned(int folder, const std::string &name) {
  const Result<std::optional<PartialFile>> abandoned = tryLock(folder, name, 0);
}

PartialFile::~PartialFile() {
  if (file && !name.empty())
    unlinkat(folder, name.c_str(), 0);
}

Status PartialFile::publish(const std::string &bytes, const std::string &finalName) {
  if (ftruncate(file.get(), 0) != 0)
    return failure("write");
  llvm::raw_fd_ostream stream(file.get(), /*shouldClose=*/false, /*unbuffered=*/true);
  stream << bytes;
  if (stream.has_error()) {
    const std::error_code code = stream.error();
    stream.clear_error();
    return failure("write", code.value());
  }
  if (fsync(file.get()) != 0)
    return failure("write");
  if (renameat(folder, name.c_str(), folder, finalName.c_str()) != 0)
    return failure("rename");
  name.clear();
  // The image is complete either way; at worst it is gone after a loss of power.
  fsync(folder);
  return {};
}
