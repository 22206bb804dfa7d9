//===- ProblemInput.h - From options to a problem and its values -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_PROBLEMINPUT_H
#define TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_PROBLEMINPUT_H

#include "compiler/TensorFile/OwnedTensor.h"
#include "compiler/tools/tilewright/Options.h"
#include "lib/Expression/Presets.h"

#include <map>

namespace tilewright::tool {

/// What the options of the problem say, files loaded.
struct ProblemInput {
  /// Nothing where a file of IR states the problem and no option does.
  std::optional<Problem> problem;

  /// The values given, by name; a tensor that is only declared has none.
  std::map<std::string, double, std::less<>> scalars;
  std::map<std::string, OwnedTensor> tensors;
  /// The tensors that presets read, whose extents must be the problem's or 1.
  std::map<std::string, const expression::PresetTensor *> presetTensors;

  /// The values as a launch takes them. Refused, by name: a tensor without values, or one of a
  /// preset whose extents do not fit `sizes`.
  Result<std::map<std::string, TensorView, std::less<>>>
  bindTensors(const ProblemSizes &sizes) const;
};

/// Reads what the options say of the problem. Refused, naming the option: neither a file nor a head
/// dim; a problem stated twice, by a file at attn and by options; expressions and presets that are
/// wrong or whose scalars and tensors are missing; files that cannot be read.
Result<ProblemInput> readProblem(const ProblemOptions &options);

/// Compiles the file of IR, or else the problem. Refused, naming the file: scalars and tensors that
/// a problem in it does not declare.
Result<Compilation> compileInput(const Options &options, const ProblemInput &input);

} // namespace tilewright::tool

#endif // TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_PROBLEMINPUT_H
