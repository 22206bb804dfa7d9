//===- Candidates.h - Schedules to try for a problem ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TUNE_CANDIDATES_H
#define TILEWRIGHT_COMPILER_TUNE_CANDIDATES_H

#include "compiler/Tune/TuningKey.h"

#include <vector>

namespace tilewright {

/// Schedules around the compiler's own choice, which is not among them: every combination of values
/// from about a quarter to four times its own, for each field that it has; a number up to 8 has its
/// neighbours. Larger ones keep the power of two, up to 16, that they are a multiple of.
///
/// Without lanes, register tiles stay as they are. With lanes, a tile takes no more registers than
/// the compiler's, which fills them, and at least three quarters of those; and block_q is a
/// multiple of the tile's queries, since lanes beyond it are idle.
///
/// Whether a schedule is legal only the compiler knows.
std::vector<Schedule> candidatesFor(const TuningSubject &subject);

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_TUNE_CANDIDATES_H
