//===- RunCommand.cpp - tilewright run ------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Driver/CompilationAccess.h"
#include "compiler/tools/tilewright/Commands.h"
#include "compiler/tools/tilewright/Output.h"
#include "compiler/tools/tilewright/ProblemInput.h"
#include "compiler/tools/tilewright/Progress.h"
#include "compiler/tools/tilewright/RunReport.h"
#include "compiler/tools/tilewright/RunTensors.h"
#include "compiler/tools/tilewright/VisitedWork.h"
#include "lib/Reference/Reference.h"
#include "lib/Support/MakeError.h"

#include <algorithm>
#include <chrono>
#include <thread>

using namespace tilewright;
using namespace tilewright::tool;

/// The problem that --check computes: the one that was compiled, or for code below attn the one
/// that the options state.
static Result<ParsedProblem> problemToCheck(const Compilation &compilation,
                                            const ProblemInput &input, const KernelFacts &facts) {
  if (const ParsedProblem *problem = CompilationAccess::problem(compilation))
    return *problem;
  if (input.problem) {
    Result<ParsedProblem> stated = parseProblem(*input.problem);
    if (!stated)
      return stated;
    if (stated->headDim != facts.headDim || stated->valueDim != facts.valueDim)
      return invalidArgument("--head-dim is {},{}, but the program's are {},{}", stated->headDim,
                             stated->valueDim, facts.headDim, facts.valueDim);
    if (stated->dtype != facts.dtype || stated->outDType != facts.outDType)
      return invalidArgument("--dtype is {} and --out-dtype {}, but the program has {} and {}",
                             nameOf(stated->dtype), nameOf(stated->outDType), nameOf(facts.dtype),
                             nameOf(facts.outDType));
    return stated;
  }
  return invalidArgument("--check below attn needs the problem too, since a program does not say "
                         "what it is to compute: add --head-dim, --mask and so on");
}

static Result<reference::Problem> makeReference(const ParsedProblem &problem,
                                                const Options &options, const RunTensors &tensors,
                                                const Arguments &arguments) {
  reference::Problem result;
  result.q = tensors.query;
  result.k = tensors.key;
  result.v = tensors.value;
  result.scale = problem.scale ? problem.scale : options.problem.scale;
  result.scores = problem.scores;
  result.masks = problem.masks;
  result.declarations = problem.declarations;
  for (const expression::Scalar &scalar : problem.declarations.scalars()) {
    const auto value = arguments.scalars.find(scalar.name);
    if (value == arguments.scalars.end())
      return invalidArgument("--scalar {}=VALUE is missing", scalar.name);
    result.bindings.scalars.push_back(value->second);
  }
  for (const expression::Tensor &tensor : problem.declarations.tensors()) {
    const auto view = arguments.tensors.find(tensor.name);
    if (view == arguments.tensors.end())
      return invalidArgument("--tensor {}=FILE is missing", tensor.name);
    result.bindings.tensors.push_back(view->second);
  }
  return result;
}

/// Runs the kernel once, and then again for its time: for half a second, and at least three times
/// unless that takes long.
static Status runAndTime(const Kernel &kernel, const Arguments &arguments,
                         std::span<std::byte> workspace, const Execution &execution,
                         RunReport &report) {
  using Clock = std::chrono::steady_clock;
  Progress progress("running");
  if (Status first = kernel.run(arguments, workspace, execution); !first)
    return first;
  std::vector<double> seconds;
  double total = 0;
  while (total < (seconds.size() < 3 ? 2.0 : 0.5) && seconds.size() < 1000) {
    const Clock::time_point start = Clock::now();
    if (Status done = kernel.run(arguments, workspace, execution); !done)
      return done;
    seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
    total += seconds.back();
  }
  std::ranges::nth_element(seconds, seconds.begin() + seconds.size() / 2);
  report.medianSeconds = seconds[seconds.size() / 2];
  report.runs = seconds.size();
  return {};
}

