//===- Implementation.h - The state of a compilation ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_DRIVER_IMPLEMENTATION_H
#define TILEWRIGHT_COMPILER_DRIVER_IMPLEMENTATION_H

#include "compiler/Frontend/ParsedProblem.h"
#include "compiler/Pipelines/Schedule.h"
#include "compiler/Target/CPU/CpuTarget.h"

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
  Implementation(CpuTarget target, Stage from);

  /// Only compile() and compileText() set these, before anybody else sees the compilation.
  mlir::MLIRContext context;
  const CpuTarget target;
  const Stage from;
  std::optional<ParsedProblem> problem;
  std::optional<Schedule> schedule;

  void setFirstText(std::string text);

  Result<std::string> text(Stage stage);
  Result<Kernel> kernel();
  std::string pipeline() const;
  std::vector<Remark> remarks();

private:
  Result<std::string> memoized(Stage stage);
  Result<std::string> compute(Stage stage);
  Result<std::string> lowerText(Stage before, std::string_view passes);
  Result<std::string> computeCode(Stage stage);
  Result<mlir::ModuleOp> llvmModule();
  Result<Kernel> computeKernel();

  std::mutex mutex; // of all below, and of the context
  std::map<Stage, Result<std::string>> texts;
  std::optional<Result<mlir::OwningOpRef<mlir::ModuleOp>>> lowered; // in the llvm dialect
  std::optional<Result<Kernel>> compiled;
};

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_DRIVER_IMPLEMENTATION_H
