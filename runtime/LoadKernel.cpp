//===- LoadKernel.cpp - Kernels from images -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/EmulatedKernel.h"
#include "runtime/GpuKernel.h"

using namespace tilewright;

Result<Kernel> tilewright::loadKernel(std::span<const std::byte> bytes) {
  Result<KernelImage> image = decodeImage(bytes);
  if (!image)
    return image.error();
  return makeGpuKernel(*image);
}

Result<Kernel> tilewright::emulateKernel(std::span<const std::byte> bytes,
                                         const EmulationOptions &options) {
  Result<KernelImage> image = decodeImage(bytes);
  if (!image)
    return image.error();
  return makeEmulatedKernel(*image, options);
}
