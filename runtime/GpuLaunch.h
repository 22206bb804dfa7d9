//===- GpuLaunch.h - What a GPU kernel is launched with ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensor maps, rules of alignment and the grid, for a GPU and for its emulator.
// Nothing here allocates but the messages of errors.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_RUNTIME_GPULAUNCH_H
#define TILEWRIGHT_RUNTIME_GPULAUNCH_H

#include "runtime/LaunchArguments.h"

namespace tilewright {

/// A tensor [.., t, d] of 2-byte elements as cuTensorMapEncodeTiled takes it, with a swizzle of 128
/// bytes and zeros outside of the tensor. Dimension 0 is the innermost.
struct TensorMapShape {
  static constexpr size_t maxRank = 5;

  uint32_t rank = 0;
  std::array<uint64_t, maxRank> extents{};     ///< In elements.
  std::array<uint64_t, maxRank - 1> strides{}; ///< In bytes, from dimension 1.
  std::array<uint32_t, maxRank> box{};         ///< In elements.
};

/// Of `tensor`, read in boxes of `rows` rows. A dimension of extent 1 may have any stride; a tensor
/// without elements is described as one of a single element, which is never read and may lie
/// anywhere. Refused, as the copy engine would: a base that is no multiple of 16 bytes, a stride
/// that is none, is negative, or is 2^40 bytes or more.
Result<TensorMapShape> shapeOfTensorMap(const BoundArgument &tensor, uint32_t rows);

/// Refused: an output of the shape [.., t, d] whose base or strides are no multiples of the two
/// elements that kernels store at a time.
Status checkStores(const LaunchArguments &launch);

/// Refused: more blocks than a grid has along x.
Result<uint32_t> countBlocks(const KernelLaunch &kernel, const LaunchArguments &launch);

} // namespace tilewright

#endif // TILEWRIGHT_RUNTIME_GPULAUNCH_H
