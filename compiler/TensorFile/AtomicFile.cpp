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
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

using namespace tilewright;

AtomicFile::~AtomicFile() {
  if (descriptor >= 0)
    close(descriptor);
  if (!temporary.empty())
    unlink(temporary.c_str());
}

/// Where a chain of symbolic links ends; the file there need not exist.
static std::string followLinks(std::filesystem::path path) {
  constexpr int maxLinks = 40; // as in Linux
  std::error_code error;
  for (int i = 0; i < maxLinks && std::filesystem::is_symlink(path, error); ++i)
    path = path.parent_path() / std::filesystem::read_symlink(path, error);
  return path.string();
}

Error AtomicFile::failure() const {
  return systemError("{}: cannot write: {}", path, std::strerror(errno));
}

Status AtomicFile::create() {
  struct stat facts;
  const bool exists = stat(path.c_str(), &facts) == 0;
  if (!exists && errno != ENOENT)
    return failure();
  if (exists && !S_ISREG(facts.st_mode)) {
    descriptor = open(path.c_str(), O_WRONLY | O_CLOEXEC); // of a folder it fails
    return descriptor < 0 ? failure() : Status();
  }
  target = followLinks(path);
  static std::atomic<unsigned> serial = 0;
  std::string name;
  do {
    name = fmt::format("{}.{}.{}.tmp", target, getpid(), serial++);
    descriptor = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (descriptor < 0 && errno == EEXIST);
  if (descriptor < 0)
    return failure();
  temporary = std::move(name);
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
  const bool renames = !temporary.empty();
  if (renames && fsync(descriptor) != 0)
    return failure();
  if (close(std::exchange(descriptor, -1)) != 0)
    return failure();
  if (renames && std::rename(temporary.c_str(), target.c_str()) != 0)
    return failure();
  temporary.clear();
  return {};
}
