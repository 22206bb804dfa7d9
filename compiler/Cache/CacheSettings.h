//===- CacheSettings.h - Where the cache is, and how large ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_CACHE_CACHESETTINGS_H
#define TILEWRIGHT_COMPILER_CACHE_CACHESETTINGS_H

#include <tilewright/result.h>

#include <chrono>
#include <cstdint>
#include <string>

namespace tilewright {

struct CacheSettings {
  /// Empty: nothing is kept.
  std::string folder;
  /// Of all images together. When they take more, those not used for longest go.
  uint64_t maxBytes = uint64_t{512} << 20;
  /// How long to wait while another process or thread compiles the same kernel, before compiling it
  /// oneself.
  std::chrono::milliseconds patience = std::chrono::minutes(1);

  /// The folder is $TILEWRIGHT_CACHE_DIR, none if that is set and empty; else tilewright in
  /// $XDG_CACHE_HOME, or in ~/.cache where that is no absolute path. $TILEWRIGHT_CACHE_SIZE is a
  /// number of bytes, "1000000", "64M", "2G". Refused: anything else there, or no home.
  static Result<CacheSettings> fromEnvironment();
};

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_CACHE_CACHESETTINGS_H
