//===- Rows.h - Rows of attention in one number type ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The two-pass computation that the reference and the baseline share: all scores
// of a few rows, their maximum, then the weighted sum of the values. They differ
// in the number type and in what is rounded on the way.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_LIB_REFERENCE_ROWS_H
#define TILEWRIGHT_LIB_REFERENCE_ROWS_H

#include "lib/Reference/Reference.h"

namespace tilewright::reference {

/// Where the baseline rounds; the reference does not.
struct Rounding {
  DType weights; // P, after it was added to the row's sum
  DType output;  // O
};

/// Real is double or float. `rows` must be valid for the problem, which checkProblem accepts.
template <typename Real>
Output computeRows(const Problem &problem, std::vector<int64_t> rows,
                   const std::optional<Rounding> &rounding, unsigned threads);

extern template Output computeRows<double>(const Problem &, std::vector<int64_t>,
                                           const std::optional<Rounding> &, unsigned);
extern template Output computeRows<float>(const Problem &, std::vector<int64_t>,
                                          const std::optional<Rounding> &, unsigned);

/// The message names the first row that is no query.
Status checkRows(const Problem &problem, std::span<const int64_t> rows);

} // namespace tilewright::reference

#endif // TILEWRIGHT_LIB_REFERENCE_ROWS_H
