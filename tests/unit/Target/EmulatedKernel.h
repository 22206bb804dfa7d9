//===- EmulatedKernel.h - Generated kernels on the emulator -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_TESTS_UNIT_TARGET_EMULATEDKERNEL_H
#define TILEWRIGHT_TESTS_UNIT_TARGET_EMULATEDKERNEL_H

#include "compiler/Target/PTX/PtxKernel.h"
#include "lib/Emulator/Device.h"
#include "lib/Reference/Compare.h"
#include "tests/unit/Reference/Testing.h"

namespace tilewright {

/// A kernel's PTX and how it is launched.
struct CompiledKernel {
  std::string ptx;
  PtxKernel launch;
};

/// Runs query, key, value, out, lse and scale with one block for `blockQ` queries of a head; out
/// and lse start as NaN.
inline emulator::Outcome emulate(const CompiledKernel &kernel, const reference::Problem &problem,
                                 const TensorView &out, const TensorView &lse, double scale,
                                 int64_t blockQ, const emulator::RunOptions &options) {
  const TensorView tensors[] = {problem.q, problem.k, problem.v, out, lse};
  emulator::Launch launch;
  const int64_t blocks =
      problem.q.shape[0] * problem.q.shape[1] * ((problem.q.shape[2] + blockQ - 1) / blockQ);
  launch.grid = {static_cast<uint32_t>(blocks), 1, 1};
  launch.block = {static_cast<uint32_t>(kernel.launch.threads), 1, 1};
  launch.dynamicSharedBytes = static_cast<uint32_t>(kernel.launch.sharedMemory);
  const char *names[] = {"query", "key", "value", "out", "lse"};
  for (size_t i = 0; i < 5; ++i) {
    const size_t bytes = static_cast<size_t>(*tensors[i].elementCount()) * sizeOf(tensors[i].dtype);
    const bool isOutput = i >= 3;
    if (isOutput)
      std::memset(tensors[i].data, 0xff, bytes);
    launch.buffers.push_back({names[i], tensors[i].data, bytes, isOutput, !isOutput});
  }
  for (const PtxParameter &parameter : kernel.launch.parameters) {
    const auto argument = static_cast<size_t>(parameter.argument);
    const auto detail = static_cast<size_t>(parameter.detail);
    if (parameter.kind == "scalar") {
      launch.arguments.push_back(emulator::Argument::of(static_cast<float>(scale)));
    } else if (parameter.kind == "address") {
      launch.arguments.push_back(emulator::Argument::tensor(argument));
    } else if (parameter.kind == "extent") {
      launch.arguments.push_back(emulator::Argument::of(tensors[argument].shape[detail]));
    } else if (parameter.kind == "stride") {
      launch.arguments.push_back(emulator::Argument::of(tensors[argument].strides[detail]));
    } else {
      const TensorView &tensor = tensors[argument];
      emulator::TensorMap map;
      map.dtype = tensor.dtype;
      map.rank = static_cast<uint32_t>(tensor.rank);
      map.buffer = argument;
      for (size_t dim = 0; dim < tensor.rank; ++dim) {
        const size_t from = tensor.rank - 1 - dim;
        map.dims[dim] = static_cast<uint64_t>(tensor.shape[from]);
        map.strides[dim] = static_cast<uint64_t>(tensor.strides[from]) * sizeOf(tensor.dtype);
        map.box[dim] = dim == 0 ? 64 : dim == 1 ? static_cast<uint32_t>(detail) : 1;
      }
      map.swizzle = emulator::Swizzle::Bytes128;
      launch.arguments.push_back(emulator::Argument::map(launch.maps.size()));
      launch.maps.push_back(map);
    }
  }
  Result<emulator::Module> module = emulator::loadModule(kernel.ptx);
  EXPECT_TRUE(module) << module.error().message();
  if (!module)
    return {};
  Result<emulator::Outcome> outcome = emulator::run(*module, launch, options);
  EXPECT_TRUE(outcome) << outcome.error().message();
  if (!outcome)
    return {};
  return *std::move(outcome);
}

} // namespace tilewright

#endif // TILEWRIGHT_TESTS_UNIT_TARGET_EMULATEDKERNEL_H
