//===- Baseline.h - The error that a good kernel may make -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_LIB_REFERENCE_BASELINE_H
#define TILEWRIGHT_LIB_REFERENCE_BASELINE_H

#include "lib/Reference/Reference.h"

namespace tilewright::reference {

/// The same rows as a careful kernel without tiles computes them: QK, scale and score functions in
/// f32, P = exp(s - row maximum) in f32 and summed before P is rounded to the input dtype, PV in
/// f32, O divided last and rounded to `outputDType`. Its distance from forward() is the yardstick
/// of Compare.h. Refused for f64 inputs, where the limit is absolute.
Result<Output> baseline(const Problem &problem, std::vector<int64_t> rows, DType outputDType,
                        unsigned threads);

} // namespace tilewright::reference

#endif // TILEWRIGHT_LIB_REFERENCE_BASELINE_H
