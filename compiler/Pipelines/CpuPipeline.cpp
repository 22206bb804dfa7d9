//===- CpuPipeline.cpp - The passes from a problem to CPU code ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Pipelines/CpuPipeline.h"

#include <fmt/format.h>

#include <algorithm>

using namespace tilewright;

/// So many keep the scores, the transposed queries and the accumulator in a small L1, and 6 rows of
/// a register tile divide them (docs/cpu.md).
static constexpr int64_t mostKeys = 96;

/// How many register tiles of queries share what is read of a block of keys and values.
static int64_t defaultGroups(const CpuTarget &target, DType dtype, int64_t width) {
  // Wide heads leave a small L1 with tiles of 16 lanes.
  if (target.lanes == 16)
    return width > 96 ? 2 : 1;
  if (dtype != DType::F16 && dtype != DType::BF16)
    return 1;
  // Each block of keys and values is widened for a block of queries: four share that, as far as
  // queries, outputs and what was widened fit 256 KiB, a second-level cache and a caller's stack.
  const int64_t mostRows = (int64_t(1) << 15) / width - mostKeys;
  return std::clamp<int64_t>(mostRows / (target.lanes * target.vectors), 1, 4);
}

Schedule tilewright::defaultCpuSchedule(const CpuTarget &target, DType dtype, int64_t headDim,
                                        int64_t valueDim) {
  const bool isDouble = dtype == DType::F64;
  const int64_t lanes = isDouble ? target.lanes / 2 : target.lanes;
  const int64_t width = std::max(headDim, valueDim);
  // Very wide heads would take more scratch than a stack holds: queries, outputs, and in f16 and
  // bf16 keys and values too, each with so many rows, and scores, come to less than 4 MiB.
  const int64_t mostRows = std::max<int64_t>(1, (int64_t(7) << 17) / (width * (isDouble ? 8 : 4)));
  const int64_t groups = defaultGroups(target, dtype, width);
  return {.blockQ = std::min(lanes * target.vectors * groups, std::max(lanes, mostRows)),
          .blockKV = std::min(mostKeys, mostRows)};
}

Schedule tilewright::defaultAmxSchedule(int64_t headDim, int64_t valueDim) {
  // What a block of queries reads again for each block of keys, and both rings, fit 48 KiB of L1;
  // of wide heads nothing does (docs/cpu.md).
  const int64_t width = std::max(headDim, valueDim);
  return {.blockQ = 32, .blockKV = width > 64 && width <= 96 ? 32 : 64};
}

std::string tilewright::tileToVectorPipeline(const CpuTarget &target, const Schedule &schedule) {
  return fmt::format("tile-expand-block-ranges,cse,"
                     "convert-tile-to-vector{{lanes={} vectors={} rows={}{}}},canonicalize,cse",
                     target.lanes, schedule.vectors, schedule.rows, target.amx ? " amx=true" : "");
}

std::string tilewright::vectorToLLVMPipeline() {
  return "convert-scf-to-cf,expand-strided-metadata,lower-affine,"
         "arith-expand{include-bf16=true},convert-to-llvm,"
         "reconcile-unrealized-casts,canonicalize,cse,assign-tile-registers";
}
