//===- Baseline.cpp - The error that a good kernel may make ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Reference/Baseline.h"

#include "lib/Reference/Rows.h"
#include "lib/Support/MakeError.h"

using namespace tilewright;
using namespace tilewright::reference;

Result<Output> tilewright::reference::baseline(const Problem &problem, std::vector<int64_t> rows,
                                               DType outputDType, unsigned threads) {
  if (Status status = checkProblem(problem); !status)
    return status.error();
  if (Status status = checkRows(problem, rows); !status)
    return status.error();
  if (problem.q.dtype == DType::F64)
    return invalidArgument("f64 inputs have no baseline in f32");
  return computeRows<float>(problem, std::move(rows), Rounding{problem.q.dtype, outputDType},
                            threads);
}
