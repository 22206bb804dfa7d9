//===- GpuLauncher.cpp - Kernels on a GPU ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/tilewright/Launcher.h"
#include "runtime/GpuDevice.h"
#include "runtime/GpuSensors.h"

#include <fmt/format.h>

using namespace tilewright;
using namespace tilewright::tool;

namespace {
/// From the first element of a tensor to its last.
std::span<std::byte> bytesOf(const TensorView &view) {
  int64_t last = 0;
  for (size_t i = 0; i < view.rank; ++i) {
    if (view.shape[i] == 0)
      return {};
    last += (view.shape[i] - 1) * view.strides[i];
  }
  return {static_cast<std::byte *>(view.data), static_cast<size_t>(last + 1) * sizeOf(view.dtype)};
}

class GpuLauncher : public Launcher {
public:
  GpuLauncher(const LaunchInput &input, Kernel kernel, GpuDevice opened)
      : kernel(std::move(kernel)), gpu(std::move(opened)), arguments(input.arguments) {}

  Status upload(const ProblemSizes &sizes) {
    for (TensorView *view : {&arguments.query, &arguments.key, &arguments.value})
      if (Status sent = upload(*view); !sent)
        return sent;
    for (auto &[name, view] : arguments.tensors)
      if (Status sent = upload(view); !sent)
        return sent;
    outputs.push_back({bytesOf(arguments.out), memory.size()});
    if (Status sent = upload(arguments.out); !sent)
      return sent;
    if (arguments.lse) {
      outputs.push_back({bytesOf(*arguments.lse), memory.size()});
      if (Status sent = upload(*arguments.lse); !sent)
        return sent;
    }
    Result<size_t> size = kernel.workspaceSize(sizes);
    if (!size)
      return size.error();
    Result<DeviceMemory> scratch = gpu.allocate(*size);
    if (!scratch)
      return scratch.error().within("the workspace");
    workspace = *std::move(scratch);
    return gpu.synchronize();
  }

  Result<double> run(bool cold) override {
    if (cold)
      if (Status flushed = gpu.flushL2(); !flushed)
        return flushed.error();
    const std::span<std::byte> scratch(static_cast<std::byte *>(workspace.data()),
                                       workspace.bytes());
    Result<double> milliseconds =
        gpu.time([&] { return kernel.run(arguments, scratch, {.stream = gpu.stream()}); });
    if (!milliseconds)
      return milliseconds.error();
    return *milliseconds * 1e-3;
  }

  Status finish() override {
    for (const auto &[host, index] : outputs)
      if (Status received = gpu.download(host, memory[index]); !received)
        return received;
    return gpu.synchronize();
  }

  std::string device() const override {
    std::string text = gpu.name();
    if (const std::optional<GpuReading> reading = readSensors(gpu.busId()))
      text += fmt::format(", SM at {} MHz, memory at {} MHz, {:.0f} W", reading->smClock,
                          reading->memoryClock, reading->power);
    return text;
  }

private:
  /// Replaces the view's data by that of a copy on the device.
  Status upload(TensorView &view) {
    const std::span<std::byte> host = bytesOf(view);
    Result<DeviceMemory> copy = gpu.allocate(host.size());
    if (!copy)
      return copy.error().within(view.describe());
    memory.push_back(*std::move(copy));
    view.data = memory.back().data();
    return host.empty() ? Status() : gpu.upload(memory.back(), host);
  }

  Kernel kernel;
  GpuDevice gpu; // outlives its memory
  Arguments arguments;
  std::vector<DeviceMemory> memory;
  DeviceMemory workspace;
  /// Where each output lies on the host, and which memory holds it.
  std::vector<std::pair<std::span<std::byte>, size_t>> outputs;
};
} // namespace

Result<std::unique_ptr<Launcher>> tool::makeGpuLauncher(const LaunchInput &input, Kernel kernel) {
  Result<GpuDevice> device = GpuDevice::open(0);
  if (!device)
    return device.error();
  auto launcher = std::make_unique<GpuLauncher>(input, std::move(kernel), *std::move(device));
  if (Status sent = launcher->upload(input.tensors.sizes); !sent)
    return sent.error();
  return std::unique_ptr<Launcher>(std::move(launcher));
}
