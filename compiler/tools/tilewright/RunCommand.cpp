//===- RunCommand.cpp - tilewright run ------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/tilewright/Commands.h"
#include "compiler/tools/tilewright/Launcher.h"
#include "compiler/tools/tilewright/Output.h"
#include "compiler/tools/tilewright/Progress.h"
#include "compiler/tools/tilewright/ReferenceInput.h"
#include "compiler/tools/tilewright/RunReport.h"
#include "lib/Support/MakeError.h"
#include "runtime/EmulatedKernel.h"

#include <iostream>
#include <thread>

using namespace tilewright;
using namespace tilewright::tool;

static Status runAndTime(const LaunchInput &input, unsigned threads, RunReport &report) {
  Result<Kernel> kernel = input.program.kernel();
  if (!kernel)
    return kernel.error();
  Result<std::unique_ptr<Launcher>> launcher = makeLauncher(input, *std::move(kernel), threads);
  if (!launcher)
    return launcher.error();
  Progress progress("running");
  Result<Timing> timing = timeRuns([&] { return (*launcher)->run(/*cold=*/false); }, 0.5);
  if (!timing)
    return timing.error();
  report.timing = *timing;
  return (*launcher)->finish();
}

/// Runs on the emulator; true if nothing was found.
static Result<bool> emulate(const LaunchInput &input, const Options &options, unsigned threads,
                            RunReport &report) {
  if (!input.program.isForGpu())
    return invalidArgument("--emulate is for kernels of a GPU: add --target sm_90a");
  Result<KernelImage> image = input.program.image(/*assembled=*/false);
  if (!image)
    return image.error();
  Result<EmulatedKernel> kernel = EmulatedKernel::make(*image);
  if (!kernel)
    return kernel.error();
  emulator::CommandOptions emulation = options.emulation;
  emulation.firstSeed = 1; // --seed is that of the tensors
  emulation.run.threads = threads;
  Progress progress("emulating");
  Result<emulator::Report> found = kernel->run(input.arguments, emulation, std::cin, std::cout);
  if (!found)
    return found.error();
  report.emulation = emulator::toText(kernel->module(), *found);
  report.emulationJson = emulator::toJson(kernel->module(), *found);
  return found->findings.empty();
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
  const bool hasRows = tensors.sizes.batch != 0 && tensors.sizes.heads != 0;
  report.check = {*std::move(comparison), hasRows ? right->rows.size() : 0,
                  tensors.sizes.queryLength};
  return {};
}

Result<int> tool::runRun(const Options &options) {
  Result<LaunchInput> input = prepareLaunch(options);
  if (!input)
    return input.error();
  const RunTensors &tensors = input->tensors;

  // What the check needs is found out before the work starts.
  const unsigned threads =
      options.threads ? options.threads : std::max(1u, std::thread::hardware_concurrency());
  std::optional<reference::Problem> problem;
  if (options.check) {
    Result<ParsedProblem> parsed = input->program.problem();
    if (!parsed)
      return parsed.error();
    Result<reference::Problem> made = makeReference(*parsed, *input);
    if (!made)
      return made.error();
    problem = *std::move(made);
  }

  RunReport report;
  bool isClean = true;
  if (options.emulate) {
    Result<bool> clean = emulate(*input, options, threads, report);
    if (!clean)
      return clean.error();
    isClean = *clean;
  } else if (Status ran = runAndTime(*input, options.threads, report); !ran) {
    return ran.error();
  }
  // Behind a finding outputs are incomplete.
  if (problem && isClean)
    if (Status checked = checkResult(*problem, tensors, threads, report); !checked)
      return checked.error();
  report.out = tensors.out.describe();
  report.schedule = input->program.schedule();
  report.blocks = input->blocks();
  if (report.blocks)
    report.visitedOperations = input->operationsOf(*report.blocks);
  if (options.remarks)
    printRemarks(input->program.remarks());
  if (options.output && isClean)
    if (Status written = writeOutputs(options, tensors); !written)
      return written.error();
  if (Status written = writeStdout(options.json ? report.toJson() : report.toText()); !written)
    return written.error();
  return !isClean || (report.check && !report.check->comparison.passed) ? 1 : 0;
}
