//===- Timing.cpp - How long a kernel takes -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/tilewright/Timing.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

using namespace tilewright;
using namespace tilewright::tool;

Result<Timing> tool::timeRuns(const std::function<Result<double>()> &run, double enough) {
  if (Result<double> first = run(); !first)
    return first.error();
  std::vector<double> seconds;
  double total = 0;
  while (total < (seconds.size() < 3 ? 2.0 : enough) && seconds.size() < 1000) {
    Result<double> once = run();
    if (!once)
      return once.error();
    seconds.push_back(*once);
    total += *once;
  }
  std::ranges::sort(seconds);
  return Timing{seconds[seconds.size() / 2], seconds.front(), seconds.back(), seconds.size()};
}

std::string tool::formatSeconds(double seconds) {
  if (seconds < 1e-3)
    return fmt::format("{:.1f} us", seconds * 1e6);
  if (seconds < 1)
    return fmt::format("{:.3f} ms", seconds * 1e3);
  return fmt::format("{:.3f} s", seconds);
}
