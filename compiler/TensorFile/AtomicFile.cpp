//===- AtomicFile.cpp - A file that is written whole or not at all --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/TensorFile/AtomicFile.h"

#include "lib/Support/MakeError.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace tilewright;

AtomicFile::~AtomicFile() {
  if (descriptor >= 0)
    close(descriptor);
  if (!temporary.empty())
    unlink(temporary.c_str());
}

/// A path, what it leads to as a symbolic link, and so on; the last need not exist.
static std::vector<std::filesystem::path> linksFrom(const std::string &path) {
  constexpr size_t maxLinks = 40; // as in Linux
  std::vector<std::filesystem::path> links = {path};
  std::error_code error;
  while (links.size() <= maxLinks && std::filesystem::is_symlink(links.back(), error))
    links.push_back(links.back().parent_path() /
                    std::filesystem::read_symlink(links.back(), error));
  return links;
}

bool AtomicFile::isStream(const std::string &path) {
  struct stat facts;
  if (stat(path.c_str(), &facts) != 0)
    return false;
  return (!S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode)) ||
         std::ranges::any_of(linksFrom(path), [](const std::filesystem::path &link) {
           return link.string().starts_with("/proc/");
         });
}

Error AtomicFile::failure() const {
  return systemError("{}: cannot write: {}", path, std::strerror(errno));
}

Status AtomicFile::create() {
  struct stat facts;
  const bool exists = stat(path.c_str(), &facts) == 0;
  if (!exists && errno != ENOENT)
    return failure();
  if (isStream(path) || (exists && S_ISDIR(facts.st_mode))) {
    // An open file may have had something written to it. Of a folder it fails.
    descriptor = open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    return descriptor < 0 ? failure() : Status();
  }
  target = linksFrom(path).back().string();
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
