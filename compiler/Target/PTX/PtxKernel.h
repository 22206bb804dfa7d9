//===- PtxKernel.h - What a launch of a kernel needs to know ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TARGET_PTX_PTXKERNEL_H
#define TILEWRIGHT_COMPILER_TARGET_PTX_PTXKERNEL_H

#include <tilewright/result.h>

#include <cstdint>
#include <string>
#include <vector>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace tilewright {

/// Where a parameter comes from; `#sm.parameter` in dialect/SM/SMOps.td explains each kind.
struct PtxParameter {
  std::string kind; // "scalar", "address", "extent", "stride", "tensor_map"
  int64_t argument = 0;
  int64_t detail = 0;
};

struct PtxKernel {
  std::string name;
  int64_t threads = 0;
  int64_t sharedMemory = 0; // bytes, all dynamic
  std::vector<PtxParameter> parameters;
};

/// The kernels of a module on the nvvm or llvm stage. Refused: one whose attributes are missing.
Result<std::vector<PtxKernel>> kernelsOf(mlir::ModuleOp module);

/// The same as one line of JSON a kernel.
std::string toJson(const PtxKernel &kernel);

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_TARGET_PTX_PTXKERNEL_H
