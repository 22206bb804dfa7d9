//===- GpuSensors.cpp - Clocks and power of a GPU -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions and numbers as in NVIDIA's "NVML API" reference.
//
//===----------------------------------------------------------------------===//

#include "runtime/GpuSensors.h"

#include <dlfcn.h>

using namespace tilewright;

namespace {
using Code = int;
using Device = struct DeviceObject *;

constexpr Code success = 0;
constexpr int smClock = 1;
constexpr int memoryClock = 2;

struct Nvml {
  Code (*init)() = nullptr;
  Code (*deviceByBusId)(const char *id, Device *device) = nullptr;
  Code (*clock)(Device device, int which, unsigned *megahertz) = nullptr;
  Code (*power)(Device device, unsigned *milliwatts) = nullptr;
  bool usable = false;

  Nvml() {
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    usable = library && find(library, init, "nvmlInit_v2") &&
             find(library, deviceByBusId, "nvmlDeviceGetHandleByPciBusId_v2") &&
             find(library, clock, "nvmlDeviceGetClockInfo") &&
             find(library, power, "nvmlDeviceGetPowerUsage") && init() == success;
  }

private:
  template <typename T> static bool find(void *library, T *&function, const char *name) {
    function = reinterpret_cast<T *>(dlsym(library, name));
    return function != nullptr;
  }
};
} // namespace

std::optional<GpuReading> tilewright::readSensors(const std::string &busId) {
  static const Nvml nvml;
  Device device = nullptr;
  GpuReading reading;
  unsigned milliwatts = 0;
  if (!nvml.usable || nvml.deviceByBusId(busId.c_str(), &device) != success ||
      nvml.clock(device, smClock, &reading.smClock) != success ||
      nvml.clock(device, memoryClock, &reading.memoryClock) != success ||
      nvml.power(device, &milliwatts) != success)
    return std::nullopt;
  reading.power = milliwatts / 1000.0;
  return reading;
}
