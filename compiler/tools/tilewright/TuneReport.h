//===- TuneReport.h - What a tuning found out -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_TUNEREPORT_H
#define TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_TUNEREPORT_H

#include "compiler/Tune/Tournament.h"
#include "compiler/Tune/TuningKey.h"

namespace tilewright::tool {

struct TuneReport {
  std::string device;
  TuningKey key;
  /// How many schedules there were to choose from.
  size_t candidates = 0;
  TournamentResult result;
  /// The file that has the new line.
  std::string file;

  std::string toText() const;
  /// One line:
  ///   {"device":"cpu, 1 thread","target":"cpu","candidates":48,
  ///    "schedules":[{"schedule":"...","time_s":...,"runs":...,"ratio":...},
  ///                 {"schedule":"...","refused":"..."},{"schedule":"...","wrong":"..."}],
  ///    "best":"...","file":"..."}
  std::string toJson() const;
};

} // namespace tilewright::tool

#endif // TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_TUNEREPORT_H
