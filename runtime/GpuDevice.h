//===- GpuDevice.h - A GPU for programs of our own --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A host application brings its own context, stream and memory. Our programs have
// none, and find here what they need to run and time a kernel.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_RUNTIME_GPUDEVICE_H
#define TILEWRIGHT_RUNTIME_GPUDEVICE_H

#include "runtime/CudaDriver.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace tilewright {

/// Memory on a device, freed at the end. Begins at a multiple of 256 bytes.
class DeviceMemory {
public:
  DeviceMemory() = default;
  DeviceMemory(DeviceMemory &&other) noexcept;
  DeviceMemory &operator=(DeviceMemory &&other) noexcept;
  ~DeviceMemory();

  /// For the `data` of a TensorView.
  void *data() const { return reinterpret_cast<void *>(address); }
  size_t bytes() const { return size; }

private:
  friend class GpuDevice;
  const cuda::Driver *driver = nullptr;
  cuda::Context context = nullptr;
  cuda::Address address = 0;
  size_t size = 0;
};

/// The primary context of a device, which other libraries of the process share, and a stream in it.
/// Nothing is current outside of a function; one thread at a time.
class GpuDevice {
public:
  /// Refused: no driver, no such device.
  static Result<GpuDevice> open(int ordinal);
  /// With a given driver, which outlives the device.
  static Result<GpuDevice> open(int ordinal, const Result<const cuda::Driver *> &driver);

  GpuDevice(GpuDevice &&other) noexcept;
  GpuDevice &operator=(GpuDevice &&) = delete;
  /// After the memory that came from it.
  ~GpuDevice();

  int ordinal() const { return number; }
  /// "NVIDIA H200".
  const std::string &name() const { return deviceName; }
  /// As NVML names it.
  const std::string &busId() const { return bus; }
  /// A CUstream, for Execution.
  void *stream() const { return work; }

  /// Refused: more than there is. Zero bytes are memory too.
  Result<DeviceMemory> allocate(size_t bytes) const;

  /// These are queued on the stream. Memory and host range are of one size; `from` and `to` are the
  /// caller's until synchronize().
  Status upload(const DeviceMemory &to, std::span<const std::byte> from) const;
  Status download(std::span<std::byte> to, const DeviceMemory &from) const;
  Status fill(const DeviceMemory &memory, uint8_t value) const;

  /// Writes so much that nothing of what was used before is left in the L2 cache.
  Status flushL2();

  /// Waits for all that is queued, and tells what went wrong with it.
  Status synchronize() const;

  /// The milliseconds on the device from before to after all that `queue` puts on the stream. Waits
  /// for it.
  Result<double> time(const std::function<Status()> &queue) const;

private:
  GpuDevice() = default;
  Status setUp(int ordinal);
  Status call(const char *name, cuda::Code code) const;

  const cuda::Driver *driver = nullptr;
  int number = 0;
  cuda::Device device = 0;
  cuda::Context context = nullptr;
  cuda::Stream work = nullptr;
  cuda::Event before = nullptr, after = nullptr;
  std::string deviceName, bus;
  size_t l2Bytes = 0;
  std::optional<DeviceMemory> flushed;
};

} // namespace tilewright

#endif // TILEWRIGHT_RUNTIME_GPUDEVICE_H
