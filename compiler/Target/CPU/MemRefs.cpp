//===- MemRefs.cpp - A launch as MLIR's C interface takes it --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/CPU/MemRefs.h"

#include <algorithm>

using namespace tilewright;

static MemRefDescriptor descriptorOf(const TensorView &view) {
  MemRefDescriptor descriptor{view.data, view.data, 0, {}};
  std::copy_n(view.shape.begin(), view.rank, descriptor.extentsAndStrides);
  std::copy_n(view.strides.begin(), view.rank, descriptor.extentsAndStrides + view.rank);
  return descriptor;
}

MemRefs::MemRefs(const LaunchArguments &launch) {
  const std::span<const BoundArgument> arguments = launch.arguments();
  descriptors.reserve(arguments.size());
  scalars.reserve(arguments.size());
  pointerList.reserve(arguments.size());
  for (const BoundArgument &argument : arguments) {
    if (argument.view) {
      descriptors.push_back(descriptorOf(*argument.view));
      pointerList.push_back(&descriptors.back());
    } else {
      scalars.push_back(argument.scalar);
      pointerList.push_back(&scalars.back());
    }
  }
}
