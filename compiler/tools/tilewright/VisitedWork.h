//===- VisitedWork.h - What a kernel's blocks amount to ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_VISITEDWORK_H
#define TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_VISITEDWORK_H

#include "compiler/Explain/BlockMap.h"

namespace tilewright::tool {

/// Scores of one head that lie in visited blocks and within the lengths.
double countVisitedScores(const BlockMap &map, const ProblemSizes &sizes);

/// Floating-point operations of both products over so many scores of each head: a multiplication
/// and an addition for each element of query and value width.
double countOperations(double scores, const ProblemSizes &sizes, int64_t headDim, int64_t valueDim);

} // namespace tilewright::tool

#endif // TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_VISITEDWORK_H
