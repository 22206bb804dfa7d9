//===- KernelFacts.h - What a compiled kernel takes and gives ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_KERNELFACTS_H
#define TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_KERNELFACTS_H

#include "compiler/Target/CPU/Signature.h"

namespace tilewright::tool {

/// Read from what the kernel takes, so that it is known of one from any stage or file.
struct KernelFacts {
  DType dtype = DType::F32;
  DType outDType = DType::F32;
  int64_t headDim = 0;
  int64_t valueDim = 0;
  bool lse = false;
  /// Stack that a thread of the CPU uses for tiles.
  int64_t scratchBytes = 0;
};

/// Refused: a kernel without the arguments query, key, value and out, or with other types.
Result<KernelFacts> readKernelFacts(const Signature &signature);

} // namespace tilewright::tool

#endif // TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_KERNELFACTS_H
