//===- Launch.h - What a kernel is started with -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The launch record of a kernel image, with host memory in place of device
// memory. Kernels see addresses of our own choice, the same in every run, never
// those of the host.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_LIB_EMULATOR_LAUNCH_H
#define TILEWRIGHT_LIB_EMULATOR_LAUNCH_H

#include "tilewright/tensor.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace tilewright::emulator {

/// A range of global memory. Every access of a kernel must fall into one.
struct Buffer {
  std::string name;
  void *data = nullptr;
  size_t bytes = 0;
  bool writable = false;
  /// False: reading a byte before the kernel has written it is a finding.
  bool initialized = true;
};

/// What a range of a block's dynamic shared memory is called in findings.
struct SharedRegion {
  std::string name; ///< "stage 1 of ring keys".
  uint32_t offset = 0, bytes = 0;
};

enum class Swizzle : uint8_t { None, Bytes32, Bytes64, Bytes128 };

/// What cuTensorMapEncodeTiled takes. Dimension 0 is the innermost.
struct TensorMap {
  DType dtype = DType::BF16;         ///< Its size counts; a copy moves bits.
  uint32_t rank = 0;                 ///< 1 to 5.
  size_t buffer = 0;                 ///< Index into Launch::buffers.
  uint64_t offset = 0;               ///< Of the element with all indices zero, in bytes.
  std::array<uint64_t, 5> dims{};    ///< Elements.
  std::array<uint64_t, 5> strides{}; ///< Bytes; strides[0] is the element size.
  std::array<uint32_t, 5> box{};     ///< Elements.
  Swizzle swizzle = Swizzle::None;
};

struct Argument {
  enum class Kind : uint8_t {
    Bytes,  ///< `bytes`, as many as the parameter has.
    Tensor, ///< The address of buffer `index`, plus `offset`.
    Map,    ///< Tensor map `index`.
  };
  Kind kind = Kind::Bytes;
  size_t index = 0;
  uint64_t offset = 0;
  std::vector<uint8_t> bytes;

  template <typename T> static Argument of(T value) {
    Argument result;
    const auto *first = reinterpret_cast<const uint8_t *>(&value);
    result.bytes.assign(first, first + sizeof value);
    return result;
  }
  static Argument tensor(size_t buffer, uint64_t offset = 0) {
    return {Kind::Tensor, buffer, offset, {}};
  }
  static Argument map(size_t index) { return {Kind::Map, index, 0, {}}; }
};

struct Launch {
  std::array<uint32_t, 3> grid = {1, 1, 1};
  std::array<uint32_t, 3> block = {1, 1, 1};
  uint32_t dynamicSharedBytes = 0;
  std::vector<SharedRegion> sharedRegions; ///< The first that holds an address names it.
  std::vector<Argument> arguments;         ///< One for each parameter of the kernel.
  std::vector<Buffer> buffers;
  std::vector<TensorMap> maps;
};

} // namespace tilewright::emulator

#endif // TILEWRIGHT_LIB_EMULATOR_LAUNCH_H
