//===- RunReport.cpp - What a run found out -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/tilewright/RunReport.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <fmt/format.h>

#include <cmath>

using namespace tilewright;
using namespace tilewright::tool;

std::string RunReport::toText() const {
  std::string text = emulation + fmt::format("output    {}\n", out);
  if (timing) {
    text += fmt::format("time      {}, median of {} run{}", formatSeconds(timing->median),
                        timing->runs, timing->runs == 1 ? "" : "s");
    if (blocks)
      text += fmt::format(", {:.1f} GFLOP/s over the visited blocks",
                          visitedOperations / timing->median * 1e-9);
    text += "\n";
  }
  text += fmt::format("schedule  {}\n", schedule.empty() ? "as the program states" : schedule);
  text += blocks ? fmt::format("blocks    {} full, {} partial, {} skipped, for each head\n",
                               blocks->full(), blocks->partial(), blocks->skipped())
                 : fmt::format("blocks    not known: {}\n", blocks.error().message());
  if (check && check->rows == 0)
    text += "check     nothing to check: there are no queries\n";
  else if (check)
    text += fmt::format("check     {} ({} of {} rows): {}\n",
                        check->comparison.passed ? "passed" : "FAILED", check->rows, check->allRows,
                        check->comparison.describe());
  return text;
}

/// JSON has no infinities and no NaN.
static llvm::json::Value number(double value) {
  return std::isfinite(value) ? llvm::json::Value(value) : llvm::json::Value(nullptr);
}

static void writeErrors(llvm::json::OStream &json, const reference::Errors &errors) {
  json.attribute("max_abs", number(errors.maxAbs));
  json.attribute("rms", number(errors.rms));
  json.attribute("relative", number(errors.relative));
  json.attribute("misplaced", errors.misplaced);
}

std::string RunReport::toJson() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::json::OStream json(stream);
  json.object([&] {
    json.attribute("out", out);
    json.attribute("schedule", schedule.empty() ? llvm::json::Value(nullptr) : schedule);
    json.attribute("time_s", timing ? number(timing->median) : nullptr);
    json.attribute("runs", static_cast<int64_t>(timing ? timing->runs : 0));
    json.attribute("gflops",
                   timing && blocks ? number(visitedOperations / timing->median * 1e-9) : nullptr);
    json.attributeBegin("blocks");
    if (blocks)
      json.object([&] {
        json.attribute("skipped", blocks->skipped());
        json.attribute("full", blocks->full());
        json.attribute("partial", blocks->partial());
      });
    else
      json.value(nullptr);
    json.attributeEnd();
    if (!emulationJson.empty()) {
      json.attributeBegin("emulation");
      json.rawValue(llvm::StringRef(emulationJson).trim());
      json.attributeEnd();
    }
    if (!check)
      return;
    const reference::Comparison &comparison = check->comparison;
    json.attributeObject("check", [&] {
      json.attribute("passed", comparison.passed);
      json.attribute("rows", static_cast<int64_t>(check->rows));
      json.attributeObject("o", [&] {
        writeErrors(json, comparison.o);
        json.attribute("relative_limit", number(comparison.relativeLimit));
        json.attribute("max_abs_limit", number(comparison.maxAbsLimit));
      });
      json.attributeObject("lse", [&] {
        writeErrors(json, comparison.lse);
        json.attribute("fraction_of_limit", number(comparison.lseExcess));
      });
    });
  });
  return text + "\n";
}
