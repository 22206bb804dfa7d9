//===- Reference.cpp - Attention in f64, the source of right values -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Reference/Reference.h"

#include "lib/Expression/Bounds.h"
#include "lib/Reference/Rows.h"
#include "lib/Support/MakeError.h"

#include <numeric>

using namespace tilewright;
using namespace tilewright::reference;

expression::Sizes tilewright::reference::sizesOf(const Problem &problem) {
  return {.batch = problem.q.shape[0],
          .heads = problem.q.shape[1],
          .kvHeads = problem.k.shape[1],
          .queryLength = problem.q.shape[2],
          .keyLength = problem.k.shape[2]};
}

/// Rank, dtype and positive width, of each tensor by itself.
static Status checkTensor(std::string_view name, const TensorView &view) {
  if (view.rank != 4)
    return invalidArgument("{} is {}, which has rank {}; it must have rank 4: [batch, heads, "
                           "length, width]",
                           name, view.describe(), view.rank);
  if (!isFloat(view.dtype))
    return invalidArgument("{} is {}; its dtype must be one of f64, f32, f16, bf16", name,
                           view.describe());
  if (view.shape[3] < 1)
    return invalidArgument("{} is {}: its width is {} and must be at least 1", name,
                           view.describe(), view.shape[3]);
  if (!view.elementCount())
    return invalidArgument("{} is {}, which is more elements than 63 bits count", name,
                           view.describe());
  return {};
}

Status tilewright::reference::checkProblem(const Problem &problem) {
  const auto &[q, k, v] = std::tie(problem.q, problem.k, problem.v);
  if (Status status = checkTensor("q", q); !status)
    return status;
  if (Status status = checkTensor("k", k); !status)
    return status;
  if (Status status = checkTensor("v", v); !status)
    return status;
  if (q.dtype != k.dtype || q.dtype != v.dtype)
    return invalidArgument("q is {}, k {} and v {}; all must have one dtype", nameOf(q.dtype),
                           nameOf(k.dtype), nameOf(v.dtype));
  if (q.shape[3] != k.shape[3])
    return invalidArgument("q has width {}, but k has {}: q is {}, k is {}", q.shape[3], k.shape[3],
                           q.describe(), k.describe());
  if (k.shape[2] != v.shape[2])
    return invalidArgument("k has {} keys, but v has {}: k is {}, v is {}", k.shape[2], v.shape[2],
                           k.describe(), v.describe());
  if (k.shape[1] != v.shape[1])
    return invalidArgument("k has {} heads, but v has {}: k is {}, v is {}", k.shape[1], v.shape[1],
                           k.describe(), v.describe());
  if (q.shape[0] != k.shape[0] || q.shape[0] != v.shape[0])
    return invalidArgument("batch is {} in q, {} in k and {} in v", q.shape[0], k.shape[0],
                           v.shape[0]);
  const expression::Sizes sizes = sizesOf(problem);
  if (Status status = expression::checkSizes(sizes); !status)
    return status;
  const TensorView o(nullptr, q.dtype, {q.shape[0], q.shape[1], q.shape[2], v.shape[3]});
  if (!o.elementCount())
    return invalidArgument("o is {}, which is more elements than 63 bits count", o.describe());
  if (Status status = expression::checkBindings(problem.declarations, problem.bindings); !status)
    return status;
  for (const auto *list : {&problem.scores, &problem.masks})
    for (const expression::Expression &expression : *list) {
      Result<expression::Bounds> bounds =
          checkBounds(expression, problem.declarations, sizes, problem.bindings);
      if (!bounds)
        return bounds.error();
    }
  return {};
}

std::vector<int64_t> tilewright::reference::allRows(int64_t queryLength) {
  std::vector<int64_t> rows(static_cast<size_t>(queryLength));
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

std::vector<int64_t> tilewright::reference::rowsToCheck(int64_t queryLength) {
  constexpr int64_t checkedInFull = 1024, chosen = 64;
  if (queryLength <= checkedInFull)
    return allRows(queryLength);
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < chosen; ++i)
    rows.push_back(i * (queryLength - 1) / (chosen - 1));
  return rows;
}

Status tilewright::reference::checkRows(const Problem &problem, std::span<const int64_t> rows) {
  for (int64_t row : rows)
    if (row < 0 || row >= problem.q.shape[2])
      return invalidArgument("row {} is no query; q_len is {}", row, problem.q.shape[2]);
  return {};
}

Result<Output> tilewright::reference::forward(const Problem &problem, std::vector<int64_t> rows,
                                              unsigned threads) {
  if (Status status = checkProblem(problem); !status)
    return status.error();
  if (Status status = checkRows(problem, rows); !status)
    return status.error();
  return computeRows<double>(problem, std::move(rows), std::nullopt, threads);
}
