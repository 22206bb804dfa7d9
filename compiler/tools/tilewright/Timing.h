//===- Timing.h - How long a kernel takes -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_TIMING_H
#define TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_TIMING_H

#include <tilewright/result.h>

#include <cstddef>
#include <functional>
#include <string>

namespace tilewright::tool {

/// Seconds.
struct Timing {
  double median = 0, fastest = 0, slowest = 0;
  /// How many were timed.
  size_t runs = 0;
};

/// Calls `run`, which returns the seconds that it took: once without counting it, and then for
/// `enough` seconds, and at least three times unless they take more than two seconds.
Result<Timing> timeRuns(const std::function<Result<double>()> &run, double enough);

/// "12.3 us", "1.234 ms".
std::string formatSeconds(double seconds);

} // namespace tilewright::tool

#endif // TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_TIMING_H
