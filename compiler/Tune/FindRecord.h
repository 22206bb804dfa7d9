//===- FindRecord.h - The last line that holds for a key --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TUNE_FINDRECORD_H
#define TILEWRIGHT_COMPILER_TUNE_FINDRECORD_H

#include "compiler/Tune/TuningRecord.h"

namespace tilewright {

struct FoundRecord {
  std::optional<TuningRecord> record;
  /// What is wrong with lines that come after it, as one sentence; empty if nothing is.
  std::string complaint;
};

/// The last line of `text` that holds for `key`. Lines are looked at from the end on, and none that
/// comes before the one found. Only those that begin as lines for the key do are parsed; lines for
/// other keys and empty ones mean nothing, nor does a line without its end, which is being written.
FoundRecord findRecord(std::string_view text, const TuningKey &key);

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_TUNE_FINDRECORD_H
