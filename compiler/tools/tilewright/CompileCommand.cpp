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

Result<int> tool::runCompile(const Options &options) {
  const Stage stage = options.emit.value_or(Stage::Object);
  if (options.printPipeline && (options.emit || options.output))
    return invalidArgument("--print-pipeline prints to stdout and nothing else; leave out --emit "
                           "and -o");
  if (!options.printPipeline && !options.output && stage == Stage::Object && isatty(STDOUT_FILENO))
    return invalidArgument("an object file is not for a terminal: say where it goes with -o FILE, "
                           "or choose another --emit");
  if (options.emit && stage < options.problem.from.value_or(Stage::Attn))
    return invalidArgument("--emit={} lies before --from={}", nameOf(stage),
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
    Result<std::string> stageText = compilation->text(stage);
    if (options.remarks)
      printRemarks(compilation->remarks());
    return stageText;
  }();
  if (!text)
    return text.error();
  if (Status written = writeFile(options.output.value_or("-"), *text); !written)
    return written.error();
  return 0;
}
