//===- GpuKernel.h - Kernels that run on a GPU ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_RUNTIME_GPUKERNEL_H
#define TILEWRIGHT_RUNTIME_GPUKERNEL_H

#include "lib/Image/KernelImage.h"
#include "runtime/CudaDriver.h"

#include <tilewright/runtime.h>

namespace tilewright {

/// loadKernel() for an image in memory. Loads the cubin once for all contexts.
///
/// Without a driver, or without a device that runs the image's target, the kernel is made all the
/// same and its run() says so. Refused: an image that checkImage() refuses or that has no cubin,
/// and a cubin that the driver refuses.
Result<Kernel> makeGpuKernel(const KernelImage &image);

/// The same with a given driver, which outlives the kernel, or with the reason why there is none.
Result<Kernel> makeGpuKernel(const KernelImage &image, const Result<const cuda::Driver *> &driver);

} // namespace tilewright

#endif // TILEWRIGHT_RUNTIME_GPUKERNEL_H
