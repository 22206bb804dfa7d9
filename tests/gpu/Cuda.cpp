//===- Cuda.cpp - What a host does with CUDA's driver ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/gpu/Cuda.h"

#include <fmt/format.h>

#include <dlfcn.h>

using namespace tilewright;

static void *driver() {
  static void *library = dlopen("libcuda.so.1", RTLD_NOW);
  return library;
}

void *gpu::findFunction(const char *name) {
  return driver() ? dlsym(driver(), name) : nullptr;
}

/// Calls a function whose failure is an answer.
template <typename... Arguments> static int tryCuda(const char *name, Arguments... arguments) {
  auto *function = reinterpret_cast<int (*)(Arguments...)>(gpu::findFunction(name));
  return function ? function(arguments...) : -1;
}

static std::optional<std::string> openGpu() {
  if (!driver())
    return fmt::format("there is no driver ({})", dlerror());
  if (const int code = tryCuda("cuInit", 0u))
    return fmt::format("the driver does not start (error {})", code);
  int count = 0, device = 0, major = 0, minor = 0;
  if (tryCuda("cuDeviceGetCount", &count) != 0 || count == 0)
    return "the driver knows no device";
  constexpr int computeCapabilityMajor = 75, computeCapabilityMinor = 76;
  if (tryCuda("cuDeviceGet", &device, 0) != 0 ||
      tryCuda("cuDeviceGetAttribute", &major, computeCapabilityMajor, device) != 0 ||
      tryCuda("cuDeviceGetAttribute", &minor, computeCapabilityMinor, device) != 0)
    return "the driver does not describe the first device";
  if (major != 9 || minor != 0)
    return fmt::format("the first device has compute capability {}.{}, and kernels for sm_90a run "
                       "on 9.0 only",
                       major, minor);
  void *context = nullptr;
  if (const int code = tryCuda("cuDevicePrimaryCtxRetain", &context, device))
    return fmt::format("the first device gives no context (error {})", code);
  if (const int code = tryCuda("cuCtxSetCurrent", context))
    return fmt::format("the first device's context cannot be used (error {})", code);
  return {};
}

std::optional<std::string> gpu::whyNoGpu() {
  static const std::optional<std::string> reason = openGpu();
  return reason;
}
