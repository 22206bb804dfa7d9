//===- CudaDriverTest.cpp - The driver, and one that only takes notes ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With the fake itself, which other tests use too.
//
//===----------------------------------------------------------------------===//

#include "tests/unit/Runtime/FakeDriver.h"

#include <gmock/gmock.h>

#include <cstring>

using namespace tilewright;
using namespace tilewright::cuda;

static FakeMachine *machine = nullptr;

FakeMachine::FakeMachine() {
  machine = this;
}

FakeMachine::~FakeMachine() {
  machine = nullptr;
}

Code FakeMachine::note(const char *function) {
  if (callCount < calls.size())
    calls[callCount++] = function;
  return failing == function ? failure : success;
}

size_t FakeMachine::countCalls(std::string_view function) const {
  return static_cast<size_t>(
      std::ranges::count(std::span(calls).first(callCount), function,
                         [](const char *name) { return std::string_view(name); }));
}

static constexpr Code invalidValue = 1;
static constexpr Code invalidContext = 201;

static Code getErrorName(Code code, const char **name) {
  *name = code == invalidValue     ? "CUDA_ERROR_INVALID_VALUE"
          : code == invalidContext ? "CUDA_ERROR_INVALID_CONTEXT"
          : code == 2              ? "CUDA_ERROR_OUT_OF_MEMORY"
          : code == 209            ? "CUDA_ERROR_NO_BINARY_FOR_GPU"
                                   : nullptr;
  return *name ? success : invalidValue;
}

static Code getAttributes(unsigned count, const int *attributes, void **values, Address address) {
  const Code code = machine->note("cuPointerGetAttributes");
  FakeMachine::Memory found{0, 0, 0, -2}; // nothing that CUDA knows
  for (const FakeMachine::Memory &memory : machine->memory)
    if (address >= memory.begin && address < memory.end)
      found = memory;
  for (unsigned i = 0; i < count; ++i) {
    if (attributes[i] == memoryType)
      *static_cast<unsigned *>(values[i]) = found.type;
    else if (attributes[i] == deviceOrdinal)
      *static_cast<int *>(values[i]) = found.device;
    else if (attributes[i] == isManaged)
      *static_cast<bool *>(values[i]) = found.managed;
  }
  return code;
}

static Code encodeTiled(TensorMap *map, int dtype, uint32_t rank, Address address,
                        const uint64_t *extents, const uint64_t *strides, const uint32_t *box,
                        const uint32_t *elementStrides, int, int swizzle, int, int) {
  const Code code = machine->note("cuTensorMapEncodeTiled");
  // What the real one refuses.
  bool legal = reinterpret_cast<uintptr_t>(map) % 64 == 0 && address % 16 == 0 && address != 0;
  EncodedMap encoded = {.address = address,
                        .extents = {},
                        .strides = {},
                        .box = {},
                        .dtype = dtype,
                        .swizzle = swizzle,
                        .rank = rank};
  for (uint32_t i = 0; i < rank; ++i) {
    encoded.extents[i] = extents[i];
    encoded.box[i] = box[i];
    legal &= extents[i] > 0 && extents[i] <= uint64_t{1} << 32 && box[i] > 0 && box[i] <= 256 &&
             elementStrides[i] == 1;
    if (i == 0)
      continue;
    encoded.strides[i - 1] = strides[i - 1];
    legal &= strides[i - 1] % 16 == 0 && strides[i - 1] < uint64_t{1} << 40;
  }
  std::memcpy(map, &encoded, sizeof encoded);
  return code != success ? code : legal ? success : invalidValue;
}

static Code launchKernel(Function kernel, unsigned gridX, unsigned gridY, unsigned gridZ,
                         unsigned blockX, unsigned blockY, unsigned blockZ, unsigned sharedMemory,
                         Stream stream, void **parameters, void **) {
  FakeMachine::Launch &launch = machine->launch;
  launch = {.kernel = kernel,
            .grid = {gridX, gridY, gridZ},
            .threads = {blockX, blockY, blockZ},
            .sharedMemory = sharedMemory,
            .stream = stream,
            .context = machine->current,
            .parameters = {}};
  ++machine->launchCount;
  for (size_t i = 0; i < machine->parameterBytes.size(); ++i)
    std::memcpy(&launch.parameters[i], parameters[i], machine->parameterBytes[i]);
  return machine->note("cuLaunchKernel");
}

