//===- AtomicFile.cpp - A file that is written whole or not at all --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/TensorFile/AtomicFile.h"

#include "lib/Support/MakeError.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace tilewright;

AtomicFile::~AtomicFile() {
  if (descriptor >= 0)
    close(descriptor);
  if (exists)
    unlink(temporary.c_str());
}

Error AtomicFile::failure() const {
  return systemError("{}: cannot write: {}", path, std::strerror(errno));
}

Status AtomicFile::create() {
  struct stat facts;
  if (stat(path.c_str(), &facts) == 0) {
    if (!S_ISREG(facts.st_mode))
      return invalidArgument("{}: cannot write: exists and is not a regular file", path);
    // A symbolic link stays one; the file it leads to is replaced.
    if (char *resolved = realpath(path.c_str(), nullptr)) {
      target = resolved;
      std::free(resolved);
    }
  }
  static std::atomic<unsigned> serial = 0;
  do {
    temporary = fmt::format("{}.{}.{}.tmp", target, getpid(), serial++);
    descriptor = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (descriptor < 0 && errno == EEXIST);
  if (descriptor < 0)
    return failure();
  exists = true;
  return {};
}

Status AtomicFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t moved = ::write(descriptor, bytes.data(), bytes.size());
    if (moved >= 0)
      bytes.remove_prefix(static_cast<size_t>(moved));
    else if (errno != EINTR)
      return failure();
  }
  return {};
}

Status AtomicFile::commit() {
  if (fsync(descriptor) != 0)
    return failure();
  const int closed = close(std::exchange(descriptor, -1));
  if (closed != 0 || std::rename(temporary.c_str(), target.c_str()) != 0)
    return failure();
  exists = false;
  return {};
}
