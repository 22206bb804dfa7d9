//===- GpuPipeline.h - The passes from a problem to a GPU's code -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// As in CpuPipeline.h, pipelines are text.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_PIPELINES_GPUPIPELINE_H
#define TILEWRIGHT_COMPILER_PIPELINES_GPUPIPELINE_H

#include "compiler/Pipelines/Schedule.h"

#include <cstdint>
#include <string>

namespace tilewright {

/// 128 queries for two warpgroups, and 128 keys, or 64 where tiles or registers would not fit: a
/// power of two, so that block numbers are found by shifts.
Schedule defaultGpuSchedule(int64_t headDim, int64_t valueDim);

/// tile -> sm, sm -> nvvm (kernels with scf, arith and vector in them), nvvm -> the llvm dialect;
/// comma-separated passes on a module. `stages`: of the rings of keys and values.
std::string tileToSMPipeline(int64_t stages);
std::string smToNVVMPipeline();
std::string nvvmToLLVMPipeline();

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_PIPELINES_GPUPIPELINE_H
