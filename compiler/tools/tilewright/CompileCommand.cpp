//===- CompileCommand.cpp - tilewright compile ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/TensorFile/AtomicFile.h"
#include "compiler/tools/tilewright/Commands.h"
#include "compiler/tools/tilewright/Output.h"
#include "compiler/tools/tilewright/ProblemInput.h"
#include "compiler/tools/tilewright/Progress.h"
#include "compiler/tools/tilewright/TextFile.h"
#include "lib/Support/MakeError.h"

#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Path.h>

#include <unistd.h>

using namespace tilewright;
using namespace tilewright::tool;

static constexpr uint64_t maxHeaderBytes = uint64_t{16} << 20;

/// What is written: a stage, or without one a GPU's kernel image.
static std::optional<Stage> findStage(const Options &options) {
  if (!options.emit && options.compile.target == "cpu")
    return Stage::Object;
  return options.emit;
}

static bool isText(std::optional<Stage> stage) {
  return stage && *stage != Stage::Object && *stage != Stage::Cubin;
}

/// Whether a header is written beside an object, under the object's name. A stream is no file that
/// something could be beside.
static bool writesHeader(const Options &options, std::optional<Stage> stage) {
  return stage == Stage::Object && options.output && *options.output != "-" &&
         !AtomicFile::isStream(*options.output);
}

/// The path of an object's header. Refused: one where there is a file that is something else.
static Result<std::string> headerPath(const std::string &object, const std::string &header) {
  llvm::SmallString<128> path(object);
  llvm::sys::path::replace_extension(path, "h");
  std::string name = path.str().str();
  if (name == object)
    return invalidArgument("-o {} leaves no name for the header, which is {} too", object, name);
  if (!llvm::sys::fs::exists(name))
    return name;
  Result<std::string> present = readTextFile(name, maxHeaderBytes);
  if (!present || !present->starts_with(header.substr(0, header.find('\n'))))
    return invalidArgument("{} is there and no header of an object, so it is not overwritten; "
                           "choose another -o",
                           name);
  return name;
}

/// What to compile: the functions of an object are named after its file unless --name says.
static Options withName(Options options, std::optional<Stage> stage) {
  if (options.compile.name.empty() && writesHeader(options, stage))
    options.compile.name = llvm::sys::path::stem(*options.output).str();
  return options;
}

Result<int> tool::runCompile(const Options &options) {
  const std::optional<Stage> stage = findStage(options);
  if (options.printPipeline && (options.emit || options.output))
    return invalidArgument("--print-pipeline prints to stdout and nothing else; leave out --emit "
                           "and -o");
  if (!options.printPipeline && !options.output && !isText(stage) && isatty(STDOUT_FILENO))
    return invalidArgument("code in bytes is not for a terminal: say where it goes with -o FILE, "
                           "or choose another --emit");
  if (!options.compile.name.empty() && stage != Stage::Object && stage != Stage::Header)
    return invalidArgument("--name is for --emit=obj and --emit=header");
  const ProblemOptions &problem = options.problem;
  if (problem.file && problem.from.value_or(Stage::Attn) != Stage::Attn &&
      (problem.headDim || problem.dtype || problem.outDType || !problem.functions.empty()))
    return invalidArgument("--from={} leaves nothing to state of the problem: leave out "
                           "--head-dim, --dtype, --out-dtype, --mask, --score and --preset",
                           nameOf(*problem.from));
  if (options.emit && *stage < options.problem.from.value_or(Stage::Attn))
    return invalidArgument("--emit={} lies before --from={}", nameOf(*stage),
                           nameOf(*options.problem.from));

  Result<ProblemInput> input = readProblem(options.problem);
  if (!input)
    return input.error();
  std::string header;
  Result<std::string> text = [&]() -> Result<std::string> {
    Progress progress("compiling");
    Result<Compilation> compilation = compileInput(withName(options, stage), *input);
    if (!compilation)
      return compilation.error();
    if (options.printPipeline)
      return compilation->pipeline() + "\n";
    Result<std::string> bytes = stage ? compilation->text(*stage) : compilation->image();
    if (bytes && writesHeader(options, stage)) {
      Result<std::string> declarations = compilation->text(Stage::Header);
      if (!declarations)
        return declarations;
      header = *std::move(declarations);
    }
    if (options.remarks)
      printRemarks(compilation->remarks());
    if (!bytes && options.problem.file)
      return bytes.error().within(*options.problem.file);
    return bytes;
  }();
  if (!text)
    return text.error();
  std::string pathOfHeader;
  if (!header.empty()) {
    Result<std::string> path = headerPath(*options.output, header);
    if (!path)
      return path.error();
    pathOfHeader = *std::move(path);
  }
  if (Status written = writeFile(options.output.value_or("-"), *text); !written)
    return written.error();
  if (header.empty())
    return 0;
  if (Status written = writeFile(pathOfHeader, header); !written)
    return written.error();
  return 0;
}
