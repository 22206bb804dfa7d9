//===- CpuPipeline.h - The passes from a problem to CPU code ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_PIPELINES_CPUPIPELINE_H
#define TILEWRIGHT_COMPILER_PIPELINES_CPUPIPELINE_H

#include "compiler/Pipelines/Pipeline.h"
#include "compiler/Target/CPU/CpuTarget.h"

#include <tilewright/tensor.h>

namespace tilewright {

/// One register tile of queries or several that share a block of keys and values, and as many keys
/// as leave room for the scores of a block in the first-level cache.
Schedule defaultCpuSchedule(const CpuTarget &target, DType dtype, int64_t headDim,
                            int64_t valueDim);

/// For problems in bf16 on a target with AMX, of widths up to maxAmxWidth: blocks of whole tiles.
Schedule defaultAmxSchedule(int64_t valueDim);
/// Accumulators of wider heads leave the cache; there the other schedule serves.
constexpr int64_t maxAmxWidth = 1024;

/// tile -> vector, vector -> the llvm dialect; comma-separated passes on a module.
std::string tileToVectorPipeline(const CpuTarget &target, const Schedule &schedule);
std::string vectorToLLVMPipeline();

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_PIPELINES_CPUPIPELINE_H
