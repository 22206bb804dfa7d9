//===- RunReport.h - What a run found out -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_RUNREPORT_H
#define TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_RUNREPORT_H

#include "compiler/Explain/BlockMap.h"
#include "compiler/tools/tilewright/Timing.h"
#include "lib/Reference/Compare.h"

#include <optional>

namespace tilewright::tool {

struct RunReport {
  std::string out;
  /// Empty where the program fixes it.
  std::string schedule;
  std::optional<Timing> timing;
  /// What the emulator said, as text and as a JSON object; empty where the kernel was not emulated.
  std::string emulation, emulationJson;
  /// Or the reason why it is not known.
  Result<BlockMap> blocks = Error(ErrorKind::Unsupported, "the program starts below tile");
  double visitedOperations = 0;
  struct Check {
    reference::Comparison comparison;
    size_t rows;
    int64_t allRows;
  };
  std::optional<Check> check;

  std::string toText() const;
  /// One line, with "null" for what is unknown or not finite:
  ///   {"out":"f32[...]","schedule":"...","time_s":...,"runs":...,"gflops":...,
  ///    "blocks":{"skipped":...,"full":...,"partial":...},
  ///    "check":{"passed":true,"rows":...,"o":{"max_abs":...,"rms":...,"relative":...},"lse":...}}
  std::string toJson() const;
};

} // namespace tilewright::tool

#endif // TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_RUNREPORT_H
