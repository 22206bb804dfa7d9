//===- Compare.h - Is a computed result right? ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is compared: the elements O[b, h, row, c] and LSE[b, h, row] for every b,
// h and c and each of the reference's rows, all of them, in one comparison.
//
// - Where the reference is NaN the result must be NaN, where it is infinite the
//   same infinity; elsewhere the result must be finite. An element that breaks
//   this is *misplaced*, and one is enough to fail.
// - Errors are measured over the elements where both are finite:
//   maxAbs, rms, and relative = ||O - O64|| / ||O64|| (0 if the difference is 0).
//
// The limits, with `unit` from the inputs' dtype: 1.25 * 2^-9 (bf16), 1.25 * 2^-12
// (f16), 4 * 2^-24 (f32), 1e-12 (f64, where the baseline's errors count as 0):
//
//   O    relative <= max(1.5 * exp(4 / sqrt(n)) * baseline's relative, unit)
//        maxAbs   <= 4 * max(baseline's maxAbs, unit * max|v|), v over finite elements
//   LSE  |error|  <= limit * max(1, row's largest |score|), limit 1e-5 (f64: 1e-12)
//
// The two rms of O are estimates from n elements. Were both results of one quality,
// the logarithm of their ratio would still spread around 0, with a deviation of
// 1 / sqrt(n); exp(4 / sqrt(n)) allows four of them. That is 2.7 for 16 elements,
// 1.13 for a thousand, 1.004 for a million.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_LIB_REFERENCE_COMPARE_H
#define TILEWRIGHT_LIB_REFERENCE_COMPARE_H

#include "lib/Reference/Reference.h"

namespace tilewright::reference {

struct Errors {
  double maxAbs = 0;
  double rms = 0;
  double relative = 0;
  int64_t count = 0;     // elements over which these were measured
  int64_t misplaced = 0; // NaN, infinity or a finite value where the reference has another kind
};

struct Comparison {
  bool passed = false;
  Errors o;
  Errors baseline; // all 0 for f64
  double relativeLimit = 0;
  double maxAbsLimit = 0;
  /// All 0 where no LSE was given. Its limit differs by row: `lseExcess` is the largest error as a
  /// fraction of its row's limit, to be at most 1.
  Errors lse;
  double lseExcess = 0;

  /// One line with each number and its limit; where it failed, the first one past its limit.
  std::string describe() const;
};

/// Compares `o` [B, Hq, Tq, dv] and, if given, `lse` [B, Hq, Tq], whole tensors of which the
/// reference's rows are read. The baseline is computed here, on `threads` threads. Refused: shapes
/// that do not fit the problem.
Result<Comparison> compare(const Problem &problem, const Output &reference, const TensorView &o,
                           const std::optional<TensorView> &lse, unsigned threads);

/// The error measures alone, of two arrays of one length.
Errors measure(std::span<const double> computed, std::span<const double> right);

} // namespace tilewright::reference

#endif // TILEWRIGHT_LIB_REFERENCE_COMPARE_H
