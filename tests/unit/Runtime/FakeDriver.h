//===- FakeDriver.h - A CUDA driver that only takes notes -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_TESTS_UNIT_RUNTIME_FAKEDRIVER_H
#define TILEWRIGHT_TESTS_UNIT_RUNTIME_FAKEDRIVER_H

#include "lib/Image/KernelImage.h"
#include "runtime/CudaDriver.h"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::cuda {

/// What cuTensorMapEncodeTiled was given; it is written into the map itself.
struct EncodedMap {
  Address address;
  std::array<uint64_t, 5> extents;
  std::array<uint64_t, 4> strides;
  std::array<uint32_t, 5> box;
  int dtype, swizzle;
  uint32_t rank;
};
static_assert(sizeof(EncodedMap) <= sizeof(TensorMap));

/// A machine and what was asked of it. There is one at a time; a fake function sees it through
/// `machine`, since the driver's functions are plain pointers. Taking notes allocates nothing.
struct FakeMachine {
  struct Gpu {
    int major = 9, minor = 0;
  };
  struct Memory {
    Address begin, end;
    unsigned type;
    int device;
    bool managed = false;
  };
  struct Launch {
    Function kernel;
    unsigned grid[3], threads[3], sharedMemory;
    Stream stream;
    Context context;
    std::array<std::array<std::byte, 128>, 32> parameters;
  };

  FakeMachine();
  ~FakeMachine();
  FakeMachine(const FakeMachine &) = delete;

  /// The driver, which has a context for each GPU.
  Driver driver();
  Context contextOf(int gpu) {
    return reinterpret_cast<Context>(&contexts[static_cast<size_t>(gpu)]);
  }
  int gpuOf(Context context) const {
    return static_cast<int>(reinterpret_cast<const char *>(context) - contexts.data());
  }
  /// A stream of that GPU's context.
  Stream streamOf(int gpu) { return reinterpret_cast<Stream>(&streams[static_cast<size_t>(gpu)]); }

  /// Counts how often a function was called.
  size_t countCalls(std::string_view function) const;

  /// Notes a call; what it returns is its outcome.
  Code note(const char *function);

  std::vector<Gpu> gpus = {Gpu()};
  std::vector<Memory> memory;
  Context current = nullptr;
  std::array<Context, 8> below = {}; ///< The stack of contexts under the current one.
  size_t depth = 0;

  /// This function fails with this code.
  std::string failing;
  Code failure = 0;

  /// Of each parameter of the kernel that is launched; a driver reads them from its code.
  std::vector<size_t> parameterBytes;

  std::array<const char *, 512> calls = {};
  size_t callCount = 0;
  size_t launchCount = 0;
  Launch launch = {}; ///< The last one.
  /// Devices and bytes of each cuKernelSetAttribute.
  std::vector<std::pair<Device, int>> sharedMemory;
  std::string kernelName;

private:
  std::array<char, 8> contexts = {};
  std::array<char, 8> streams = {};
};

} // namespace tilewright::cuda

#endif // TILEWRIGHT_TESTS_UNIT_RUNTIME_FAKEDRIVER_H
