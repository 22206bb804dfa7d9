//===- GpuDevice.cpp - A GPU for programs of our own ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/GpuDevice.h"

#include "lib/Support/MakeError.h"

#include <algorithm>
#include <utility>

using namespace tilewright;
using namespace tilewright::cuda;

DeviceMemory::DeviceMemory(DeviceMemory &&other) noexcept
    : driver(other.driver), context(other.context), address(std::exchange(other.address, 0)),
      size(std::exchange(other.size, 0)) {}

DeviceMemory &DeviceMemory::operator=(DeviceMemory &&other) noexcept {
  std::swap(driver, other.driver);
  std::swap(context, other.context);
  std::swap(address, other.address);
  std::swap(size, other.size);
  return *this;
}

DeviceMemory::~DeviceMemory() {
  if (!address)
    return;
  CurrentContext current(*driver);
  if (current.enter(context))
    driver->memFree(address);
}

Result<GpuDevice> GpuDevice::open(int ordinal) {
  return open(ordinal, openDriver());
}

Result<GpuDevice> GpuDevice::open(int ordinal, const Result<const Driver *> &driver) {
  if (!driver)
    return driver.error();
  GpuDevice device;
  device.driver = *driver;
  if (Status done = device.setUp(ordinal); !done)
    return done.error();
  return device;
}

Status GpuDevice::setUp(int ordinal) {
  int count = 0;
  if (Status got = call("cuDeviceGetCount", driver->deviceGetCount(&count)); !got)
    return got;
  if (ordinal < 0 || ordinal >= count)
    return invalidArgument("there is no device {}; this machine has {}", ordinal, count);
  number = ordinal;
  char text[128] = {};
  int bytes = 0;
  if (Status got = call("cuDeviceGet", driver->deviceGet(&device, ordinal)); !got)
    return got;
  if (Status got = call("cuDeviceGetName", driver->deviceGetName(text, sizeof text - 1, device));
      !got)
    return got;
  deviceName = text;
  if (Status got =
          call("cuDeviceGetPCIBusId", driver->deviceGetPCIBusId(text, sizeof text - 1, device));
      !got)
    return got;
  bus = text;
  if (Status got =
          call("cuDeviceGetAttribute", driver->deviceGetAttribute(&bytes, l2CacheBytes, device));
      !got)
    return got;
  l2Bytes = static_cast<size_t>(std::max(bytes, 0));
  Context primary = nullptr;
  if (Status got =
          call("cuDevicePrimaryCtxRetain", driver->devicePrimaryCtxRetain(&primary, device));
      !got)
    return got;
  context = primary;
  CurrentContext current(*driver);
  if (Status entered = current.enter(context); !entered)
    return entered;
  if (Status made = call("cuStreamCreate", driver->streamCreate(&work, nonBlockingStream)); !made)
    return made;
  for (Event *event : {&before, &after})
    if (Status made = call("cuEventCreate", driver->eventCreate(event, 0)); !made)
      return made;
  return {};
}

GpuDevice::GpuDevice(GpuDevice &&other) noexcept
    : driver(other.driver), number(other.number), device(other.device),
      context(std::exchange(other.context, nullptr)), work(std::exchange(other.work, nullptr)),
      before(std::exchange(other.before, nullptr)), after(std::exchange(other.after, nullptr)),
      deviceName(std::move(other.deviceName)), bus(std::move(other.bus)), l2Bytes(other.l2Bytes),
      flushed(std::move(other.flushed)) {}

GpuDevice::~GpuDevice() {
  flushed.reset();
  if (!context)
    return;
  {
    CurrentContext current(*driver);
    if (current.enter(context)) {
      for (Event event : {before, after})
        if (event)
          driver->eventDestroy(event);
      if (work)
        driver->streamDestroy(work);
    }
  }
  driver->devicePrimaryCtxRelease(device);
}

Status GpuDevice::call(const char *name, Code code) const {
  if (code == success)
    return {};
  return driverError(*driver, name, code).within(fmt::format("device {}", number));
}

Result<DeviceMemory> GpuDevice::allocate(size_t bytes) const {
  CurrentContext current(*driver);
  if (Status entered = current.enter(context); !entered)
    return entered.error();
  DeviceMemory memory;
  memory.driver = driver;
  memory.context = context;
  if (Status made =
          call("cuMemAlloc", driver->memAlloc(&memory.address, std::max<size_t>(bytes, 1)));
      !made)
    return made.error().within(fmt::format("{} bytes", bytes));
  memory.size = bytes;
  return memory;
}

Status GpuDevice::upload(const DeviceMemory &to, std::span<const std::byte> from) const {
  if (from.size() != to.size)
    return internalError("{} bytes are uploaded to {}", from.size(), to.size);
  if (from.empty())
    return {};
  CurrentContext current(*driver);
  if (Status entered = current.enter(context); !entered)
    return entered;
  return call("cuMemcpyHtoDAsync",
              driver->memcpyHtoDAsync(to.address, from.data(), from.size(), work));
}

Status GpuDevice::download(std::span<std::byte> to, const DeviceMemory &from) const {
  if (to.size() != from.size)
    return internalError("{} bytes are downloaded to {}", from.size, to.size());
  if (to.empty())
    return {};
  CurrentContext current(*driver);
  if (Status entered = current.enter(context); !entered)
    return entered;
  return call("cuMemcpyDtoHAsync",
              driver->memcpyDtoHAsync(to.data(), from.address, to.size(), work));
}

Status GpuDevice::fill(const DeviceMemory &memory, uint8_t value) const {
  if (memory.size == 0)
    return {};
  CurrentContext current(*driver);
  if (Status entered = current.enter(context); !entered)
    return entered;
  return call("cuMemsetD8Async", driver->memsetD8Async(memory.address, value, memory.size, work));
}

Status GpuDevice::flushL2() {
  if (!flushed) {
    Result<DeviceMemory> memory = allocate(2 * l2Bytes);
    if (!memory)
      return memory.error();
    flushed = *std::move(memory);
  }
  return fill(*flushed, 0);
}

Status GpuDevice::synchronize() const {
  CurrentContext current(*driver);
  if (Status entered = current.enter(context); !entered)
    return entered;
  return call("cuStreamSynchronize", driver->streamSynchronize(work));
}

Result<double> GpuDevice::time(const std::function<Status()> &queue) const {
  CurrentContext current(*driver);
  if (Status entered = current.enter(context); !entered)
    return entered.error();
  if (Status recorded = call("cuEventRecord", driver->eventRecord(before, work)); !recorded)
    return recorded.error();
  if (Status queued = queue(); !queued)
    return queued.error();
  if (Status recorded = call("cuEventRecord", driver->eventRecord(after, work)); !recorded)
    return recorded.error();
  if (Status waited = call("cuEventSynchronize", driver->eventSynchronize(after)); !waited)
    return waited.error();
  float milliseconds = 0;
  if (Status got =
          call("cuEventElapsedTime", driver->eventElapsedTime(&milliseconds, before, after));
      !got)
    return got.error();
  return static_cast<double>(milliseconds);
}
