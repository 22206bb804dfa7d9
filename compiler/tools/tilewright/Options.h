//===- Options.h - What the command line says -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The options of tilewright, parsed and checked one by one. What they mean
// together, which files they name and whether expressions are right is found out
// later (ProblemInput.h).
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_OPTIONS_H
#define TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_OPTIONS_H

#include "compiler/Tune/Tournament.h"
#include "lib/Emulator/Command.h"

#include <tilewright/compiler.h>

#include <span>

namespace tilewright::tool {

enum class Subcommand { Compile, Run, Bench, Tune, Explain, Emulate };

/// The subcommands in the order of their enumerators.
struct SubcommandInfo {
  std::string_view name;
  /// What follows the name in a usage line.
  std::string_view usage;
  std::string_view summary;
  /// Paragraphs before and after the list of options.
  std::string_view description;
  std::string_view examples;
};
std::span<const SubcommandInfo> subcommands();

/// One --mask, --score or --preset.
struct FunctionOption {
  enum Source { Mask, Score, Preset } source;
  /// The expression, or NAME[=VALUE].
  std::string text;
};

/// NAME=VALUE as given, for --scalar and --tensor.
struct NamedOption {
  std::string name;
  std::string value;
};

struct ProblemOptions {
  /// A file of IR and the stage it is at; without one, the options below state the problem.
  std::optional<std::string> file;
  std::optional<Stage> from;

  std::optional<int64_t> headDim, valueDim;
  std::optional<DType> dtype, outDType;
  /// In the order given.
  std::vector<FunctionOption> functions;
  std::vector<NamedOption> scalars, tensors;
  std::optional<double> scale;
};

/// The order of the dimensions of query, key, value and output in files.
enum class Layout { BHTD, BTHD };

struct Options {
  /// --help was given: of the subcommand, or of the program.
  bool help = false;
  bool version = false;
  std::optional<Subcommand> subcommand;

  ProblemOptions problem;
  /// The target is that of `compile` where it is given, which for a compiled kernel it is not.
  std::optional<std::string> target;
  CompileOptions compile;
  bool remarks = false;

  // compile
  std::optional<Stage> emit;
  bool printPipeline = false;

  // compile and run
  std::optional<std::string> output;

  // run, bench, tune and emulate
  bool json = false;
  unsigned threads = 0;
  uint64_t seed = 0;

  // run
  std::optional<std::string> query, key, value;
  Layout layout = Layout::BHTD;
  std::optional<ProblemSizes> random;
  bool check = false;
  /// Run on the emulator, as `emulation` below says.
  bool emulate = false;

  // tune
  TournamentRules tournament;

  // explain
  ProblemSizes sizes;

  // emulate, and run with --emulate
  std::optional<std::string> ptx, launch;
  /// The seed, threads and JSON of above are here as well.
  emulator::CommandOptions emulation;
};

/// Parses all arguments after the program's name. Refused: what is unknown (the nearest name is
/// suggested), malformed, out of range, or given twice where once is meant.
Result<Options> parseOptions(std::span<const char *const> arguments);

/// The text that --help prints for a subcommand, or for the program.
std::string helpText(std::optional<Subcommand> subcommand);

} // namespace tilewright::tool

#endif // TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_OPTIONS_H
