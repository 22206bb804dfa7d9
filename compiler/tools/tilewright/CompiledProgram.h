//===- CompiledProgram.h - What a command works on ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_COMPILEDPROGRAM_H
#define TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_COMPILEDPROGRAM_H

#include "compiler/Driver/CompilationAccess.h"
#include "compiler/tools/tilewright/KernelFacts.h"
#include "compiler/tools/tilewright/ProblemInput.h"
#include "lib/Image/KernelImage.h"

namespace tilewright::tool {

/// A problem on its way to a kernel, or a kernel image from a file, which carries the text that it
/// was compiled from: what is known of one is known of the other.
class CompiledProgram {
public:
  /// Reads what the options state and compiles as far as a kernel's arguments are known. Refused,
  /// naming the file: one that cannot be read, options that a compiled kernel cannot follow, values
  /// for scalars and tensors that the kernel does not take.
  static Result<CompiledProgram> load(const Options &options);

  const ProblemInput &input() const { return given; }
  const KernelFacts &facts() const { return known; }
  const std::string &target() const { return targetName; }
  bool isForGpu() const { return targetName != "cpu"; }

  /// Where it began: attn, tile, ...
  Stage from() const { return first; }
  std::string schedule() const { return compilation.schedule(); }
  std::string pipeline() const { return compilation.pipeline(); }
  std::vector<Remark> remarks() const { return compilation.remarks(); }
  Result<std::string> text(Stage stage) const;

  /// The problem that was compiled; below attn the one that the options state, if they do.
  /// Refused: none, or one of other widths and dtypes than the kernel's.
  Result<ParsedProblem> problem() const;
  /// Nothing where it is not known.
  const ParsedProblem *compiledProblem() const;

  Result<Kernel> kernel() const;

  /// Nothing where the problem is not known or code is for another machine.
  std::optional<TuningSubject> tuningSubject() const;

  /// A GPU's kernel, assembled where it is asked for.
  Result<KernelImage> image(bool assembled) const;

private:
  CompiledProgram(Compilation compilation) : compilation(std::move(compilation)) {}

  Error located(const Error &error) const;

  ProblemInput given;
  KernelFacts known;
  std::string file, targetName;
  Stage first = Stage::Attn;
  Compilation compilation;
  std::optional<KernelImage> loaded;
};

} // namespace tilewright::tool

#endif // TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_COMPILEDPROGRAM_H
