//===- GpuSensors.h - Clocks and power of a GPU -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_RUNTIME_GPUSENSORS_H
#define TILEWRIGHT_RUNTIME_GPUSENSORS_H

#include <optional>
#include <string>

namespace tilewright {

/// What a device does at one moment.
struct GpuReading {
  unsigned smClock = 0;     ///< MHz.
  unsigned memoryClock = 0; ///< MHz.
  double power = 0;         ///< Watts.
};

/// Asks NVML, NVIDIA's management library, which is opened at the first call. Nothing where there
/// is no library or it does not tell. `busId` as GpuDevice::busId() has it.
std::optional<GpuReading> readSensors(const std::string &busId);

} // namespace tilewright

#endif // TILEWRIGHT_RUNTIME_GPUSENSORS_H
