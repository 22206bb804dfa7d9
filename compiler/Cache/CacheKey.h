//===- CacheKey.h - What an image is found by -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_CACHE_CACHEKEY_H
#define TILEWRIGHT_COMPILER_CACHE_CACHEKEY_H

#include <string>

namespace tilewright {

/// All that the code of a kernel depends on. Lengths, batch and heads are arguments of a launch and
/// so no part of it, unless the problem's types state them.
struct CacheKey {
  /// The build id of the compiler: any change of ours makes other keys.
  std::string compiler = {};
  /// The first stage of the compilation, and the problem as text of that stage.
  std::string stage = {}, problem = {};
  /// "block_q=128,block_kv=128,stages=2", with all that the compiler chose.
  std::string schedule = {};
  /// "sm_90a".
  std::string target;
  /// Which ptxas it is, and what it is given besides the code.
  std::string assembler, flags;

  /// SHA-256 of the fields, in hexadecimal digits; a text cannot be moved from one field to the
  /// next without changing it.
  std::string digest() const;
};

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_CACHE_CACHEKEY_H
