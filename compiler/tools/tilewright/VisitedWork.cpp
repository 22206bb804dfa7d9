//===- VisitedWork.cpp - What a kernel's blocks amount to -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/tilewright/VisitedWork.h"

#include <algorithm>

using namespace tilewright;

double tool::countVisitedScores(const BlockMap &map, const ProblemSizes &sizes) {
  double scores = 0;
  int64_t firstQuery = 0;
  for (const BlockRow &row : map.rows) {
    const int64_t queries = std::min(map.blockQ, sizes.queryLength - firstQuery);
    const int64_t keys = std::min(row.end * map.blockKV, sizes.keyLength) - row.begin * map.blockKV;
    if (row.begin < row.end)
      scores += double(queries) * double(keys);
    firstQuery += map.blockQ;
  }
  return scores;
}

double tool::countOperations(double scores, const ProblemSizes &sizes, int64_t headDim,
                             int64_t valueDim) {
  return double(sizes.batch) * double(sizes.heads) * scores * 2 *
         (double(headDim) + double(valueDim));
}
