//===- CpuPipeline.h - The passes from a problem to CPU code ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pipelines are text: what is printed is what runs, and what tilewright-opt
// --pass-pipeline='builtin.module(...)' replays.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_PIPELINES_CPUPIPELINE_H
#define TILEWRIGHT_COMPILER_PIPELINES_CPUPIPELINE_H

#include "compiler/Pipelines/Schedule.h"
#include "compiler/Target/CPU/CpuTarget.h"

#include "mlir/IR/BuiltinOps.h"

namespace tilewright {

/// One vector register tile of queries, and as many keys as leave room for the scores of a block in
/// the first-level cache beside keys and values of this width.
Schedule defaultCpuSchedule(const CpuTarget &target, bool isDouble, int64_t headDim,
                            int64_t valueDim);

/// attn -> tile, tile -> vector, vector -> the llvm dialect; comma-separated passes on a module.
/// `decodeRows`, if any, are the rows of a tile where there are fewer queries than a block's; on a CPU
/// they are the lanes of a vector.
/// Programs on tiles are not canonicalized: scf.forall with known extents of 1 would lose its
/// dimensions, or itself, and it is what says that blocks are independent.
std::string attnToTilePipeline(const Schedule &schedule, int64_t decodeRows = 0);
std::string tileToVectorPipeline(const CpuTarget &target);
std::string vectorToLLVMPipeline();

/// Parses and runs such text. An error names the pass that failed and carries its diagnostics.
Status runPipeline(mlir::ModuleOp module, std::string_view passes);

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_PIPELINES_CPUPIPELINE_H
