//===- CompileCommand.cpp - tilewright compile ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/tilewright/Commands.h"
#include "compiler/tools/tilewright/Output.h"
#include "compiler/tools/tilewright/ProblemInput.h"
#include "compiler/tools/tilewright/Progress.h"
#include "lib/Support/MakeError.h"

#include <unistd.h>

using namespace tilewright;
using namespace tilewright::tool;

/// What is written: a stage, or without one a GPU's kernel image.
static std::optional<Stage> findStage(const Options &options) {
  if (!options.emit && options.compile.target == "cpu")
    return Stage::Object;
  return options.emit;
}

static bool isText(std::optional<Stage> stage) {
  return stage && *stage != Stage::Object && *stage != Stage::Cubin;
}

Result<int> tool::runCompile(const Options &options) {
  const std::optional<Stage> stage = findStage(options);
  if (options.printPipeline && (options.emit || options.output))
    return invalidArgument("--print-pipeline prints to stdout and nothing else; leave out --emit "
                           "and -o");
  if (!options.printPipeline && !options.output && !isText(stage) && isatty(STDOUT_FILENO))
    return invalidArgument("code in bytes is not for a terminal: say where it goes with -o FILE, "
                           "or choose another --emit");
  if (options.emit && *stage < options.problem.from.value_or(Stage::Attn))
    return invalidArgument("--emit={} lies before --from={}", nameOf(*stage),
                           nameOf(*options.problem.from));

  Result<ProblemInput> input = readProblem(options.problem);
  if (!input)
    return input.error();
  Result<std::string> text = [&]() -> Result<std::string> {
    Progress progress("compiling");
    Result<Compilation> compilation = compileInput(options, *input);
    if (!compilation)
      return compilation.error();
    if (options.printPipeline)
      return compilation->pipeline() + "\n";
    Result<std::string> bytes = stage ? compilation->text(*stage) : compilation->image();
    if (options.remarks)
      printRemarks(compilation->remarks());
    if (!bytes && options.problem.file)
      return bytes.error().within(*options.problem.file);
    return bytes;
  }();
  if (!text)
    return text.error();
  if (Status written = writeFile(options.output.value_or("-"), *text); !written)
    return written.error();
  return 0;
}
