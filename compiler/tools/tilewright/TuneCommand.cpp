//===- TuneCommand.cpp - tilewright tune ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Tune/CacheModel.h"
#include "compiler/Tune/Candidates.h"
#include "compiler/Tune/TuningFile.h"
#include "compiler/Tune/TuningRecord.h"
#include "compiler/tools/tilewright/Commands.h"
#include "compiler/tools/tilewright/Launcher.h"
#include "compiler/tools/tilewright/Output.h"
#include "compiler/tools/tilewright/Progress.h"
#include "compiler/tools/tilewright/ReferenceInput.h"
#include "compiler/tools/tilewright/TuneReport.h"
#include "lib/Reference/Compare.h"
#include "lib/Support/MakeError.h"
#include "runtime/GpuDevice.h"

#include <chrono>
#include <ctime>
#include <thread>

using namespace tilewright;
using namespace tilewright::tool;

/// Of all threads of this process: a kernel with much scratch runs on a thread of its own.
static double processorSeconds() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
}

namespace {
/// What all contenders share.
struct Contest {
  const Options &options;
  LaunchInput input;
  reference::Problem problem;
  reference::Output right;
  /// Of the kernels, and of the comparisons.
  unsigned threads;
  unsigned checkThreads;

  /// Whoever else uses the machine disturbs processor time least. Of several threads it is a sum,
  /// and says nothing of how well they share the work.
  bool takesProcessorTime() const { return !input.program.isForGpu() && threads == 1; }
};

class KernelContender : public Contender {
public:
  KernelContender(const Contest &contest, std::unique_ptr<Launcher> launcher)
      : contest(contest), launcher(std::move(launcher)) {}

  Status check() override {
    if (Result<double> ran = launcher->run(/*cold=*/false); !ran)
      return ran.error();
    if (Status finished = launcher->finish(); !finished)
      return finished;
    const RunTensors &tensors = contest.input.tensors;
    Result<reference::Comparison> comparison = reference::compare(
        contest.problem, contest.right, tensors.out, tensors.lse, contest.checkThreads);
    if (!comparison)
      return comparison.error();
    return comparison->passed ? Status() : internalError("{}", comparison->describe());
  }

  Result<double> run() override {
    const double start = processorSeconds();
    Result<double> wall = launcher->run(/*cold=*/true);
    const double processor = processorSeconds() - start;
    return wall && contest.takesProcessorTime() ? processor : wall;
  }

  std::string device() const { return launcher->device(); }

private:
  const Contest &contest;
  std::unique_ptr<Launcher> launcher;
};
} // namespace

/// Compiles the problem under another schedule; refused as the compiler refuses it.
static Result<std::unique_ptr<KernelContender>> makeContender(const Contest &contest,
                                                              const Schedule &schedule) {
  Options options = contest.options;
  options.compile.schedule = toString(schedule);
  Result<Compilation> compilation = compileInput(options, contest.input.program.input());
  if (!compilation)
    return compilation.error();
  Result<Kernel> kernel = compilation->kernel();
  if (!kernel)
    return kernel.error();
  clearOutputs(contest.input.tensors); // a GPU's launcher takes them over as they are
  Result<std::unique_ptr<Launcher>> launcher =
      makeLauncher(contest.input, *std::move(kernel), contest.threads);
  if (!launcher)
    return launcher.error();
  return std::make_unique<KernelContender>(contest, *std::move(launcher));
}

/// The file that the winner will be written to, after a look at whether it can be.
static Result<std::string> findWritableFile(const std::string &stated) {
  Result<std::string> file = findTuningFile(stated);
  if (!file)
    return file;
  if (file->empty())
    return invalidArgument("TILEWRIGHT_TUNING_FILE is set and empty, so that the winner would be "
                           "kept nowhere; name a file with --tuning");
  if (Result<std::string> text = readTuningFile(*file); !text)
    return text.error();
  return file;
}

