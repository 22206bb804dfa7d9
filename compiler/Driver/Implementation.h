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

/// Each stage is computed from the one before it, once, under a lock, and printed if somebody asks
/// for its text. A pass sees a copy of the program, whose uses have the order that parsing its text
/// gives them. So the text of a stage given back with --from leads to the same code.
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
  /// The program at a stage of MLIR, Stage::LLVM being the llvm dialect; not to be changed.
  Result<mlir::ModuleOp> module(Stage stage);
  /// Keeps what was computed along with another stage.
  void keep(Stage stage, Result<std::string> text) { texts.emplace(stage, std::move(text)); }
  LaunchExpressions launchExpressions() const;
  /// Nothing where the problem is not known or the code is for another machine.
  std::optional<TuningKey> tuningKey() const;
  void remark(Remark remark) { collected.push_back(std::move(remark)); }
  /// The image was found compiled, so that the passes have not remarked anything yet.
  bool passesWereSkipped = false;

private:
  std::string passesTo(Stage stage) const;
  Status checkIsThere(Stage stage) const;
  Result<mlir::OwningOpRef<mlir::ModuleOp>> parse(Stage stage);
  Result<mlir::OwningOpRef<mlir::ModuleOp>> lowerTo(Stage stage);
  /// The stages of MLIR after `after`, the last of which is Stage::LLVM.
  std::vector<Stage> stagesAfter(Stage after) const;

  std::mutex mutex; // of all below, and of the context
  std::map<Stage, Result<std::string>> texts;
  std::map<Stage, Result<mlir::OwningOpRef<mlir::ModuleOp>>> modules;
  std::optional<Result<Kernel>> compiled;
};

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_DRIVER_IMPLEMENTATION_H
