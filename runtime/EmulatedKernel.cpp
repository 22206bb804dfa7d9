//===- EmulatedKernel.cpp - Kernels that run on an emulated GPU -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/EmulatedKernel.h"

#include "lib/Support/MakeError.h"
#include "runtime/GpuLaunch.h"

#include <algorithm>
#include <sstream>
#include <thread>

using namespace tilewright;

namespace {
/// The tensors of a launch as the emulator's buffers and parameters.
class LaunchBuilder {
public:
  LaunchBuilder(const KernelLaunch &kernel, const LaunchArguments &checked)
      : kernel(kernel), bound(checked.arguments()) {}

  Result<emulator::Launch> build(uint32_t blocks) {
    launch.grid = {blocks, 1, 1};
    launch.block = {kernel.threads, 1, 1};
    launch.dynamicSharedBytes = kernel.sharedMemory;
    for (const SharedRing &ring : kernel.rings)
      nameRegions(ring);
    for (const BoundArgument &argument : bound)
      launch.buffers.push_back(bufferOf(argument));
    for (const KernelParameter &parameter : kernel.parameters)
      if (Status added = add(parameter); !added)
        return added.error();
    return std::move(launch);
  }

private:
  void nameRegions(const SharedRing &ring) {
    const uint32_t empties = ring.barriers + ring.stages * sharedBarrierBytes;
    for (uint32_t i = 0; i < ring.stages; ++i) {
      const std::string stage = fmt::format("stage {} of ring {}", i, ring.name);
      launch.sharedRegions.push_back({stage, ring.offset + i * ring.stageBytes, ring.stageBytes});
      const uint32_t barrier = i * sharedBarrierBytes;
      launch.sharedRegions.push_back(
          {"the full barrier of " + stage, ring.barriers + barrier, sharedBarrierBytes});
      launch.sharedRegions.push_back(
          {"the empty barrier of " + stage, empties + barrier, sharedBarrierBytes});
    }
  }

  /// A scalar has an empty one, so that buffers are numbered as arguments are.
  static emulator::Buffer bufferOf(const BoundArgument &argument) {
    return {.name = argument.argument->name,
            .data = reinterpret_cast<void *>(argument.begin),
            .bytes = argument.end - argument.begin,
            .writable = argument.isOutput(),
            .initialized = !argument.isOutput()};
  }

  /// From the beginning of its buffer to the element with all indices zero.
  static uint64_t offsetOf(const BoundArgument &tensor) {
    return tensor.isEmpty() ? 0 : reinterpret_cast<uintptr_t>(tensor.view->data) - tensor.begin;
  }

  Status add(const KernelParameter &parameter) {
    using emulator::Argument;
    const BoundArgument &argument = bound[parameter.argument];
    switch (parameter.kind) {
    case KernelParameter::Kind::Scalar: {
      const auto *first = reinterpret_cast<const uint8_t *>(&argument.scalar);
      Argument &value = launch.arguments.emplace_back();
      value.bytes.assign(first, first + sizeOf(parameter, *argument.argument));
      return {};
    }
    case KernelParameter::Kind::Address:
      launch.arguments.push_back(Argument::tensor(parameter.argument, offsetOf(argument)));
      return {};
    case KernelParameter::Kind::Extent:
      launch.arguments.push_back(Argument::of(argument.view->shape[parameter.detail]));
      return {};
    case KernelParameter::Kind::Stride:
      launch.arguments.push_back(Argument::of(argument.view->strides[parameter.detail]));
      return {};
    case KernelParameter::Kind::TensorMap:
      return addMap(parameter, argument);
    }
    return {};
  }

  Status addMap(const KernelParameter &parameter, const BoundArgument &tensor) {
    Result<TensorMapShape> shape = shapeOfTensorMap(tensor, parameter.detail);
    if (!shape)
      return shape.error();
    emulator::TensorMap map;
    map.dtype = tensor.view->dtype;
    map.rank = shape->rank;
    map.buffer = parameter.argument;
    map.offset = offsetOf(tensor);
    map.dims = shape->extents;
    map.strides[0] = sizeOf(map.dtype);
    std::ranges::copy(shape->strides, map.strides.begin() + 1);
    map.box = shape->box;
    map.swizzle = emulator::Swizzle::Bytes128;
    if (tensor.isEmpty()) {
      // It may be any, so that it is one with elements.
      const auto other = std::ranges::find_if(
          bound, [](const BoundArgument &any) { return any.view && !any.isEmpty(); });
      map.buffer = static_cast<size_t>(other - bound.begin());
    }
    launch.arguments.push_back(emulator::Argument::map(launch.maps.size()));
    launch.maps.push_back(map);
    return {};
  }

