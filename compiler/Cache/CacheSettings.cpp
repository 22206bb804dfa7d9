//===- CacheSettings.cpp - Where the cache is, and how large --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Cache/CacheSettings.h"
#include "lib/Expression/Spelling.h"
#include "lib/Support/MakeError.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Path.h"

#include <cstdlib>
#include <optional>

using namespace tilewright;
namespace path = llvm::sys::path;

static std::optional<uint64_t> parseSize(llvm::StringRef text) {
  uint64_t count = 0;
  if (text.consumeInteger(10, count))
    return std::nullopt;
  const int shift =
      llvm::StringSwitch<int>(text).Case("", 0).Case("K", 10).Case("M", 20).Case("G", 30).Default(
          -1);
  if (shift < 0 || count > (UINT64_MAX >> shift))
    return std::nullopt;
  return count << shift;
}

static Result<std::string> findFolder() {
  if (const char *stated = std::getenv("TILEWRIGHT_CACHE_DIR"))
    return std::string(stated);
  llvm::SmallString<128> folder;
  const char *caches = std::getenv("XDG_CACHE_HOME");
  if (caches && path::is_absolute(caches)) { // others are to be ignored, its specification says
    folder = caches;
  } else {
    if (!path::home_directory(folder))
      return systemError("there is no home directory to keep kernels in");
    path::append(folder, ".cache");
  }
  path::append(folder, "tilewright");
  return std::string(folder);
}

Result<CacheSettings> CacheSettings::fromEnvironment() {
  CacheSettings settings;
  Result<std::string> folder = findFolder();
  if (!folder)
    return folder.error();
  settings.folder = *std::move(folder);
  if (const char *stated = std::getenv("TILEWRIGHT_CACHE_SIZE")) {
    std::optional<uint64_t> size = parseSize(stated);
    if (!size)
      return invalidArgument("TILEWRIGHT_CACHE_SIZE is '{}'; it takes a number of bytes, with K, M "
                             "or G after it if wanted",
                             expression::printable(stated, 40));
    settings.maxBytes = *size;
  }
  return settings;
}
