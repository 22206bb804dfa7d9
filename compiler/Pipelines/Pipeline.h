//===- Pipeline.h - Passes as text ------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pipelines are text: what is printed is what runs, and what tilewright-opt
// --pass-pipeline='builtin.module(...)' replays. What every target shares is
// here, the rest in CpuPipeline.h and GpuPipeline.h.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_PIPELINES_PIPELINE_H
#define TILEWRIGHT_COMPILER_PIPELINES_PIPELINE_H

#include "compiler/Pipelines/Schedule.h"

#include "mlir/IR/BuiltinOps.h"

namespace tilewright {

/// attn -> tile; comma-separated passes on a module. `decodeRows`, if any, are the rows of a tile
/// of fewer queries than `decodeBelow`; on a CPU they are the lanes of a vector. Programs on tiles
/// are not canonicalized: scf.forall with known extents of 1 would lose its dimensions, or itself,
/// and it is what says that blocks are independent.
std::string attnToTilePipeline(const Schedule &schedule, int64_t decodeRows = 0,
                               int64_t decodeBelow = 0);

/// Parses and runs such text. An error names the pass that failed and carries its diagnostics. With
/// assertions on, sm programs are verified after every pass.
Status runPipeline(mlir::ModuleOp module, std::string_view passes);

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_PIPELINES_PIPELINE_H
