//===- GpuKernel.cpp - Kernels that run on a GPU --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernel is a context-independent function of the driver (a CUkernel): it is
// loaded once, and launched in whatever context the stream belongs to.
//
//===----------------------------------------------------------------------===//

#include "runtime/GpuKernel.h"

#include "lib/Expression/Spelling.h"
#include "lib/Support/MakeError.h"
#include "runtime/Cubin.h"
#include "runtime/GpuLaunch.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

using namespace tilewright;
using namespace tilewright::cuda;

namespace {
/// Targets are generations of GPUs whose code runs on no other ("a" for architecture-specific).
struct TargetDevice {
  std::string_view target;
  int major, minor;
};
constexpr TargetDevice targetDevices[] = {{"sm_90a", 9, 0}};

/// A library of the driver, unloaded at the end.
class LoadedLibrary {
public:
  explicit LoadedLibrary(const Driver &driver) : driver(driver) {}
  ~LoadedLibrary() {
    if (library)
      driver.unloadLibrary(library);
  }
  LoadedLibrary(const LoadedLibrary &) = delete;

  Status load(const std::string &cubin, const std::string &name, Function &function) {
    Status loaded = outcome(
        driver, "cuLibraryLoadData",
        driver.loadLibrary(&library, cubin.data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
    if (!loaded) {
      library = nullptr;
      return loaded;
    }
    return outcome(driver, "cuLibraryGetKernel",
                   driver.kernelOfLibrary(&function, library, name.c_str()));
  }

private:
  const Driver &driver;
  Library library = nullptr;
};

/// The parameters of a launch, as many bytes as there can be, and pointers to each.
struct ParameterValues {
  alignas(64) std::byte bytes[maxParameterBytes];
  void *pointers[maxParameters];
};

class GpuKernel : public Kernel::Implementation {
public:
  GpuKernel(const KernelImage &image, const TargetDevice &target)
      : interface(image.arguments, image.expressions), launch(image.launches.front()),
        target(target) {
    size_t next = 0;
    for (const KernelParameter &parameter : launch.parameters) {
      const size_t size = sizeOf(parameter, interface.arguments()[parameter.argument]);
      const size_t alignment = std::min(size, alignof(TensorMap));
      next = (next + alignment - 1) / alignment * alignment;
      offsets.push_back(next);
      next += size;
    }
  }

  Status load(const std::string &cubin, const Result<const Driver *> &opened) {
    if (!opened) {
      unavailable = opened.error().within(launch.kernel);
      return {};
    }
    driver = *opened;
    if (Status found = findDevices(); !found)
      return found.error().within(launch.kernel);
    if (std::ranges::find(runsOn, true) == runsOn.end()) {
      unavailable =
          unsupported("{}: none of the {} GPUs of this machine has compute capability "
                      "{}.{}, which code for {} needs",
                      launch.kernel, runsOn.size(), target.major, target.minor, target.target);
      return {};
    }
    library.emplace(*driver);
    if (Status loaded = library->load(cubin, launch.kernel, function); !loaded)
      return loaded.error().within(launch.kernel);
    for (size_t device = 0; device < runsOn.size(); ++device) {
      if (!runsOn[device])
        continue;
      Status set = outcome(*driver, "cuKernelSetAttribute",
                           driver->kernelSetAttribute(maxDynamicSharedMemory,
                                                      static_cast<int>(launch.sharedMemory),
                                                      function, static_cast<Device>(device)));
      if (!set)
        return set.error().within(launch.kernel);
    }
    return {};
  }

  /// Kernels keep what they need in shared memory and registers.
  Result<size_t> workspaceSize(const ProblemSizes &sizes) const override {
    Status checked = expression::checkSizes(
        {sizes.batch, sizes.heads, sizes.kvHeads, sizes.queryLength, sizes.keyLength});
    if (!checked)
      return checked.error();
    return size_t{0};
  }

  Status run(const Arguments &given, std::span<std::byte>,
             const Execution &execution) const override {
    LaunchArguments checked;
    if (Status status = checked.check(interface, given); !status)
      return status;
    if (Status status = checkStores(checked); !status)
      return status;
    Result<uint32_t> blocks = countBlocks(launch, checked);
    if (!blocks)
      return blocks.error();
    if (unavailable)
      return *unavailable;
    if (checked.nothingToDo() || *blocks == 0)
      return {};

    const auto stream = static_cast<Stream>(execution.stream);
    CurrentContext context(*driver);
    Device device = 0;
    if (Status entered = enter(context, stream, device); !entered)
      return entered;
    for (const BoundArgument &argument : checked.arguments())
      if (argument.view && !argument.isEmpty())
        if (Status placed = checkPlace(argument, device); !placed)
          return placed;
    ParameterValues values;
    if (Status filled = fill(values, checked); !filled)
      return filled;
    return call("cuLaunchKernel",
                driver->launchKernel(function, *blocks, 1, 1, launch.threads, 1, 1,
                                     launch.sharedMemory, stream, values.pointers, nullptr));
  }

private:
  Status call(const char *name, Code code) const {
    if (code == success)
      return {};
    return driverError(*driver, name, code).within(launch.kernel);
  }

  Status findDevices() {
    int count = 0;
    if (Status got = outcome(*driver, "cuDeviceGetCount", driver->deviceGetCount(&count)); !got)
      return got;
    for (Device device = 0; device < count; ++device) {
      int major = 0, minor = 0;
      for (auto [attribute, value] :
           {std::pair(computeCapabilityMajor, &major), std::pair(computeCapabilityMinor, &minor)}) {
        Status got = outcome(*driver, "cuDeviceGetAttribute",
                             driver->deviceGetAttribute(value, attribute, device));
        if (!got)
          return got;
      }
      runsOn.push_back(major == target.major && minor == target.minor);
    }
    return {};
  }

  /// Makes the context of the stream current and finds its device.
  Status enter(CurrentContext &current, Stream stream, Device &device) const {
    Context context = nullptr;
    if (!stream) {
      if (Status got = call("cuCtxGetCurrent", driver->ctxGetCurrent(&context)); !got)
        return got;
      if (!context)
        return invalidArgument("{}: there is no stream, and no CUDA context is current on this "
                               "thread whose default stream could be taken",
                               launch.kernel);
    } else if (Status got = call("cuStreamGetCtx", driver->streamGetCtx(stream, &context)); !got) {
      return got;
    }
    if (Status entered = current.enter(context); !entered)
      return entered.error().within(launch.kernel);
    if (Status got = call("cuCtxGetDevice", driver->ctxGetDevice(&device)); !got)
      return got;
    if (device < 0 || static_cast<size_t>(device) >= runsOn.size() || !runsOn[device])
      return unsupported("{}: the stream is on device {}, which has not the compute capability "
                         "{}.{} that code for {} needs",
                         launch.kernel, device, target.major, target.minor, target.target);
    return {};
  }

  /// Refused: memory that is not on the device.
  Status checkPlace(const BoundArgument &tensor, Device device) const {
    unsigned type = 0, managed = 0;
    int owner = -1;
    static constexpr int attributes[] = {memoryType, isManaged, deviceOrdinal};
    void *values[] = {&type, &managed, &owner};
    const auto address = reinterpret_cast<Address>(tensor.view->data);
    if (Status got = call("cuPointerGetAttributes",
                          driver->pointerGetAttributes(3, attributes, values, address));
        !got)
      return got;
    if ((managed & 0xff) != 0)
      return {};
    if (type != deviceMemory)
      return invalidArgument("{} is in host memory ({:#x}), and this kernel takes memory of device "
                             "{}",
                             tensor.label(), address, device);
    if (owner != device)
      return invalidArgument("{} is on device {}, and the stream is on device {}", tensor.label(),
                             owner, device);
    return {};
  }

  Status fill(ParameterValues &values, const LaunchArguments &checked) const {
    const std::span<const BoundArgument> bound = checked.arguments();
    for (size_t i = 0; i < launch.parameters.size(); ++i) {
      const KernelParameter &parameter = launch.parameters[i];
      const BoundArgument &argument = bound[parameter.argument];
      std::byte *to = values.bytes + offsets[i];
      values.pointers[i] = to;
      switch (parameter.kind) {
      case KernelParameter::Kind::Scalar:
        std::memcpy(to, &argument.scalar, sizeOf(parameter, *argument.argument));
        break;
      case KernelParameter::Kind::Address:
        std::memcpy(to, &argument.view->data, sizeof(void *));
        break;
      case KernelParameter::Kind::Extent:
        std::memcpy(to, &argument.view->shape[parameter.detail], sizeof(int64_t));
        break;
      case KernelParameter::Kind::Stride:
        std::memcpy(to, &argument.view->strides[parameter.detail], sizeof(int64_t));
        break;
      case KernelParameter::Kind::TensorMap:
        if (Status encoded = encodeMap(to, argument, parameter.detail, bound); !encoded)
          return encoded;
        break;
      }
    }
    return {};
  }

  Status encodeMap(std::byte *to, const BoundArgument &tensor, uint32_t rows,
                   std::span<const BoundArgument> bound) const {
    Result<TensorMapShape> map = shapeOfTensorMap(tensor, rows);
    if (!map)
      return map.error();
    // A tensor without elements may have any address, so it gets that of one with elements.
    const BoundArgument &placed =
        !tensor.isEmpty() ? tensor : *std::ranges::find_if(bound, [](const BoundArgument &other) {
          return other.view && !other.isEmpty();
        });
    const Address address = reinterpret_cast<Address>(placed.view->data) & ~Address{15};
    static constexpr uint32_t everyElement[TensorMapShape::maxRank] = {1, 1, 1, 1, 1};
    const int dtype = tensor.view->dtype == DType::F16 ? tensorMapFloat16 : tensorMapBFloat16;
    return call("cuTensorMapEncodeTiled",
                driver->tensorMapEncodeTiled(reinterpret_cast<TensorMap *>(to), dtype, map->rank,
                                             address, map->extents.data(), map->strides.data(),
                                             map->box.data(), everyElement, /*interleave=*/0,
                                             swizzle128Bytes, promoteTo128Bytes, /*fill=*/0));
  }

  const KernelInterface interface;
  const KernelLaunch launch;
  const TargetDevice &target;
  /// Of each parameter in ParameterValues::bytes.
  std::vector<size_t> offsets;
  const Driver *driver = nullptr;
  /// Why it cannot be launched here, if so.
  std::optional<Error> unavailable;
  /// For each device of the machine.
  std::vector<bool> runsOn;
  std::optional<LoadedLibrary> library;
  Function function = nullptr;
};
} // namespace

Result<Kernel> tilewright::makeGpuKernel(const KernelImage &image) {
  return makeGpuKernel(image, openDriver());
}

Result<Kernel> tilewright::makeGpuKernel(const KernelImage &image,
                                         const Result<const Driver *> &driver) {
  if (Status checked = checkImage(image); !checked)
    return checked.error();
  const auto *target = std::ranges::find(targetDevices, image.target, &TargetDevice::target);
  if (target == std::end(targetDevices))
    return unsupported("the image is for '{}'; kernels for {} can be launched",
                       expression::printable(image.target, 40), targetDevices[0].target);
  if (Status checked = checkCubin(image.cubin); !checked)
    return checked.error().within(image.launches.front().kernel);
  auto kernel = std::make_shared<GpuKernel>(image, *target);
  if (Status loaded = kernel->load(image.cubin, driver); !loaded)
    return loaded.error();
  return Kernel(std::move(kernel));
}
