//===- CacheSizes.h - The fast memories of a processor ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TARGET_CPU_CACHESIZES_H
#define TILEWRIGHT_COMPILER_TARGET_CPU_CACHESIZES_H

#include <cstdint>

namespace tilewright {

/// Bytes of the data caches of one core.
struct CacheSizes {
  int64_t level1 = int64_t{32} << 10;
  int64_t level2 = int64_t{1} << 20;
  /// The numbers are this machine's; otherwise they are the ones above, typical of servers.
  bool measured = false;

  /// What Linux says of the first core; the assumption where it says nothing.
  static CacheSizes ofThisMachine();
};

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_TARGET_CPU_CACHESIZES_H