static Result<Contest> prepareContest(const Options &options) {
  if (options.problem.file && options.problem.file->ends_with(".twk"))
    return invalidArgument("{}: the kernel is compiled already; tune the problem that it was "
                           "compiled from",
                           *options.problem.file);
  Result<LaunchInput> input = prepareLaunch(options);
  if (!input)
    return input.error();
  if (input->program.isForGpu())
    if (Result<GpuDevice> device = GpuDevice::open(0); !device)
      return device.error().within("target " + input->program.target());
  Result<ParsedProblem> parsed = input->program.problem();
  if (!parsed)
    return parsed.error();
  Result<reference::Problem> problem = makeReference(*parsed, *input);
  if (!problem)
    return problem.error();
  const unsigned checkThreads = std::max(1u, std::thread::hardware_concurrency());
  Progress progress("computing the reference");
  Result<reference::Output> right = reference::forward(
      *problem, reference::rowsToCheck(input->tensors.sizes.queryLength), checkThreads);
  if (!right)
    return right.error();
  return Contest{.options = options,
                 .input = *std::move(input),
                 .problem = *std::move(problem),
                 .right = *std::move(right),
                 .threads = options.threads ? options.threads : 1,
                 .checkThreads = checkThreads};
}

/// The compiler's own schedule; then the one that is in force now, if it is another; then all
/// others, the best by the cache model first.
static std::vector<Schedule> listSchedules(const TuningSubject &subject,
                                           const std::string &inForce) {
  std::vector<Schedule> schedules = candidatesFor(subject);
  sortByMemoryCost(schedules, subject);
  const Result<Schedule> now = parseSchedule(inForce, subject.own);
  if (now && *now != subject.own) {
    std::erase(schedules, *now);
    schedules.insert(schedules.begin(), *now);
  }
  schedules.insert(schedules.begin(), subject.own);
  return schedules;
}

static TuningRecord makeRecord(const Contest &contest, const TuneReport &report) {
  const Standing &best = report.result.standings[report.result.best];
  const Standing &standard = report.result.standings.front();
  const ProblemSizes &sizes = contest.input.tensors.sizes;
  const std::chrono::year_month_day today(
      std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now()));
  return {.key = report.key,
          .schedule = toString(best.schedule),
          .seconds = best.median,
          .defaultSchedule = toString(standard.schedule),
          .defaultSeconds = standard.median,
          .sizes = {sizes.batch, sizes.heads, sizes.kvHeads, sizes.queryLength, sizes.keyLength},
          .threads = contest.threads,
          .date = fmt::format("{:04}-{:02}-{:02}", static_cast<int>(today.year()),
                              static_cast<unsigned>(today.month()),
                              static_cast<unsigned>(today.day()))};
}

Result<int> tool::runTune(const Options &options) {
  Result<std::string> file = findWritableFile(options.compile.tuning);
  if (!file)
    return file.error();
  Result<Contest> contest = prepareContest(options);
  if (!contest)
    return contest.error();
  const CompiledProgram &program = contest->input.program;
  const std::optional<TuningSubject> subject = program.tuningSubject();
  if (!subject)
    return unsupported(
        "the system does not tell this machine's caches, so that what is measured here "
        "could not be told from what is measured elsewhere");

  TuneReport report{
      .device = {}, .key = subject->key, .candidates = 0, .result = {}, .file = *file};
  const std::vector<Schedule> schedules = listSchedules(*subject, program.schedule());
  report.candidates = schedules.size();
  const auto make = [&](const Schedule &schedule) -> Result<std::unique_ptr<Contender>> {
    Result<std::unique_ptr<KernelContender>> contender = makeContender(*contest, schedule);
    if (!contender)
      return contender.error();
    report.device = (*contender)->device();
    return std::unique_ptr<Contender>(*std::move(contender));
  };
  Result<TournamentResult> result = [&] {
    Progress progress("timing schedules");
    return holdTournament(schedules, options.tournament, make);
  }();
  if (!result)
    return result.error();
  report.result = *std::move(result);

  const std::string line = toLine(makeRecord(*contest, report));
  if (line.size() > maxTuningLine)
    return unsupported("the problem's expressions are too long to be kept: the line would take {} "
                       "bytes, the limit is {}",
                       line.size(), maxTuningLine);
  if (Status appended = appendToTuningFile(*file, line); !appended)
    return appended.error();
  if (Status written = writeStdout(options.json ? report.toJson() : report.toText()); !written)
    return written.error();
  const bool isWrong = std::ranges::any_of(report.result.standings, &Standing::hasWrongValues);
  return isWrong ? 1 : 0;
}