static Status checkResult(const reference::Problem &problem, const RunTensors &tensors,
                          unsigned threads, RunReport &report) {
  Progress progress("computing the reference");
  Result<reference::Output> right =
      reference::forward(problem, reference::rowsToCheck(tensors.sizes.queryLength), threads);
  if (!right)
    return right.error();
  Result<reference::Comparison> comparison =
      reference::compare(problem, *right, tensors.out, tensors.lse, threads);
  if (!comparison)
    return comparison.error();
  report.check = {*std::move(comparison), right->rows.size(), tensors.sizes.queryLength};
  return {};
}

/// What the kernel visits. A hand-written program need not be one walk over blocks: then the report
/// says why there is no count.
static Status countBlocks(const Options &options, const Compilation &compilation,
                          const ProblemInput &input, const RunTensors &tensors,
                          const KernelFacts &facts, RunReport &report) {
  if (options.problem.from.value_or(Stage::Attn) > Stage::Tile)
    return {};
  Result<std::string> tile = compilation.text(Stage::Tile);
  if (!tile)
    return tile.error();
  report.blocks = computeBlockMap(*tile, tensors.sizes, input.scalars);
  if (report.blocks)
    report.visitedOperations = countOperations(countVisitedScores(*report.blocks, tensors.sizes),
                                               tensors.sizes, facts.headDim, facts.valueDim);
  return {};
}

Result<int> tool::runRun(const Options &options) {
  if (Status checked = checkRunOptions(options); !checked)
    return checked.error();
  Result<ProblemInput> input = readProblem(options.problem);
  if (!input)
    return input.error();

  RunReport report;
  Result<Compilation> compilation = compileInput(options, *input);
  if (!compilation)
    return compilation.error();
  Result<KernelFacts> facts = readKernelFacts(*compilation);
  if (!facts)
    return facts.error();
  Result<RunTensors> tensors = makeRunTensors(options, *facts);
  if (!tensors)
    return tensors.error();

  Arguments arguments;
  arguments.query = tensors->query;
  arguments.key = tensors->key;
  arguments.value = tensors->value;
  arguments.out = tensors->out;
  arguments.lse = tensors->lse;
  arguments.scale = options.problem.scale;
  arguments.scalars.insert(input->scalars.begin(), input->scalars.end());
  if (auto bound = input->bindTensors(tensors->sizes))
    arguments.tensors = *std::move(bound);
  else
    return bound.error();

  // What the check needs is found out before the work starts.
  const unsigned threads =
      options.threads ? options.threads : std::max(1u, std::thread::hardware_concurrency());
  std::optional<reference::Problem> problem;
  if (options.check) {
    Result<ParsedProblem> parsed = problemToCheck(*compilation, *input, *facts);
    if (!parsed)
      return parsed.error();
    Result<reference::Problem> made = makeReference(*parsed, options, *tensors, arguments);
    if (!made)
      return made.error();
    problem = *std::move(made);
  }

  Result<Kernel> kernel = compilation->kernel();
  if (!kernel)
    return kernel.error();
  Result<size_t> workspaceSize = kernel->workspaceSize(tensors->sizes);
  if (!workspaceSize)
    return workspaceSize.error();
  Result<OwnedTensor> workspace =
      OwnedTensor::allocate(TensorView(nullptr, DType::U8, {static_cast<int64_t>(*workspaceSize)}));
  if (!workspace)
    return workspace.error().within("the workspace");
  const std::span<std::byte> scratch(static_cast<std::byte *>(workspace->view().data),
                                     *workspaceSize);
  if (Status ran = runAndTime(*kernel, arguments, scratch, {.threads = options.threads}, report);
      !ran)
    return ran.error();

  if (problem)
    if (Status checked = checkResult(*problem, *tensors, threads, report); !checked)
      return checked.error();
  report.out = tensors->out.describe();
  report.schedule = compilation->schedule();
  if (Status counted = countBlocks(options, *compilation, *input, *tensors, *facts, report);
      !counted)
    return counted.error();
  if (options.remarks)
    printRemarks(compilation->remarks());
  if (options.output)
    if (Status written = writeOutputs(options, *tensors); !written)
      return written.error();
  if (Status written = writeStdout(options.json ? report.toJson() : report.toText()); !written)
    return written.error();
  return report.check && !report.check->comparison.passed ? 1 : 0;
}
