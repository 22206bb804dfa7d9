//===- GpuPipeline.cpp - The passes from a problem to a GPU's code --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Pipelines/GpuPipeline.h"

#include <fmt/format.h>

#include <algorithm>

tilewright::Schedule tilewright::defaultGpuSchedule(int64_t headDim, int64_t valueDim,
                                                    ScorePressure pressure) {
  const int64_t width = std::max(headDim, valueDim);
  int64_t keys = width <= 128 ? 128 : 64;
  // Where threads do the copying, consumers have fewer registers.
  if (headDim % 8 != 0 || valueDim % 8 != 0) {
    if (width > 192)
      keys = 32;
    if (pressure == ScorePressure::Some)
      pressure = ScorePressure::Many;
  }
  if (pressure == ScorePressure::Some && ((width > 64 && width <= 128) || width > 192))
    keys /= 2;
  if (pressure == ScorePressure::Many)
    keys = width <= 128 ? 64 : width <= 192 ? 32 : 16;
  return {.blockQ = 128, .blockKV = keys, .stages = 2};
}

std::string tilewright::tileToSMPipeline(const Schedule &schedule) {
  return fmt::format(
      "tile-expand-block-ranges,cse,convert-tile-to-sm{{stages={}}},canonicalize,cse,"
      "sm-plan-registers,sm-plan-shared-memory,sm-verify-protocol",
      schedule.stages);
}

std::string tilewright::smToNVVMPipeline() {
  return "sm-verify-protocol,sm-plan-shared-memory,convert-sm-to-nvvm,canonicalize,cse";
}

std::string tilewright::nvvmToLLVMPipeline() {
  return "convert-scf-to-cf,arith-expand,convert-nvvm-to-llvm,convert-to-llvm,"
         "reconcile-unrealized-casts,canonicalize,cse,"
         // The PTX names the lines of the text that was read, and nothing else for debuggers.
         "ensure-debug-info-scope-on-llvm-func{emission-kind=DebugDirectivesOnly}";
}
