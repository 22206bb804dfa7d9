//===- GpuPipeline.h - The passes from a problem to a GPU's code -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_PIPELINES_GPUPIPELINE_H
#define TILEWRIGHT_COMPILER_PIPELINES_GPUPIPELINE_H

#include "compiler/Pipelines/Pipeline.h"

namespace tilewright {

/// How many registers the masks and score functions of a problem take: few, some (one captured
/// tensor, for the positions of its elements; a score function beside wide tiles), or many (several
/// tensors, long expressions).
enum class ScorePressure { Few, Some, Many };

/// 128 queries for two warpgroups, and 128 keys, or fewer where tiles or registers would not fit: a
/// power of two, so that block numbers are found by shifts. Two stages, so that a block of keys is
/// on its way while the one before is computed with.
Schedule defaultGpuSchedule(int64_t headDim, int64_t valueDim, ScorePressure pressure);

/// tile -> sm, sm -> nvvm (kernels with scf, arith and vector in them), nvvm -> the llvm dialect;
/// comma-separated passes on a module.
std::string tileToSMPipeline(const Schedule &schedule);
std::string smToNVVMPipeline();
std::string nvvmToLLVMPipeline();

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_PIPELINES_GPUPIPELINE_H
