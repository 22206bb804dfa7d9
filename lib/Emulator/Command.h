//===- Command.h - The emulator as a command --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What `tilewright emulate` does once its options and files are read.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_LIB_EMULATOR_COMMAND_H
#define TILEWRIGHT_LIB_EMULATOR_COMMAND_H

#include "lib/Emulator/Device.h"

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace tilewright::emulator {

struct CommandOptions {
  uint64_t firstSeed = 1, seeds = 1;
  /// The seed is replaced by each of the seeds above.
  RunOptions run;
  bool json = false;

  // The debugger; one of these makes the command interactive, with the first seed alone.
  std::vector<uint32_t> breaks;    ///< PTX lines.
  std::vector<std::string> prints; ///< Answered at every stop instead of reading commands.
  std::optional<uint32_t> warp;
  bool step = false;
};

struct Report {
  std::vector<Finding> findings; ///< The first of every seed that has one; of equal ones the first.
  uint64_t seedsRun = 0, seedsWithFindings = 0;
  std::vector<std::string> remarks;
  Statistics statistics; ///< Of all seeds together.
  std::vector<uint8_t> executed;
};

/// Runs the kernel once for every seed. Writable buffers hold the same bytes at the start of each
/// run; at the end they hold what the last one wrote. A remark tells when seeds disagree. With two
/// seeds or more, writable buffers that do not start as one repeated byte are kept a second time;
/// beyond that memory does not grow with seeds.
Result<Report> runSeeds(const Module &module, const Launch &launch, const CommandOptions &options,
                        std::istream &commands, std::ostream &answers);

/// For a reader: findings, remarks, coverage with the lines that were never executed.
std::string toText(const Module &module, const Report &report);

/// The same as one JSON object.
std::string toJson(const Module &module, const Report &report);

} // namespace tilewright::emulator

#endif // TILEWRIGHT_LIB_EMULATOR_COMMAND_H
