//===- BenchCommand.cpp - tilewright bench --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/tilewright/Commands.h"
#include "compiler/tools/tilewright/Launcher.h"
#include "compiler/tools/tilewright/Output.h"
#include "compiler/tools/tilewright/Progress.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <fmt/format.h>

using namespace tilewright;
using namespace tilewright::tool;

namespace {
struct BenchReport {
  std::string device, target, schedule;
  Timing timing;
  /// Nothing where the blocks are not known.
  std::optional<double> operations;

  /// Per second.
  std::optional<double> teraflops() const {
    return operations ? std::optional(*operations / timing.median * 1e-12) : std::nullopt;
  }

  std::string toText() const;
  std::string toJson() const;
};
} // namespace

std::string BenchReport::toText() const {
  return fmt::format("device    {}\ntarget    {}\nschedule  {}\n"
                     "time      {}, median of {} runs, {} to {}\nrate      {}\n",
                     device, target, schedule.empty() ? "as the program states" : schedule,
                     formatSeconds(timing.median), timing.runs, formatSeconds(timing.fastest),
                     formatSeconds(timing.slowest),
                     operations
                         ? fmt::format("{:.4g} TFLOP/s over the visited blocks", *teraflops())
                         : "not known, since the program's blocks are not");
}

std::string BenchReport::toJson() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::json::OStream json(stream);
  const auto orNull = [](const std::string &value) {
    return value.empty() ? llvm::json::Value(nullptr) : llvm::json::Value(value);
  };
  json.object([&] {
    json.attribute("device", device);
    json.attribute("target", target);
    json.attribute("schedule", orNull(schedule));
    json.attribute("time_s", timing.median);
    json.attribute("fastest_s", timing.fastest);
    json.attribute("slowest_s", timing.slowest);
    json.attribute("runs", static_cast<int64_t>(timing.runs));
    json.attribute("tflops", operations ? llvm::json::Value(*teraflops()) : nullptr);
  });
  return text + "\n";
}

/// Seconds for which runs are timed.
static constexpr double enough = 1;

Result<int> tool::runBench(const Options &options) {
  Result<LaunchInput> input = prepareLaunch(options);
  if (!input)
    return input.error();
  Result<Kernel> kernel = input->program.kernel();
  if (!kernel)
    return kernel.error();
  Result<std::unique_ptr<Launcher>> launcher =
      makeLauncher(*input, *std::move(kernel), options.threads);
  if (!launcher)
    return launcher.error();
  Result<Timing> timing = [&] {
    Progress progress("running");
    return timeRuns([&] { return (*launcher)->run(/*cold=*/true); }, enough);
  }();
  if (!timing)
    return timing.error();
  BenchReport report{.device = (*launcher)->device(),
                     .target = input->program.target(),
                     .schedule = input->program.schedule(),
                     .timing = *timing,
                     .operations = {}};
  if (Result<BlockMap> blocks = input->blocks())
    report.operations = input->operationsOf(*blocks);
  if (Status written = writeStdout(options.json ? report.toJson() : report.toText()); !written)
    return written.error();
  return 0;
}
