//===- MemRefs.h - A launch as MLIR's C interface takes it ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TARGET_CPU_MEMREFS_H
#define TILEWRIGHT_COMPILER_TARGET_CPU_MEMREFS_H

#include "runtime/LaunchArguments.h"

#include <vector>

namespace tilewright {

/// How MLIR's C interface passes a strided memref: a pointer to this, with `rank` extents and then
/// `rank` strides, both in elements.
struct MemRefDescriptor {
  void *allocated;
  void *aligned;
  int64_t offset;
  int64_t extentsAndStrides[2 * TensorView::maxRank];
};

/// The values of a launch, and pointers to each as entry points (EntryPoints.h) take them.
class MemRefs {
public:
  explicit MemRefs(const LaunchArguments &launch);

  // Not copied: the pointers are into the vectors beside them.
  MemRefs(MemRefs &&) = default;

  void *const *pointers() const { return pointerList.data(); }

private:
  std::vector<MemRefDescriptor> descriptors;
  std::vector<ScalarValue> scalars;
  std::vector<void *> pointerList;
};

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_TARGET_CPU_MEMREFS_H
