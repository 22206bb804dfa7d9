//===- DiskCache.cpp - Compiled images, found again -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Cache/DiskCache.h"
#include "compiler/Cache/PartialFile.h"
#include "compiler/Cache/TrustedFolder.h"
#include "lib/Support/MakeError.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"

#include <algorithm>
#include <dirent.h>
#include <fcntl.h>
#include <mutex>
#include <set>
#include <thread>

using namespace tilewright;
using namespace std::chrono_literals;
using std::chrono::steady_clock;

static constexpr llvm::StringLiteral imageSuffix = ".twk";
static constexpr llvm::StringLiteral partialSuffix = ".partial";

static void reportOnce(const std::string &message, DiskCache::Report report) {
  static std::mutex mutex;
  static std::set<std::string> reported;
  {
    const std::lock_guard lock(mutex);
    if (!reported.insert(message).second)
      return;
  }
  report(message);
}

static bool isCacheName(llvm::StringRef name, llvm::StringRef suffix) {
  return name.consume_back(suffix) && name.size() == 64 && llvm::all_of(name, llvm::isHexDigit);
}

namespace {
/// The opened cache during one request.
class OpenCache {
public:
  OpenCache(const CacheSettings &settings, Descriptor folder, DiskCache::Report report)
      : settings(settings), folder(std::move(folder)), report(report) {}

  Result<KernelImage> getOrMake(const std::string &digest, DiskCache::Make make) const;

private:
  std::optional<KernelImage> find(const std::string &name) const;
  void store(PartialFile partial, const KernelImage &image, const std::string &name) const;
  void tidy() const;
  void say(const std::string &message) const {
    reportOnce(settings.folder + ": " + message, report);
  }

  const CacheSettings &settings;
  Descriptor folder;
  DiskCache::Report report;
};
} // namespace

std::optional<KernelImage> OpenCache::find(const std::string &name) const {
  const Descriptor file(
      openat(folder.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat facts;
  if (!file || fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode))
    return std::nullopt;
  if (!isOurs(facts) || isWritableByOthers(facts)) {
    say(name + " is made again: others could have written it");
    return std::nullopt;
  }
  const auto size = static_cast<uint64_t>(facts.st_size);
  if (size > settings.maxBytes)
    return std::nullopt;
  // Volatile, lest it be mapped: a mapped file that somebody truncates is a signal when it is read.
  auto bytes = llvm::MemoryBuffer::getOpenFile(file.get(), name, size,
                                               /*RequiresNullTerminator=*/false,
                                               /*IsVolatile=*/true);
  if (!bytes)
    return std::nullopt;
  const llvm::StringRef contents = (*bytes)->getBuffer();
  Result<KernelImage> image = decodeImage(std::as_bytes(std::span(contents)));
  if (!image) {
    say(name + " is made again: " + image.error().message());
    return std::nullopt;
  }
  // Of a file system that is read-only nothing is ever removed, so it may fail.
  futimens(file.get(), nullptr);
  return *std::move(image);
}

Result<KernelImage> OpenCache::getOrMake(const std::string &digest, DiskCache::Make make) const {
  const std::string name = digest + imageSuffix.str();
  const auto deadline = steady_clock::now() + settings.patience;
  for (std::chrono::milliseconds pause = 1ms;; pause = std::min(2 * pause, 50ms)) {
    if (std::optional<KernelImage> image = find(name))
      return *std::move(image);
    Result<std::optional<PartialFile>> partial =
        PartialFile::tryCreate(folder.get(), digest + partialSuffix.str());
    if (!partial) {
      say("kernels are not kept: " + partial.error().message());
      return make();
    }
    if (*partial) {
      // Another one may have finished between the look and the lock.
      if (std::optional<KernelImage> image = find(name))
        return *std::move(image);
      Result<KernelImage> image = make();
      if (image) {
        store(**std::move(partial), *image, name);
        tidy();
      }
      return image;
    }
    if (steady_clock::now() >= deadline) {
      say(fmt::format("{} is made elsewhere for more than {} ms; made here as well", name,
                      settings.patience.count()));
      return make();
    }
    std::this_thread::sleep_for(pause);
  }
}

void OpenCache::store(PartialFile partial, const KernelImage &image,
                      const std::string &name) const {
  const std::string bytes = encode(image);
  if (bytes.size() > settings.maxBytes)
    return say(fmt::format("an image of {} bytes is not kept: all together may take {}",
                           bytes.size(), settings.maxBytes));
  if (Status published = partial.publish(bytes, name); !published)
    say("kernels are not kept: " + published.error().message());
}

/// Removes what killed writers left, and the images not used for longest if all take too much.
void OpenCache::tidy() const {
  struct Entry {
    std::chrono::nanoseconds lastUse;
    uint64_t size;
    std::string name;
  };
  std::vector<Entry> entries;
  uint64_t total = 0;
  DIR *listing = fdopendir(openat(folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!listing)
    return;
  while (const dirent *item = readdir(listing)) {
    struct stat facts;
    if (isCacheName(item->d_name, partialSuffix)) {
      PartialFile::removeIfAbandoned(folder.get(), item->d_name);
    } else if (isCacheName(item->d_name, imageSuffix) &&
               fstatat(folder.get(), item->d_name, &facts, AT_SYMLINK_NOFOLLOW) == 0) {
      const timespec &time = facts.st_mtim;
      entries.push_back(
          {.lastUse = std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec),
           .size = static_cast<uint64_t>(facts.st_size),
           .name = item->d_name});
      total += entries.back().size;
    }
  }
  closedir(listing);
  std::ranges::sort(entries, {}, &Entry::lastUse);
  for (const Entry &entry : entries) {
    if (total <= settings.maxBytes)
      break;
    unlinkat(folder.get(), entry.name.c_str(), 0);
    total -= entry.size;
  }
}

Result<KernelImage> DiskCache::getOrMake(const CacheKey &key, Make make, Report report) const {
  const auto withoutCache = [&](const Error &why) {
    reportOnce("kernels are compiled without the cache: " + why.message(), report);
    return make();
  };
  if (!settings)
    return withoutCache(settings.error());
  if (settings->folder.empty())
    return make();
  Result<Descriptor> folder = openTrustedFolder(settings->folder);
  if (!folder)
    return withoutCache(folder.error());
  return OpenCache(*settings, *std::move(folder), report).getOrMake(key.digest(), make);
}
