//===- GpuLaunch.cpp - What a GPU kernel is launched with -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rules of tensor maps are those of cuTensorMapEncodeTiled in NVIDIA's CUDA
// Driver API reference.
//
//===----------------------------------------------------------------------===//

#include "runtime/GpuLaunch.h"

#include "lib/Support/MakeError.h"

using namespace tilewright;

namespace {
constexpr int64_t mapAlignment = 16;
constexpr int64_t maxMapStride = int64_t{1} << 40;
/// One row of a box: 64 elements, as wide as the swizzle.
constexpr uint32_t boxColumns = 64;
constexpr int64_t storedElements = 2;
constexpr int64_t maxBlocks = INT32_MAX;

Result<uint64_t> strideOfMap(const BoundArgument &tensor, size_t dimension) {
  if (tensor.isEmpty() || tensor.view->shape[dimension] == 1)
    return uint64_t{mapAlignment};
  const int64_t stride = tensor.view->strides[dimension];
  const auto size = static_cast<int64_t>(sizeOf(tensor.view->dtype));
  int64_t bytes = 0;
  if (__builtin_mul_overflow(stride, size, &bytes) || bytes < 0 || bytes >= maxMapStride ||
      bytes % mapAlignment != 0)
    return unsupported("{}: the stride of dimension {} ({}) is {} elements of {} bytes; the GPU's "
                       "copy engine takes multiples of {} bytes from 0 to below 2^40",
                       tensor.label(), dimension, tensor.dimension(dimension), stride, size,
                       mapAlignment);
  return static_cast<uint64_t>(bytes);
}
} // namespace

Result<TensorMapShape> tilewright::shapeOfTensorMap(const BoundArgument &tensor, uint32_t rows) {
  const TensorView &view = *tensor.view;
  const auto address = reinterpret_cast<uintptr_t>(view.data);
  if (!tensor.isEmpty() && address % mapAlignment != 0)
    return unsupported("{} starts at address {:#x}; the GPU's copy engine takes multiples of {} "
                       "bytes",
                       tensor.label(), address, mapAlignment);
  if (!tensor.isEmpty() && view.shape[view.rank - 1] > 1 && view.strides[view.rank - 1] != 1)
    return unsupported("{} has stride {} in dimension {}; the GPU's copy engine takes 1",
                       tensor.label(), view.strides[view.rank - 1], view.rank - 1);
  TensorMapShape map;
  map.rank = static_cast<uint32_t>(view.rank);
  for (size_t i = 0; i < view.rank; ++i) {
    const size_t dimension = view.rank - 1 - i;
    map.extents[i] = tensor.isEmpty() ? 1 : static_cast<uint64_t>(view.shape[dimension]);
    map.box[i] = i == 0 ? boxColumns : i == 1 ? rows : 1;
    if (i == 0)
      continue;
    Result<uint64_t> stride = strideOfMap(tensor, dimension);
    if (!stride)
      return stride.error();
    map.strides[i - 1] = *stride;
  }
  return map;
}

Status tilewright::checkStores(const LaunchArguments &launch) {
  for (const BoundArgument &output : launch.arguments()) {
    if (!output.isOutput() || output.isEmpty() || output.view->rank < 4)
      continue;
    const TensorView &view = *output.view;
    if (view.shape[view.rank - 1] % storedElements != 0) // stored one by one
      continue;
    const int64_t bytes = storedElements * static_cast<int64_t>(sizeOf(view.dtype));
    const auto address = reinterpret_cast<uintptr_t>(view.data);
    if (address % static_cast<uintptr_t>(bytes) != 0)
      return unsupported("{} starts at address {:#x}; GPU kernels store {} elements at a time and "
                         "take multiples of {} bytes",
                         output.label(), address, storedElements, bytes);
    for (size_t i = 0; i + 1 < view.rank; ++i)
      if (view.shape[i] > 1 && view.strides[i] % storedElements != 0)
        return unsupported("{}: the stride of dimension {} ({}) is {} elements; GPU kernels store "
                           "{} elements at a time and take multiples of that",
                           output.label(), i, output.dimension(i), view.strides[i], storedElements);
  }
  return {};
}

Result<uint32_t> tilewright::countBlocks(const KernelLaunch &kernel,
                                         const LaunchArguments &launch) {
  int64_t blocks = 1;
  for (const SizeFormula &formula : kernel.grid) {
    Result<int64_t> factor = evaluate(formula, launch.extents());
    if (!factor)
      return factor.error();
    if (*factor < 0)
      return invalidArgument("the kernel asks for a grid with {} blocks along one side", *factor);
    if (__builtin_mul_overflow(blocks, *factor, &blocks) || blocks > maxBlocks)
      return unsupported("the launch takes more than {} thread blocks, which is the limit of a "
                         "grid: fewer batches, heads or queries at a time do",
                         maxBlocks);
  }
  return static_cast<uint32_t>(blocks);
}
