//===- Launcher.cpp - Where a kernel runs ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/tilewright/Launcher.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>

using namespace tilewright;
using namespace tilewright::tool;

namespace {
class HostLauncher : public Launcher {
public:
  HostLauncher(const LaunchInput &input, Kernel kernel, OwnedTensor workspace, unsigned threads)
      : input(input), kernel(std::move(kernel)), workspace(std::move(workspace)), threads(threads) {
  }

  Result<double> run(bool) override {
    using Clock = std::chrono::steady_clock;
    const std::span<std::byte> scratch(static_cast<std::byte *>(workspace.view().data),
                                       workspace.sizeInBytes());
    const Clock::time_point start = Clock::now();
    if (Status done = kernel.run(input.arguments, scratch, {.threads = threads}); !done)
      return done.error();
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

  std::string device() const override {
    const unsigned used = threads ? threads : std::max(1u, std::thread::hardware_concurrency());
    return fmt::format("cpu, {} thread{}", used, used == 1 ? "" : "s");
  }

private:
  const LaunchInput &input;
  Kernel kernel;
  OwnedTensor workspace;
  unsigned threads;
};
} // namespace

Result<std::unique_ptr<Launcher>> tool::makeLauncher(const LaunchInput &input, Kernel kernel,
                                                     unsigned threads) {
  if (input.program.isForGpu())
    return makeGpuLauncher(input, std::move(kernel));
  Result<size_t> size = kernel.workspaceSize(input.tensors.sizes);
  if (!size)
    return size.error();
  Result<OwnedTensor> workspace =
      OwnedTensor::allocate(TensorView(nullptr, DType::U8, {static_cast<int64_t>(*size)}));
  if (!workspace)
    return workspace.error().within("the workspace");
  return std::unique_ptr<Launcher>(
      std::make_unique<HostLauncher>(input, std::move(kernel), *std::move(workspace), threads));
}
