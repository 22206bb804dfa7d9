//===- CudaDriver.cpp - NVIDIA's driver, opened at run time ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/CudaDriver.h"

#include "lib/Support/MakeError.h"

#include <dlfcn.h>

using namespace tilewright;
using namespace tilewright::cuda;

namespace {
constexpr const char *libraryName = "libcuda.so.1";

/// The first function that is not there is remembered.
class Symbols {
public:
  explicit Symbols(void *library) : library(library) {}

  template <typename T> void find(T *&function, const char *name) {
    function = reinterpret_cast<T *>(dlsym(library, name));
    if (!function && !missing)
      missing = name;
  }

  const char *missing = nullptr;

private:
  void *library;
};

/// Names with a number are the functions that cuda.h of CUDA 12 means by those without.
const char *findFunctions(Driver &driver, void *library) {
  Symbols symbols(library);
  symbols.find(driver.init, "cuInit");
  symbols.find(driver.getErrorName, "cuGetErrorName");
  symbols.find(driver.deviceGetCount, "cuDeviceGetCount");
  symbols.find(driver.deviceGet, "cuDeviceGet");
  symbols.find(driver.deviceGetName, "cuDeviceGetName");
  symbols.find(driver.deviceGetAttribute, "cuDeviceGetAttribute");
  symbols.find(driver.deviceGetPCIBusId, "cuDeviceGetPCIBusId");
  symbols.find(driver.devicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
  symbols.find(driver.devicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2");
  symbols.find(driver.ctxGetCurrent, "cuCtxGetCurrent");
  symbols.find(driver.ctxPushCurrent, "cuCtxPushCurrent_v2");
  symbols.find(driver.ctxPopCurrent, "cuCtxPopCurrent_v2");
  symbols.find(driver.ctxGetDevice, "cuCtxGetDevice");
  symbols.find(driver.streamGetCtx, "cuStreamGetCtx");
  symbols.find(driver.streamCreate, "cuStreamCreate");
  symbols.find(driver.streamDestroy, "cuStreamDestroy_v2");
  symbols.find(driver.streamSynchronize, "cuStreamSynchronize");
  symbols.find(driver.eventCreate, "cuEventCreate");
  symbols.find(driver.eventDestroy, "cuEventDestroy_v2");
  symbols.find(driver.eventRecord, "cuEventRecord");
  symbols.find(driver.eventSynchronize, "cuEventSynchronize");
  symbols.find(driver.eventElapsedTime, "cuEventElapsedTime");
  symbols.find(driver.memAlloc, "cuMemAlloc_v2");
  symbols.find(driver.memFree, "cuMemFree_v2");
  symbols.find(driver.memcpyHtoDAsync, "cuMemcpyHtoDAsync_v2");
  symbols.find(driver.memcpyDtoHAsync, "cuMemcpyDtoHAsync_v2");
  symbols.find(driver.memsetD8Async, "cuMemsetD8Async");
  symbols.find(driver.pointerGetAttributes, "cuPointerGetAttributes");
  symbols.find(driver.loadLibrary, "cuLibraryLoadData");
  symbols.find(driver.unloadLibrary, "cuLibraryUnload");
  symbols.find(driver.kernelOfLibrary, "cuLibraryGetKernel");
  symbols.find(driver.kernelSetAttribute, "cuKernelSetAttribute");
  symbols.find(driver.tensorMapEncodeTiled, "cuTensorMapEncodeTiled");
  symbols.find(driver.launchKernel, "cuLaunchKernel");
  return symbols.missing;
}

Result<Driver> open() {
  // Never closed: kernels may outlive every static object.
  void *library = dlopen(libraryName, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return unsupported("there is no NVIDIA driver on this machine: {}", dlerror());
  Driver driver = {};
  if (const char *missing = findFunctions(driver, library))
    return unsupported("the NVIDIA driver is too old: {} has no {}; drivers of CUDA 12 or newer do",
                       libraryName, missing);
  if (Status initialised = outcome(driver, "cuInit", driver.init(0)); !initialised)
    return initialised.error().within("the NVIDIA driver cannot be used");
  return driver;
}
} // namespace

Result<const Driver *> tilewright::cuda::openDriver() {
  static const Result<Driver> driver = open();
  if (!driver)
    return driver.error();
  return &*driver;
}

Error tilewright::cuda::driverError(const Driver &driver, const char *function, Code code) {
  const char *name = nullptr;
  if (driver.getErrorName(code, &name) != success || !name)
    return systemError("{}: error {}", function, code);
  return systemError("{}: {}", function, name);
}

Status CurrentContext::enter(Context context) {
  Context current = nullptr;
  if (Status got = outcome(driver, "cuCtxGetCurrent", driver.ctxGetCurrent(&current)); !got)
    return got;
  if (current == context)
    return {};
  Status entered = outcome(driver, "cuCtxPushCurrent", driver.ctxPushCurrent(context));
  pushed = static_cast<bool>(entered);
  return entered;
}

CurrentContext::~CurrentContext() {
  Context context = nullptr;
  if (pushed)
    driver.ctxPopCurrent(&context);
}
