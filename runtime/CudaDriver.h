//===- CudaDriver.h - NVIDIA's driver, opened at run time -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of libcuda.so.1 that Tilewright calls, with the few types and
// numbers that they take. They are declared here as NVIDIA's "CUDA Driver API"
// reference describes them, so that no toolkit is needed to build, and looked up
// when they are first needed, so that the library loads on machines without a GPU.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_RUNTIME_CUDADRIVER_H
#define TILEWRIGHT_RUNTIME_CUDADRIVER_H

#include <tilewright/result.h>

#include <cstddef>
#include <cstdint>

namespace tilewright::cuda {

using Code = int;
using Device = int;
using Address = uint64_t;
using Context = struct ContextObject *;
using Stream = struct StreamObject *;
using Event = struct EventObject *;
using Library = struct LibraryObject *;
using Function = struct FunctionObject *;

/// As cuTensorMapEncodeTiled writes it and a kernel takes it.
struct alignas(64) TensorMap {
  std::byte bytes[128];
};

constexpr Code success = 0;

// Attributes of a device.
constexpr int l2CacheBytes = 38;
constexpr int computeCapabilityMajor = 75;
constexpr int computeCapabilityMinor = 76;
// Of a function.
constexpr int maxDynamicSharedMemory = 8;
// Of a pointer, and the memory types that the first of them tells.
constexpr int memoryType = 2;
constexpr int isManaged = 8;
constexpr int deviceOrdinal = 9;
constexpr unsigned hostMemory = 1;
constexpr unsigned deviceMemory = 2;
// Of tensor maps.
constexpr int tensorMapFloat16 = 6;
constexpr int tensorMapBFloat16 = 9;
constexpr int swizzle128Bytes = 3;
constexpr int promoteTo128Bytes = 2;
// Flags.
constexpr unsigned nonBlockingStream = 1;

/// One member for each function, named as it is without "cu".
struct Driver {
  Code (*init)(unsigned flags);
  Code (*getErrorName)(Code code, const char **name);
  Code (*deviceGetCount)(int *count);
  Code (*deviceGet)(Device *device, int ordinal);
  Code (*deviceGetName)(char *name, int length, Device device);
  Code (*deviceGetAttribute)(int *value, int attribute, Device device);
  Code (*deviceGetPCIBusId)(char *text, int length, Device device);
  Code (*devicePrimaryCtxRetain)(Context *context, Device device);
  Code (*devicePrimaryCtxRelease)(Device device);
  Code (*ctxGetCurrent)(Context *context);
  Code (*ctxPushCurrent)(Context context);
  Code (*ctxPopCurrent)(Context *context);
  Code (*ctxGetDevice)(Device *device);
  Code (*streamGetCtx)(Stream stream, Context *context);
  Code (*streamCreate)(Stream *stream, unsigned flags);
  Code (*streamDestroy)(Stream stream);
  Code (*streamSynchronize)(Stream stream);
  Code (*eventCreate)(Event *event, unsigned flags);
  Code (*eventDestroy)(Event event);
  Code (*eventRecord)(Event event, Stream stream);
  Code (*eventSynchronize)(Event event);
  Code (*eventElapsedTime)(float *milliseconds, Event start, Event end);
  Code (*memAlloc)(Address *address, size_t bytes);
  Code (*memFree)(Address address);
  Code (*memcpyHtoDAsync)(Address to, const void *from, size_t bytes, Stream stream);
  Code (*memcpyDtoHAsync)(void *to, Address from, size_t bytes, Stream stream);
  Code (*memsetD8Async)(Address address, unsigned char value, size_t bytes, Stream stream);
  Code (*pointerGetAttributes)(unsigned count, const int *attributes, void **values,
                               Address address);
  Code (*loadLibrary)(Library *library, const void *image, const int *jitOptions,
                      void *const *jitValues, unsigned jitCount, const int *options,
                      void *const *values, unsigned count);
  Code (*unloadLibrary)(Library library);
  Code (*kernelOfLibrary)(Function *kernel, Library library, const char *name);
  Code (*kernelSetAttribute)(int attribute, int value, Function kernel, Device device);
  Code (*tensorMapEncodeTiled)(TensorMap *map, int dtype, uint32_t rank, Address address,
                               const uint64_t *extents, const uint64_t *strides,
                               const uint32_t *box, const uint32_t *elementStrides, int interleave,
                               int swizzle, int promotion, int fill);
  Code (*launchKernel)(Function kernel, unsigned gridX, unsigned gridY, unsigned gridZ,
                       unsigned blockX, unsigned blockY, unsigned blockZ, unsigned sharedMemory,
                       Stream stream, void **parameters, void **extra);
};

/// The driver of this machine, initialised; the same in every call. Refused: no libcuda.so.1, one
/// without these functions (CUDA 12 has them), no device.
Result<const Driver *> openDriver();

/// "cuLaunchKernel: CUDA_ERROR_INVALID_VALUE".
Error driverError(const Driver &driver, const char *function, Code code);

/// The outcome of a call of `function`.
inline Status outcome(const Driver &driver, const char *function, Code code) {
  if (code == success)
    return {};
  return driverError(driver, function, code);
}

/// Makes a context current, and the one before again at the end.
class CurrentContext {
public:
  explicit CurrentContext(const Driver &driver) : driver(driver) {}
  ~CurrentContext();
  CurrentContext(const CurrentContext &) = delete;

  Status enter(Context context);

private:
  const Driver &driver;
  bool pushed = false;
};

} // namespace tilewright::cuda

#endif // TILEWRIGHT_RUNTIME_CUDADRIVER_H
