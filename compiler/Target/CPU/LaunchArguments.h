//===- LaunchArguments.h - A launch, checked and laid out -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TARGET_CPU_LAUNCHARGUMENTS_H
#define TILEWRIGHT_COMPILER_TARGET_CPU_LAUNCHARGUMENTS_H

#include "compiler/Target/CPU/CpuKernel.h"

#include <tilewright/runtime.h>

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

/// A scalar in the representation of its kind.
union ScalarValue {
  int32_t i32;
  float f32;
  double f64;
};

/// The values of one launch in the order of the signature, and pointers to each as the entry points
/// of CpuKernel.cpp take them.
class LaunchArguments {
public:
  /// Checks everything that runtime.h and `signature` require of `arguments`; the first violation
  /// is told by name, with the value seen and the limit. Nothing is read through the views.
  static Result<LaunchArguments> check(const Signature &signature,
                                       const LaunchExpressions &expressions,
                                       const Arguments &arguments);

  // Not copied: the pointers are into the vectors beside them.
  LaunchArguments(LaunchArguments &&) = default;
  LaunchArguments &operator=(LaunchArguments &&) = default;

  void *const *pointers() const { return pointerList.data(); }

  /// There is no query, so that nothing is to be computed.
  bool nothingToDo() const { return empty; }

private:
  LaunchArguments() = default;

  std::vector<MemRefDescriptor> descriptors;
  std::vector<ScalarValue> scalars;
  std::vector<void *> pointerList;
  bool empty = false;
};

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_TARGET_CPU_LAUNCHARGUMENTS_H
