//===- Compare.cpp - Is a computed result right? --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Reference/Compare.h"

#include "lib/Reference/Baseline.h"
#include "lib/Support/Half.h"
#include "lib/Support/MakeError.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <ranges>

using namespace tilewright;
using namespace tilewright::reference;

/// Both finite, or the same infinity, or both NaN.
static bool sameKind(double computed, double right) {
  if (std::isfinite(right))
    return std::isfinite(computed);
  return std::isnan(right) ? std::isnan(computed) : computed == right;
}

Errors tilewright::reference::measure(std::span<const double> computed,
                                      std::span<const double> right) {
  assert(computed.size() == right.size() && "arrays of different lengths");
  Errors errors;
  double squares = 0, rightSquares = 0;
  for (size_t i = 0; i < right.size(); ++i) {
    errors.misplaced += !sameKind(computed[i], right[i]);
    if (!std::isfinite(computed[i]) || !std::isfinite(right[i]))
      continue;
    const double difference = std::fabs(computed[i] - right[i]);
    errors.maxAbs = std::max(errors.maxAbs, difference);
    squares += difference * difference;
    rightSquares += right[i] * right[i];
    ++errors.count;
  }
  if (squares > 0) {
    errors.rms = std::sqrt(squares / static_cast<double>(errors.count));
    errors.relative = rightSquares > 0 ? std::sqrt(squares / rightSquares)
                                       : std::numeric_limits<double>::infinity();
  }
  return errors;
}

static double unitOf(DType dtype) {
  switch (dtype) {
  case DType::BF16:
    return 1.25 * 0x1p-9;
  case DType::F16:
    return 1.25 * 0x1p-12;
  case DType::F32:
    return 4 * 0x1p-24;
  default:
    return 1e-12;
  }
}

/// Calls `function(offset)` for each element of a view of any rank, in row-major order of indices
/// [b, h, rows[i], ...], so that it meets the elements in the order of an Output.
template <typename Rows, typename Function>
static void forEachElement(const TensorView &view, const Rows &rows, const Function &function) {
  const int64_t width = view.rank == 4 ? view.shape[3] : 1;
  for (int64_t b = 0; b < view.shape[0]; ++b)
    for (int64_t h = 0; h < view.shape[1]; ++h)
      for (int64_t row : rows)
        for (int64_t c = 0; c < width; ++c)
          function(b * view.strides[0] + h * view.strides[1] + row * view.strides[2] +
                   c * view.strides[3]);
}

static std::vector<double> gather(const TensorView &view, std::span<const int64_t> rows) {
  std::vector<double> values;
  forEachElement(view, rows, [&](int64_t offset) {
    values.push_back(loadAsDouble(view.data, view.dtype, offset));
  });
  return values;
}

static double largestFinite(const TensorView &view) {
  double largest = 0;
  forEachElement(view, std::views::iota(int64_t{0}, view.shape[2]), [&](int64_t offset) {
    const double value = std::fabs(loadAsDouble(view.data, view.dtype, offset));
    if (std::isfinite(value))
      largest = std::max(largest, value);
  });
  return largest;
}

static Status checkShape(std::string_view name, const TensorView &view,
                         std::initializer_list<int64_t> wanted) {
  if (!std::ranges::equal(view.sizes(), wanted))
    return invalidArgument("{} is {}; it must be [{}]", name, view.describe(),
                           fmt::join(wanted, ", "));
  if (!isFloat(view.dtype))
    return invalidArgument("{} is {}; it must be of a floating dtype", name, view.describe());
  return {};
}

Result<Comparison> tilewright::reference::compare(const Problem &problem, const Output &reference,
                                                  const TensorView &o,
                                                  const std::optional<TensorView> &lse,
                                                  unsigned threads) {
  if (Status status = checkProblem(problem); !status)
    return status.error();
  const int64_t batch = problem.q.shape[0], heads = problem.q.shape[1];
  const int64_t queries = problem.q.shape[2];
  if (Status status = checkShape("o", o, {batch, heads, queries, problem.v.shape[3]}); !status)
    return status.error();
  if (lse)
    if (Status status = checkShape("lse", *lse, {batch, heads, queries}); !status)
      return status.error();

  Comparison result;
  const bool isDouble = problem.q.dtype == DType::F64;
  const double unit = unitOf(problem.q.dtype);
  if (!isDouble) {
    Result<Output> yardstick = baseline(problem, reference.rows, o.dtype, threads);
    if (!yardstick)
      return yardstick.error();
    result.baseline = measure(yardstick->o, reference.o);
  }
  result.o = measure(gather(o, reference.rows), reference.o);
  const double spread =
      std::exp(4 / std::sqrt(static_cast<double>(std::max<int64_t>(1, result.o.count))));
  result.relativeLimit = std::max(1.5 * spread * result.baseline.relative, unit);
  result.maxAbsLimit = 4 * std::max(result.baseline.maxAbs, unit * largestFinite(problem.v));

  if (lse) {
    const std::vector<double> computed = gather(*lse, reference.rows);
    result.lse = measure(computed, reference.lse);
    const double perScore = isDouble ? 1e-12 : 1e-5;
    for (size_t i = 0; i < computed.size(); ++i)
      if (std::isfinite(computed[i]) && std::isfinite(reference.lse[i]))
        result.lseExcess =
            std::max(result.lseExcess, std::fabs(computed[i] - reference.lse[i]) /
                                           (perScore * std::max(1.0, reference.maxScore[i])));
  }
  result.passed = result.o.misplaced == 0 && result.o.relative <= result.relativeLimit &&
                  result.o.maxAbs <= result.maxAbsLimit && result.lse.misplaced == 0 &&
                  result.lseExcess <= 1;
  return result;
}

std::string Comparison::describe() const {
  std::string text = fmt::format(
      "o: max abs {:.3g} (limit {:.3g}), rms {:.3g}, relative {:.3g} (limit {:.3g}, baseline "
      "{:.3g}); lse: max abs {:.3g} ({:.3g} of its limit)",
      o.maxAbs, maxAbsLimit, o.rms, o.relative, relativeLimit, baseline.relative, lse.maxAbs,
      lseExcess);
  if (o.misplaced != 0)
    text += fmt::format("; FAILED: {} elements of o are NaN, infinite or finite where the "
                        "reference is not",
                        o.misplaced);
  else if (o.relative > relativeLimit)
    text += "; FAILED: the relative error of o";
  else if (o.maxAbs > maxAbsLimit)
    text += "; FAILED: the largest error of o";
  else if (lse.misplaced != 0)
    text += fmt::format("; FAILED: {} elements of lse are NaN, infinite or finite where the "
                        "reference is not",
                        lse.misplaced);
  else if (lseExcess > 1)
    text += "; FAILED: the largest error of lse";
  return text;
}