  const KernelLaunch &kernel;
  std::span<const BoundArgument> bound;
  emulator::Launch launch;
};

class EmulatedImplementation : public Kernel::Implementation {
public:
  EmulatedImplementation(EmulatedKernel kernel, std::string name, const EmulationOptions &options)
      : kernel(std::move(kernel)), name(std::move(name)), options(options) {}

  Result<size_t> workspaceSize(const ProblemSizes &sizes) const override {
    Status checked = expression::checkSizes(
        {sizes.batch, sizes.heads, sizes.kvHeads, sizes.queryLength, sizes.keyLength});
    if (!checked)
      return checked.error();
    return size_t{0};
  }

  Status run(const Arguments &arguments, std::span<std::byte>, const Execution &) const override {
    emulator::CommandOptions command;
    command.firstSeed = options.firstSeed;
    command.seeds = options.seeds;
    command.run.threads =
        options.threads ? options.threads : std::max(std::thread::hardware_concurrency(), 1u);
    std::istringstream noCommands;
    std::ostringstream noAnswers;
    Result<emulator::Report> report = kernel.run(arguments, command, noCommands, noAnswers);
    if (!report)
      return report.error();
    if (report->findings.empty())
      return {};
    const size_t more = report->findings.size() - 1;
    return internalError("{}: {}{}", name, emulator::toText(report->findings.front()),
                         more == 0 ? "" : fmt::format("\nand {} more findings", more));
  }

private:
  EmulatedKernel kernel;
  std::string name;
  EmulationOptions options;
};
} // namespace

EmulatedKernel::EmulatedKernel(const KernelImage &image, emulator::Module ptx)
    : interface(image.arguments, image.expressions), launch(image.launches.front()),
      ptx(std::move(ptx)) {}

Result<EmulatedKernel> EmulatedKernel::make(const KernelImage &image) {
  if (Status checked = checkImage(image); !checked)
    return checked.error();
  const std::string &name = image.launches.front().kernel;
  Result<emulator::Module> module = emulator::loadModule(image.ptx, name);
  if (!module)
    return module.error().within(name);
  return EmulatedKernel(image, *std::move(module));
}

Result<emulator::Report> EmulatedKernel::run(const Arguments &given,
                                             emulator::CommandOptions options,
                                             std::istream &commands, std::ostream &answers) const {
  LaunchArguments checked;
  if (Status status = checked.check(interface, given); !status)
    return status.error();
  if (Status status = checkStores(checked); !status)
    return status.error();
  Result<uint32_t> blocks = countBlocks(launch, checked);
  if (!blocks)
    return blocks.error();
  if (checked.nothingToDo() || *blocks == 0) {
    emulator::Report nothing;
    nothing.executed.resize(ptx.ops.size());
    return nothing;
  }
  if (__builtin_mul_overflow(options.run.budget, uint64_t{*blocks}, &options.run.budget))
    options.run.budget = UINT64_MAX;
  Result<emulator::Launch> built = LaunchBuilder(launch, checked).build(*blocks);
  if (!built)
    return built.error();
  Result<emulator::Report> report = emulator::runSeeds(ptx, *built, options, commands, answers);
  if (!report)
    return report.error().within(launch.kernel);
  return report;
}

Result<Kernel> tilewright::makeEmulatedKernel(const KernelImage &image,
                                              const EmulationOptions &options) {
  if (options.seeds == 0)
    return invalidArgument("seeds is 0; at least one schedule is run");
  Result<EmulatedKernel> kernel = EmulatedKernel::make(image);
  if (!kernel)
    return kernel.error();
  return Kernel(std::make_shared<const EmulatedImplementation>(
      *std::move(kernel), image.launches.front().kernel, options));
}
