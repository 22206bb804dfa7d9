//===- LaunchCost.cpp - The host's time for a launch ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each launch has pointers that the one before it had not, as in a host whose
// tensors come and go, so tensor maps are made anew. The stream is drained now and
// then, outside of what is timed: a full queue would be timed instead.
//
//===----------------------------------------------------------------------===//

#include "tests/bench/LaunchCost.h"

#include "lib/Image/KernelImage.h"
#include "runtime/GpuDevice.h"
#include "runtime/GpuKernel.h"
#include "tests/unit/Allocations.h"

#include <tilewright/c/tilewright.h>
#include <tilewright/compiler.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <vector>

using namespace tilewright;

namespace {
constexpr size_t setCount = 64, launches = 10'000, launchesUntilDrained = 100;
constexpr int64_t length = 64, headDim = 64;

/// Query, key, value and out of one launch.
using TensorSet = std::array<DeviceMemory, 4>;

struct Cost {
  double median, percentile95; // microseconds
  double allocations;          // of one launch
};
} // namespace

static Result<std::vector<TensorSet>> allocateSets(const GpuDevice &device) {
  std::vector<TensorSet> sets(setCount);
  for (TensorSet &set : sets) {
    for (DeviceMemory &memory : set) {
      Result<DeviceMemory> allocated = device.allocate(length * headDim * sizeOf(DType::BF16));
      if (!allocated)
        return allocated.error();
      memory = std::move(*allocated);
      if (Status filled = device.fill(memory, 0); !filled)
        return filled.error();
    }
  }
  return sets;
}

/// `launch` queues work on tensors of the set that it is given.
template <typename Launch>
static Result<Cost> measure(const GpuDevice &device, const std::vector<TensorSet> &sets,
                            Launch launch) {
  // What only first launches do is no cost of a launch.
  for (const TensorSet &set : sets)
    if (Status done = launch(set); !done)
      return done.error();
  std::vector<double> times(launches);
  size_t allocations = 0;
  for (size_t i = 0; i < launches; ++i) {
    if (i % launchesUntilDrained == 0)
      if (Status done = device.synchronize(); !done)
        return done.error();
    const TensorSet &set = sets[i % setCount];
    const size_t before = allocationsOfThread();
    const auto start = std::chrono::steady_clock::now();
    Status done = launch(set);
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
    allocations += allocationsOfThread() - before;
    if (!done)
      return done.error();
    times[i] = time.count();
  }
  if (Status done = device.synchronize(); !done)
    return done.error();
  std::ranges::sort(times);
  return Cost{times[launches / 2], times[launches * 95 / 100],
              static_cast<double>(allocations) / launches};
}

static Result<Cost> measureKernel(const GpuDevice &device, const std::vector<TensorSet> &sets,
                                  const Result<Kernel> &kernel) {
  if (!kernel)
    return kernel.error();
  Arguments arguments;
  arguments.query = TensorView(nullptr, DType::BF16, {1, 1, length, headDim});
  arguments.key = arguments.value = arguments.out = arguments.query;
  Execution execution;
  execution.stream = device.stream();
  return measure(device, sets, [&](const TensorSet &set) {
    arguments.query.data = set[0].data();
    arguments.key.data = set[1].data();
    arguments.value.data = set[2].data();
    arguments.out.data = set[3].data();
    return kernel->run(arguments, {}, execution);
  });
}

static Result<Cost> measureCpp(const GpuDevice &device, const std::vector<TensorSet> &sets,
                               std::span<const std::byte> image) {
  return measureKernel(device, sets, loadKernel(image));
}

/// The same without cuLaunchKernel, which no launch can do without: what is ours.
static Result<Cost> measureOwnShare(const GpuDevice &device, const std::vector<TensorSet> &sets,
                                    std::span<const std::byte> bytes) {
  Result<const cuda::Driver *> opened = cuda::openDriver();
  if (!opened)
    return opened.error();
  Result<KernelImage> image = decodeImage(bytes);
  if (!image)
    return image.error();
  cuda::Driver driver = **opened;
  driver.launchKernel = [](auto...) { return cuda::success; };
  return measureKernel(device, sets, makeGpuKernel(*image, &driver));
}

/// A status of the C interface as one of C++, which it becomes the property of.
static Status taken(tilewright_status *status) {
  if (!status)
    return {};
  const Error error(ErrorKind::System, tilewright_status_message(status));
  tilewright_status_destroy(status);
  return error;
}

static Result<Cost> measureC(const GpuDevice &device, const std::vector<TensorSet> &sets,
                             std::span<const std::byte> image) {
  tilewright_kernel *kernel = nullptr;
  if (Status loaded = taken(tilewright_kernel_load(image.data(), image.size(), &kernel)); !loaded)
    return loaded.error();
  tilewright_arguments arguments = {};
  arguments.query = {.data = nullptr,
                     .dtype = TILEWRIGHT_BF16,
                     .rank = 4,
                     .shape = {1, 1, length, headDim},
                     .strides = {length * headDim, length * headDim, headDim, 1}};
  arguments.key = arguments.value = arguments.out = arguments.query;
  tilewright_execution execution = {};
  execution.stream = device.stream();
  Result<Cost> cost = measure(device, sets, [&](const TensorSet &set) {
    arguments.query.data = set[0].data();
    arguments.key.data = set[1].data();
    arguments.value.data = set[2].data();
    arguments.out.data = set[3].data();
    return taken(tilewright_kernel_launch(kernel, &arguments, nullptr, 0, &execution));
  });
  tilewright_kernel_destroy(kernel);
  return cost;
}

static Result<std::string> compileImage() {
  Problem problem;
  problem.headDim = headDim;
  problem.dtype = DType::BF16;
  problem.lse = false;
  problem.masks = {"k <= q"};
  CompileOptions options;
  options.target = "sm_90a";
  Result<Compilation> compilation = compile(problem, options);
  if (!compilation)
    return compilation.error();
  return compilation->image();
}

static Status report(const GpuDevice &device) {
  Result<std::string> image = compileImage();
  if (!image)
    return image.error();
  Result<std::vector<TensorSet>> sets = allocateSets(device);
  if (!sets)
    return sets.error();
  fmt::print("{}: host time of a launch, of {} with fresh pointers each\n", device.name(),
             launches);
  using Measure = Result<Cost> (*)(const GpuDevice &, const std::vector<TensorSet> &,
                                   std::span<const std::byte>);
  for (auto [what, run] : {std::pair<const char *, Measure>{"from C++", measureCpp},
                           {"from C", measureC},
                           {"from C++, without cuLaunchKernel", measureOwnShare}}) {
    Result<Cost> cost = run(device, *sets, std::as_bytes(std::span(*image)));
    if (!cost)
      return cost.error();
    fmt::print("  {:32}  median {:.2f} us, 95th percentile {:.2f} us, {} allocations\n", what,
               cost->median, cost->percentile95, cost->allocations);
  }
  return {};
}

int tilewright::measureLaunchCost() {
  Result<GpuDevice> device = GpuDevice::open(0);
  if (!device) {
    fmt::print("launch cost not measured: {}\n", device.error().message());
    return EXIT_SUCCESS;
  }
  if (Status done = report(*device); !done) {
    fmt::print(stderr, "error: {}\n", done.error().message());
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