Driver FakeMachine::driver() {
  Driver driver = {};
  driver.getErrorName = getErrorName;
  driver.deviceGetCount = [](int *count) {
    *count = static_cast<int>(machine->gpus.size());
    return machine->note("cuDeviceGetCount");
  };
  driver.deviceGet = [](Device *device, int ordinal) {
    *device = ordinal;
    return machine->note("cuDeviceGet");
  };
  driver.deviceGetName = [](char *name, int, Device) {
    std::strcpy(name, "Fake GPU");
    return machine->note("cuDeviceGetName");
  };
  driver.deviceGetPCIBusId = [](char *text, int, Device) {
    std::strcpy(text, "0000:00:00.0");
    return machine->note("cuDeviceGetPCIBusId");
  };
  driver.deviceGetAttribute = [](int *value, int attribute, Device device) {
    const Gpu &gpu = machine->gpus[static_cast<size_t>(device)];
    *value = attribute == computeCapabilityMajor   ? gpu.major
             : attribute == computeCapabilityMinor ? gpu.minor
                                                   : 1024;
    return machine->note("cuDeviceGetAttribute");
  };
  driver.devicePrimaryCtxRetain = [](Context *context, Device device) {
    *context = machine->contextOf(device);
    return machine->note("cuDevicePrimaryCtxRetain");
  };
  driver.devicePrimaryCtxRelease = [](Device) {
    return machine->note("cuDevicePrimaryCtxRelease");
  };
  driver.ctxGetCurrent = [](Context *context) {
    *context = machine->current;
    return machine->note("cuCtxGetCurrent");
  };
  driver.ctxPushCurrent = [](Context context) {
    machine->below[machine->depth++] = machine->current;
    machine->current = context;
    return machine->note("cuCtxPushCurrent");
  };
  driver.ctxPopCurrent = [](Context *context) {
    *context = machine->current;
    machine->current = machine->below[--machine->depth];
    return machine->note("cuCtxPopCurrent");
  };
  driver.ctxGetDevice = [](Device *device) {
    *device = machine->gpuOf(machine->current);
    return machine->note("cuCtxGetDevice");
  };
  driver.streamGetCtx = [](Stream stream, Context *context) {
    *context = nullptr;
    for (int gpu = 0; gpu < static_cast<int>(machine->gpus.size()); ++gpu)
      if (machine->streamOf(gpu) == stream)
        *context = machine->contextOf(gpu);
    const Code code = machine->note("cuStreamGetCtx");
    return code == success && !*context ? invalidContext : code;
  };
  driver.streamCreate = [](Stream *stream, unsigned) {
    *stream = machine->streamOf(machine->gpuOf(machine->current));
    return machine->note("cuStreamCreate");
  };
  driver.streamDestroy = [](Stream) { return machine->note("cuStreamDestroy"); };
  driver.streamSynchronize = [](Stream) { return machine->note("cuStreamSynchronize"); };
  driver.eventCreate = [](Event *, unsigned) { return machine->note("cuEventCreate"); };
  driver.eventDestroy = [](Event) { return machine->note("cuEventDestroy"); };
  driver.eventRecord = [](Event, Stream) { return machine->note("cuEventRecord"); };
  driver.eventSynchronize = [](Event) { return machine->note("cuEventSynchronize"); };
  driver.eventElapsedTime = [](float *milliseconds, Event, Event) {
    *milliseconds = 1.5f;
    return machine->note("cuEventElapsedTime");
  };
  driver.memAlloc = [](Address *address, size_t bytes) {
    *address = reinterpret_cast<Address>(std::malloc(bytes));
    return machine->note("cuMemAlloc");
  };
  driver.memFree = [](Address address) {
    std::free(reinterpret_cast<void *>(address));
    return machine->note("cuMemFree");
  };
  driver.memcpyHtoDAsync = [](Address to, const void *from, size_t bytes, Stream) {
    std::memcpy(reinterpret_cast<void *>(to), from, bytes);
    return machine->note("cuMemcpyHtoDAsync");
  };
  driver.memcpyDtoHAsync = [](void *to, Address from, size_t bytes, Stream) {
    std::memcpy(to, reinterpret_cast<const void *>(from), bytes);
    return machine->note("cuMemcpyDtoHAsync");
  };
  driver.memsetD8Async = [](Address address, unsigned char value, size_t bytes, Stream) {
    std::memset(reinterpret_cast<void *>(address), value, bytes);
    return machine->note("cuMemsetD8Async");
  };
  driver.pointerGetAttributes = getAttributes;
  driver.loadLibrary = [](Library *library, const void *, const int *, void *const *, unsigned,
                          const int *, void *const *, unsigned) {
    *library = reinterpret_cast<Library>(machine);
    return machine->note("cuLibraryLoadData");
  };
  driver.unloadLibrary = [](Library) { return machine->note("cuLibraryUnload"); };
  driver.kernelOfLibrary = [](Function *function, Library, const char *name) {
    machine->kernelName = name;
    *function = reinterpret_cast<Function>(&machine->kernelName);
    return machine->note("cuLibraryGetKernel");
  };
  driver.kernelSetAttribute = [](int attribute, int value, Function, Device device) {
    if (attribute == maxDynamicSharedMemory)
      machine->sharedMemory.emplace_back(device, value);
    return machine->note("cuKernelSetAttribute");
  };
  driver.tensorMapEncodeTiled = encodeTiled;
  driver.launchKernel = launchKernel;
  return driver;
}

TEST(CudaDriver, NamesTheFunctionAndTheError) {
  FakeMachine fake;
  const Driver driver = fake.driver();
  EXPECT_EQ(driverError(driver, "cuMemAlloc", 2).message(), "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY");
  EXPECT_EQ(driverError(driver, "cuMemAlloc", 12345).message(), "cuMemAlloc: error 12345");
}

TEST(CudaDriver, RestoresTheContextThatWasCurrent) {
  FakeMachine fake;
  fake.gpus.resize(2);
  const Driver driver = fake.driver();
  fake.current = fake.contextOf(0);
  {
    CurrentContext same(driver);
    ASSERT_TRUE(same.enter(fake.contextOf(0)));
    EXPECT_EQ(fake.countCalls("cuCtxPushCurrent"), 0u);
    CurrentContext other(driver);
    ASSERT_TRUE(other.enter(fake.contextOf(1)));
    EXPECT_EQ(fake.current, fake.contextOf(1));
  }
  EXPECT_EQ(fake.current, fake.contextOf(0));
  EXPECT_EQ(fake.depth, 0u);
}
