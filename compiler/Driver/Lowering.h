//===- Lowering.h - What a target adds to a compilation ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which stages a target has, and how each is computed from the one before. A
// compilation (Implementation.h) keeps what is computed and asks for nothing
// twice.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_DRIVER_LOWERING_H
#define TILEWRIGHT_COMPILER_DRIVER_LOWERING_H

#include "compiler/Frontend/ParsedProblem.h"
#include "compiler/Pipelines/Schedule.h"
#include "compiler/Target/CPU/Signature.h"
#include "compiler/Tune/TuningKey.h"
#include "lib/Image/KernelImage.h"

#include <span>

namespace tilewright {

class Lowering {
public:
  virtual ~Lowering() = default;

  /// All stages in order; those that a compilation can start at; and the one that code is generated
  /// from.
  virtual std::span<const Stage> stages() const = 0;
  virtual std::span<const Stage> firstStages() const = 0;
  virtual Stage codeSource() const = 0;
  /// Whether code names lines of that stage: the lowering from there on then reads its text.
  virtual bool codeNamesPlaces() const { return false; }

  /// "cpu", "sm_90a".
  virtual std::string_view targetName() const = 0;

  /// Refused: dtypes and widths that the target cannot do, by name.
  virtual Status check(const ParsedProblem &problem) const = 0;

  /// What keeps the target from doing a problem as well as the machine could.
  virtual std::vector<Remark> remarks(const ParsedProblem &) const { return {}; }

  /// The compiler's choices for a problem, or what is left of them when a compilation starts at
  /// tile; fields without a meaning are 0.
  virtual Schedule defaultSchedule(const ParsedProblem &problem) const = 0;
  virtual Schedule defaultScheduleAtTile() const = 0;

  /// Refused: blocks that the target has no code for, by name.
  virtual Status checkSchedule(const Schedule &) const { return {}; }

  /// Queries of one vector where code for the problem is made of register tiles as Schedule has
  /// them; otherwise 0.
  virtual int64_t lanes(const ParsedProblem &problem) const = 0;

  /// What measured schedules are looked up for. Nothing where code is for another machine than this
  /// one, which nobody measured.
  virtual std::optional<Machine> machine() const = 0;

  /// The passes that make a stage of MLIR from the one before. Those to Stage::LLVM end in the llvm
  /// dialect. The problem is null in a compilation that starts later.
  virtual std::string passesTo(Stage stage, const ParsedProblem *problem,
                               const Schedule &schedule) const = 0;

  /// A stage that is not MLIR.
  virtual Result<std::string> code(Stage stage, Compilation::Implementation &state) const = 0;

  /// What a kernel takes.
  virtual Result<Signature> signature(Compilation::Implementation &state) const = 0;
  virtual Result<Kernel> kernel(Compilation::Implementation &state) const = 0;
  /// A GPU's kernel. Not assembled it has neither cubin nor registers, which is enough to emulate
  /// it where there is no ptxas.
  virtual Result<KernelImage> image(Compilation::Implementation &state, bool assembled) const = 0;
};

/// Refused: a target that is unknown, an option that it does not have.
Result<std::unique_ptr<const Lowering>> findLowering(const CompileOptions &options);

/// Each target has a file of its own.
Result<std::unique_ptr<const Lowering>> makeCpuLowering(const CompileOptions &options);
Result<std::unique_ptr<const Lowering>> makeSm90Lowering(const CompileOptions &options);

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_DRIVER_LOWERING_H
