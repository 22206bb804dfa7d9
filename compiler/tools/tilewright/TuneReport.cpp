//===- TuneReport.cpp - What a tuning found out ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/tilewright/TuneReport.h"

#include "compiler/tools/tilewright/Output.h"
#include "compiler/tools/tilewright/Timing.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <fmt/format.h>

using namespace tilewright;
using namespace tilewright::tool;

std::string TuneReport::toText() const {
  std::string text =
      fmt::format("device      {}\nmachine     {}; {} and {} of cache\n"
                  "candidates  {} schedules around the compiler's own, tried in the order of the "
                  "cache model\n\n"
                  "  {:<44} {:>10} {:>5}  {}\n",
                  device, key.machine.features, formatBytes(double(key.machine.level1)),
                  formatBytes(double(key.machine.level2)), candidates, "schedule", "time", "runs",
                  "of default");
  for (size_t i = 0; i < result.standings.size(); ++i) {
    const Standing &standing = result.standings[i];
    text += fmt::format("{} {:<44} ", i == result.best ? '*' : ' ', toString(standing.schedule));
    if (!standing.problem.empty())
      text += fmt::format("{}: {}\n", standing.hasWrongValues ? "WRONG VALUES" : "refused",
                          standing.problem);
    else
      text += fmt::format("{:>10} {:>5}  {:.3f}{}\n", formatSeconds(standing.median), standing.runs,
                          standing.ratio, i == 0 ? ", the default" : "");
  }
  return text + fmt::format("\nbest        {}, written to {}\n",
                            toString(result.standings[result.best].schedule), file);
}

std::string TuneReport::toJson() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::json::OStream json(stream);
  json.object([&] {
    json.attribute("device", device);
    json.attribute("target", key.target);
    json.attribute("candidates", static_cast<int64_t>(candidates));
    json.attributeArray("schedules", [&] {
      for (const Standing &standing : result.standings)
        json.object([&] {
          json.attribute("schedule", toString(standing.schedule));
          if (!standing.problem.empty())
            return json.attribute(standing.hasWrongValues ? "wrong" : "refused", standing.problem);
          json.attribute("time_s", standing.median);
          json.attribute("runs", static_cast<int64_t>(standing.runs));
          json.attribute("ratio", standing.ratio);
        });
    });
    json.attribute("best", toString(result.standings[result.best].schedule));
    json.attribute("file", file);
  });
  return text + "\n";
}
