//===- Command.cpp - The emulator as a command ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Emulator/Command.h"

#include "lib/Emulator/Debugger.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>
#include <set>
#include <string_view>

using namespace tilewright;
using namespace tilewright::emulator;

namespace {

/// What a writable buffer held before the first run. Poisoned outputs and zeroed counters, nearly
/// all of them, are one byte repeated and cost nothing.
struct Initial {
  const Buffer *buffer;
  uint8_t repeated = 0;
  std::vector<uint8_t> bytes; ///< Empty: all of it is `repeated`.

  explicit Initial(const Buffer &buffer) : buffer(&buffer) {
    const auto *first = static_cast<const uint8_t *>(buffer.data);
    if (buffer.bytes == 0)
      return;
    if (std::memcmp(first, first + 1, buffer.bytes - 1) == 0)
      repeated = *first;
    else
      bytes.assign(first, first + buffer.bytes);
  }

  void restore() const {
    if (bytes.empty())
      std::fill_n(static_cast<uint8_t *>(buffer->data), buffer->bytes, repeated);
    else
      std::copy(bytes.begin(), bytes.end(), static_cast<uint8_t *>(buffer->data));
  }
};

std::vector<Initial> saveWritable(const Launch &launch) {
  std::vector<Initial> saved;
  for (const Buffer &buffer : launch.buffers)
    if (buffer.writable)
      saved.emplace_back(buffer);
  return saved;
}

/// Stands for the bits of all writable buffers, so that no seed's results need to be kept.
std::vector<size_t> fingerprint(const Launch &launch) {
  std::vector<size_t> hashes;
  for (const Buffer &buffer : launch.buffers)
    if (buffer.writable)
      hashes.push_back(std::hash<std::string_view>()(
          std::string_view(static_cast<const char *>(buffer.data), buffer.bytes)));
  return hashes;
}

void addUnique(std::vector<std::string> &list, const std::string &text) {
  if (std::find(list.begin(), list.end(), text) == list.end())
    list.push_back(text);
}

bool sameFault(const Finding &a, const Finding &b) {
  return a.kind == b.kind && a.at.line == b.at.line &&
         (a.other ? a.other->line : 0) == (b.other ? b.other->line : 0);
}

/// Lines of instructions that no warp executed, as "12-15".
std::vector<std::string> neverExecuted(const Module &module, const Report &report) {
  std::set<uint32_t> lines, executed;
  for (size_t i = 0; i + 1 < module.ops.size(); ++i) // the last op is the end of the kernel
    (report.executed[i] ? executed : lines).insert(module.ops[i].line);
  std::vector<std::string> ranges;
  for (auto at = lines.begin(); at != lines.end();) {
    const uint32_t first = *at;
    uint32_t last = first;
    // A range goes on over lines without instructions.
    for (++at; at != lines.end() && executed.lower_bound(last) == executed.lower_bound(*at); ++at)
      last = *at;
    ranges.push_back(first == last ? std::to_string(first) : fmt::format("{}-{}", first, last));
  }
  return ranges;
}

} // namespace

Result<Report> emulator::runSeeds(const Module &module, const Launch &launch,
                                  const CommandOptions &options, std::istream &commands,
                                  std::ostream &answers) {
  Report report;
  report.executed.assign(module.ops.size(), 0);
  Debugger debugger(module, commands, answers);
  for (uint32_t line : options.breaks)
    debugger.breakAt(line);
  if (options.warp)
    debugger.selectWarp(*options.warp);
  if (options.step)
    debugger.stepFromTheStart();
  if (!options.prints.empty())
    debugger.printAndContinue(options.prints);
  const bool interactive = options.step || !options.breaks.empty();

  const uint64_t seeds = interactive ? 1 : options.seeds;
  const std::vector<Initial> initial = seeds > 1 ? saveWritable(launch) : std::vector<Initial>();
  std::optional<std::vector<size_t>> first;
  for (uint64_t i = 0; i < seeds; ++i) {
    RunOptions run = options.run;
    run.seed = options.firstSeed + i;
    if (interactive)
      run.observer = &debugger;
    for (const Initial &buffer : initial)
      buffer.restore();
    Result<Outcome> outcome = emulator::run(module, launch, run);
    if (!outcome)
      return outcome.error();
    ++report.seedsRun;
    report.statistics.warpInstructions += outcome->statistics.warpInstructions;
    report.statistics.threadInstructions += outcome->statistics.threadInstructions;
    report.statistics.matrixInstructions += outcome->statistics.matrixInstructions;
    report.statistics.copies += outcome->statistics.copies;
    for (size_t op = 0; op < report.executed.size(); ++op)
      report.executed[op] |= outcome->executed[op];
    for (const std::string &remark : outcome->remarks)
      addUnique(report.remarks, remark);
    if (outcome->stopped)
      addUnique(report.remarks, "the run was ended by the debugger");
    if (outcome->finding) {
      ++report.seedsWithFindings;
      const Finding &finding = *outcome->finding;
      if (std::none_of(report.findings.begin(), report.findings.end(),
                       [&](const Finding &known) { return sameFault(known, finding); }))
        report.findings.push_back(finding);
    } else if (seeds > 1 && !first)
      first = fingerprint(launch);
    else if (first && fingerprint(launch) != *first)
      addUnique(report.remarks, "seeds disagree about the bits that the kernel writes");
  }
  return report;
}

std::string emulator::toText(const Module &module, const Report &report) {
  std::string result;
  for (const Finding &finding : report.findings)
    result += toText(finding) + "\n";
  for (const std::string &remark : report.remarks)
    result += "remark: " + remark + "\n";
  const size_t total = module.ops.size() - 1; // the last op is the end of the kernel
  const auto executed =
      static_cast<size_t>(std::count(report.executed.begin(), report.executed.end() - 1, 1));
  result +=
      fmt::format("kernel '{}': {} of {} seeds with findings; {} warp instructions, {} thread "
                  "instructions, {} wgmmas, {} bulk copies\n",
                  module.kernel, report.seedsWithFindings, report.seedsRun,
                  report.statistics.warpInstructions, report.statistics.threadInstructions,
                  report.statistics.matrixInstructions, report.statistics.copies);
  result += fmt::format("coverage: {} of {} instructions executed", executed, total);
  if (const std::vector<std::string> lines = neverExecuted(module, report); !lines.empty())
    result += fmt::format("; never: lines {}", fmt::join(lines, ", "));
  return result + "\n";
}

std::string emulator::toJson(const Module &module, const Report &report) {
  std::vector<std::string> findings, remarks, lines;
  for (const Finding &finding : report.findings)
    findings.push_back(toJson(finding));
  for (const std::string &remark : report.remarks)
    remarks.push_back(jsonString(remark));
  for (const std::string &range : neverExecuted(module, report))
    lines.push_back(jsonString(range));
  return fmt::format(
      R"({{"kernel": {}, "seeds": {}, "seeds_with_findings": {}, "findings": [{}], "remarks": [{}], )"
      R"("coverage": {{"instructions": {}, "executed": {}, "never": [{}]}}, )"
      R"("statistics": {{"warp_instructions": {}, "thread_instructions": {}, "wgmmas": {}, )"
      R"("bulk_copies": {}}}}})"
      "\n",
      jsonString(module.kernel), report.seedsRun, report.seedsWithFindings,
      fmt::join(findings, ", "), fmt::join(remarks, ", "), module.ops.size() - 1,
      std::count(report.executed.begin(), report.executed.end() - 1, 1), fmt::join(lines, ", "),
      report.statistics.warpInstructions, report.statistics.threadInstructions,
      report.statistics.matrixInstructions, report.statistics.copies);
}
