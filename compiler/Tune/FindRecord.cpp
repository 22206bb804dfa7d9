//===- FindRecord.cpp - The last line that holds for a key ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Tune/FindRecord.h"

#include <fmt/format.h>

using namespace tilewright;

FoundRecord tilewright::findRecord(std::string_view text, const TuningKey &key) {
  FoundRecord found;
  size_t wrong = 0;
  std::string reason;
  // npos + 1 is 0, so that without an end of a line nothing is left.
  text = text.substr(0, text.rfind('\n') + 1);
  while (!text.empty() && !found.record) {
    text.remove_suffix(1);
    const size_t start = text.rfind('\n') + 1;
    const std::string_view line = text.substr(start);
    text = text.substr(0, start);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos)
      continue;
    Result<TuningRecord> record = parseTuningRecord(line);
    if (!record && wrong++ == 0)
      reason = record.error().message();
    if (record && record->key == key)
      found.record = *std::move(record);
  }
  if (wrong == 1)
    found.complaint = fmt::format("a line is ignored: {}", reason);
  if (wrong > 1)
    found.complaint =
        fmt::format("{} lines are ignored, the last of them because: {}", wrong, reason);
  return found;
}
