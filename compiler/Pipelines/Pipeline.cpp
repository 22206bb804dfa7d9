//===- Pipeline.cpp - Passes as text --------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Pipelines/Pipeline.h"

#include "compiler/Frontend/CollectDiagnostics.h"
#include "compiler/Pipelines/Register.h"
#include "compiler/Transforms/Passes.h"
#include "lib/Support/MakeError.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace tilewright;

std::string tilewright::attnToTilePipeline(const Schedule &schedule, int64_t decodeRows,
                                           int64_t decodeBelow) {
  const std::string decode =
      decodeRows ? fmt::format("{{decode-q={} decode-below={}}}", decodeRows, decodeBelow) : "";
  return fmt::format("canonicalize,cse,assign-schedule{{block-q={} block-kv={}}},"
                     "convert-attn-to-tile{},cse",
                     schedule.blockQ, schedule.blockKV, decode);
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

/// Remembers the first pass that left an sm program whose roles do not fit together. A file's own
/// faults do not come this far: sm-verify-protocol is the first pass that sees it.
struct CheckProtocol : PassInstrumentation {
  explicit CheckProtocol(std::string &culprit) : culprit(culprit) {}

  void runAfterPass(Pass *pass, Operation *op) override {
    if (culprit.empty() && failed(verifyProtocol(op)))
      culprit = pass->getArgument();
  }

  std::string &culprit;
};
} // namespace

Status tilewright::runPipeline(ModuleOp module, std::string_view passes) {
  registerPasses();
  PassManager manager(module.getContext(), ModuleOp::getOperationName());
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (failed(parsePassPipeline(passes, manager, stream)))
    return internalError("pipeline '{}': {}", passes, problem);

  std::string failedPass, culprit;
  manager.addInstrumentation(std::make_unique<FailedPass>(failedPass));
#ifndef NDEBUG
  manager.addInstrumentation(std::make_unique<CheckProtocol>(culprit));
#else
  // Once at the end: after each pass it is an eighth of a compilation.
  manager.enableVerifier(false);
#endif
  CollectDiagnostics diagnostics(*module.getContext());
  if (failed(manager.run(module)))
    return unsupported("{}: {}", failedPass, diagnostics.message("the pass failed"));
  if (failed(verify(module)))
    return internalError("{} left invalid IR: {}", passes, diagnostics.message("unknown reason"));
  if (!culprit.empty())
    return internalError("{} broke the protocol of an sm program: {}", culprit,
                         diagnostics.message("unknown reason"));
  return {};
}
