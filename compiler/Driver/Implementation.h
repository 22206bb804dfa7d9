//===- Implementation.h - The state of a compilation ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_DRIVER_IMPLEMENTATION_H
#define TILEWRIGHT_COMPILER_DRIVER_IMPLEMENTATION_H

#include "compiler/Driver/Lowering.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <map>
#include <mutex>

namespace tilewright {

/// Each stage is computed from the text of the one before it, once, under a lock. So the text of a
/// stage given back with --from leads to the same code.
class TILEWRIGHT_HIDDEN Compilation::Implementation {
  std::vector<Remark> collected; // outlives the context, which adds to it

public:
  Implementation(std::unique_ptr<const Lowering> lowering, Stage from);

  /// Only compile() and compileText() set these, before anybody else sees the compilation.
  mlir::MLIRContext context;
  const std::unique_ptr<const Lowering> lowering;
  const Stage from;
  std::optional<ParsedProblem> problem;
  Schedule schedule;

  void setFirstText(std::string text);
  void addRemark(Remark remark);

  /// Whether the schedule is legal for the problem: lowers it to the stage that code is generated
  /// from. If it is not, the compilation is as before.
  Status tryLowering();

  Result<std::string> text(Stage stage);
  Result<Kernel> kernel();
  Result<KernelImage> image(bool assembled);
  Result<Signature> signature();
  std::string pipeline() const;
  std::vector<Remark> remarks();

  // For the lowering, which runs under the lock.
  Result<std::string> memoized(Stage stage);
  Result<mlir::OwningOpRef<mlir::ModuleOp>> parse(Stage stage);
  /// In the llvm dialect.
  Result<mlir::ModuleOp> llvmModule();
  LaunchExpressions launchExpressions() const;
  /// Nothing where the problem is not known or the code is for another machine.
  std::optional<TuningKey> tuningKey() const;
  void remark(Remark remark) { collected.push_back(std::move(remark)); }
  /// The image was found compiled, so that the passes have not remarked anything yet.
  bool passesWereSkipped = false;

private:
  std::string passesTo(Stage stage) const;
  Result<std::string> compute(Stage stage);
  /// The stages of MLIR after `after`, the last of which is Stage::LLVM.
  std::vector<Stage> stagesAfter(Stage after) const;

  std::mutex mutex; // of all below, and of the context
  std::map<Stage, Result<std::string>> texts;
  std::optional<Result<mlir::OwningOpRef<mlir::ModuleOp>>> lowered; // in the llvm dialect
  std::optional<Result<Kernel>> compiled;
};

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_DRIVER_IMPLEMENTATION_H
