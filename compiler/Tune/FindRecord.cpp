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
  const auto ignore = [&](std::string why) {
    if (wrong++ == 0)
      reason = std::move(why);
  };
  const std::string beginning = beginningOfLine(key);
  // npos + 1 is 0, so that without an end of a line nothing is left.
  text = text.substr(0, text.rfind('\n') + 1);
  while (!text.empty() && !found.record) {
    text.remove_suffix(1);
    const size_t start = text.rfind('\n') + 1;
    const std::string_view line = text.substr(start);
    text = text.substr(0, start);
    if (line.starts_with(beginning)) {
      Result<TuningRecord> record = parseTuningRecord(line);
      if (record)
        found.record = *std::move(record);
      else
        ignore(record.error().message());
    } else if (!line.empty() && !line.starts_with(beginningOfAllLines)) {
      ignore("it does not begin as lines of this version do");
    }
  }
  if (wrong == 1)
    found.complaint = fmt::format("a line is ignored: {}", reason);
  if (wrong > 1)
    found.complaint =
        fmt::format("{} lines are ignored, the last of them because: {}", wrong, reason);
  return found;
}
