//===- CpuPipeline.cpp - The passes from a problem to CPU code ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Pipelines/CpuPipeline.h"

#include "compiler/Frontend/CollectDiagnostics.h"
#include "compiler/Pipelines/Register.h"
#include "lib/Support/MakeError.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

#include <algorithm>

using namespace mlir;
using namespace tilewright;

Schedule tilewright::defaultCpuSchedule(const CpuTarget &target, bool isDouble, int64_t headDim,
                                        int64_t valueDim) {
  // 48 keys keep the scores, the transposed queries and the accumulator in a small L1
  // (docs/cpu.md). Wide heads leave it anyhow; there twice the queries share what is read of keys
  // and values.
  const int64_t lanes = isDouble ? target.lanes / 2 : target.lanes;
  const int64_t width = std::max(headDim, valueDim);
  // Very wide heads would take more scratch than a stack holds.
  const int64_t mostRows = std::max<int64_t>(1, (int64_t(1) << 20) / (width * (isDouble ? 8 : 4)));
  return {.blockQ =
              std::min(lanes * target.vectors * (width > 96 ? 2 : 1), std::max(lanes, mostRows)),
          .blockKV = std::min<int64_t>(48, mostRows)};
}

std::string tilewright::attnToTilePipeline(const Schedule &schedule, int64_t decodeRows) {
  const std::string decode = decodeRows ? fmt::format("{{decode-q={}}}", decodeRows) : "";
  return fmt::format("canonicalize,cse,assign-schedule{{block-q={} block-kv={}}},"
                     "convert-attn-to-tile{},cse",
                     schedule.blockQ, schedule.blockKV, decode);
}

std::string tilewright::tileToVectorPipeline(const CpuTarget &target) {
  return fmt::format("tile-expand-block-ranges,cse,"
                     "convert-tile-to-vector{{lanes={} vectors={} rows={}}},canonicalize,cse",
                     target.lanes, target.vectors, target.rows);
}

std::string tilewright::vectorToLLVMPipeline() {
  return "convert-scf-to-cf,expand-strided-metadata,lower-affine,"
         "arith-expand{include-bf16=true},convert-to-llvm,"
         "reconcile-unrealized-casts,canonicalize,cse";
}

namespace {
/// Remembers the innermost pass that failed.
struct FailedPass : PassInstrumentation {
  explicit FailedPass(std::string &name) : name(name) {}

  void runAfterPassFailed(Pass *pass, Operation *) override {
    if (name.empty())
      name = pass->getArgument();
  }

  std::string &name;
};
} // namespace

Status tilewright::runPipeline(ModuleOp module, std::string_view passes) {
  registerPasses();
  PassManager manager(module.getContext(), ModuleOp::getOperationName());
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (failed(parsePassPipeline(passes, manager, stream)))
    return internalError("pipeline '{}': {}", passes, problem);

  std::string failedPass;
  manager.addInstrumentation(std::make_unique<FailedPass>(failedPass));
  CollectDiagnostics diagnostics(*module.getContext());
  if (failed(manager.run(module)))
    return unsupported("{}: {}", failedPass, diagnostics.message("the pass failed"));
  return {};
}
