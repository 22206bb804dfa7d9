//===- CachedImage.h - A compilation's image on disk ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_DRIVER_CACHEDIMAGE_H
#define TILEWRIGHT_COMPILER_DRIVER_CACHEDIMAGE_H

#include "compiler/Cache/DiskCache.h"
#include "compiler/Driver/Implementation.h"

namespace tilewright {

/// The image that the disk cache has for a compilation, or what `make` gives, which is then kept.
/// Either way it is the same, bit for bit. `key` tells target, assembler and flags. What is wrong
/// with the cache becomes a remark.
Result<KernelImage> findOrMakeImage(Compilation::Implementation &state, CacheKey key,
                                    DiskCache::Make make);

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_DRIVER_CACHEDIMAGE_H
