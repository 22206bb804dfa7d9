//===- DiskCache.h - Compiled images, found again ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// docs/cache.md says what users need to know. An entry is a file DIGEST.twk with
// the bytes of encode(), whose checksum tells damage. One that is being made has
// the name DIGEST.partial (PartialFile.h). Files with other names are left alone.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_CACHE_DISKCACHE_H
#define TILEWRIGHT_COMPILER_CACHE_DISKCACHE_H

#include "compiler/Cache/CacheKey.h"
#include "compiler/Cache/CacheSettings.h"
#include "lib/Image/KernelImage.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace tilewright {

/// May be used by several threads and processes at once.
class DiskCache {
public:
  using Make = llvm::function_ref<Result<KernelImage>()>;
  using Report = llvm::function_ref<void(std::string)>;

  /// Without settings it works as one without a folder, and reports why there are none.
  explicit DiskCache(Result<CacheSettings> settings) : settings(std::move(settings)) {}

  /// The image that was stored under `key`, or the one that `make` gives, which is then stored. Of
  /// all who ask for one key at the same time, one makes the image while the others wait. Fails
  /// only if `make` does: whatever is wrong with the cache itself goes to `report`, each thing once
  /// in a process.
  Result<KernelImage> getOrMake(const CacheKey &key, Make make, Report report) const;

private:
  Result<CacheSettings> settings;
};

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_CACHE_DISKCACHE_H
