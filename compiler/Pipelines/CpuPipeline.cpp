//===- CpuPipeline.cpp - The passes from a problem to CPU code ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Pipelines/CpuPipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

using namespace tilewright;

/// Register tiles of queries that share what is read of a block of keys and values, and the keys.
static std::pair<int64_t, int64_t> defaultBlock(const CpuTarget &target, DType dtype,
                                                int64_t width) {
  // 96 keys keep the scores, the transposed queries and the accumulator in a small L1, and 6 rows
  // of a register tile divide them (docs/cpu.md). Wide heads leave it with tiles of 16 lanes.
  if (target.lanes == 16)
    return {width > 96 ? 2 : 1, 96};
  if (dtype != DType::F16 && dtype != DType::BF16)
    return {1, 96};
  // Each block of keys and values is widened for a block of queries: four share that, as far as
  // queries, outputs and what was widened fit 256 KiB, a second-level cache and a caller's stack.
  const int64_t keys = width > 160 ? 64 : 96, mostRows = (int64_t(1) << 15) / width - keys;
  return {std::clamp<int64_t>(mostRows / (target.lanes * target.vectors), 1, 4), keys};
}

Schedule tilewright::defaultCpuSchedule(const CpuTarget &target, DType dtype, int64_t headDim,
                                        int64_t valueDim) {
  const bool isDouble = dtype == DType::F64;
  const int64_t lanes = isDouble ? target.lanes / 2 : target.lanes;
  const int64_t width = std::max(headDim, valueDim);
  // Very wide heads would take more scratch than a stack holds: queries, outputs, and in f16 and
  // bf16 keys and values too, each with so many rows, and scores, come to less than 4 MiB.
  const int64_t mostRows = std::max<int64_t>(1, (int64_t(7) << 17) / (width * (isDouble ? 8 : 4)));
  const auto [groups, keys] = defaultBlock(target, dtype, width);
  return {.blockQ = std::min(lanes * target.vectors * groups, std::max(lanes, mostRows)),
          .blockKV = std::min(keys, mostRows)};
}

Schedule tilewright::defaultAmxSchedule(int64_t valueDim) {
  // What a block of queries reads again for each block of keys, and both rings, fit 48 KiB of L1;
  // of wide heads nothing does. Two groups are 64 keys and half of the values' tiles each
  // (docs/cpu.md), so where these are odd in number there is one group, of 32 keys.
  const int64_t valueTiles = (valueDim + 15) / 16;
  return {.blockQ = 32, .blockKV = valueTiles % 2 == 0 ? 64 : 32};
}

std::string tilewright::tileToVectorPipeline(const CpuTarget &target, const Schedule &schedule) {
  // Regions of one block each have no control flow to simplify.
  return fmt::format("tile-expand-block-ranges,cse,"
                     "convert-tile-to-vector{{lanes={} vectors={} rows={}{}}},"
                     "canonicalize{{region-simplify=disabled}},cse",
                     target.lanes, schedule.vectors, schedule.rows, target.amx ? " amx=true" : "");
}

std::string tilewright::vectorToLLVMPipeline() {
  // A second round of canonicalization finds nothing that code generation does not.
  return "convert-scf-to-cf,expand-strided-metadata,lower-affine,"
         "arith-expand{include-bf16=true},convert-to-llvm,reconcile-unrealized-casts,"
         "canonicalize{max-iterations=1},cse,assign-tile-registers";
}
