//===- Rows.cpp - Rows of attention in one number type --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Reference/Rows.h"

#include "lib/Expression/Evaluate.h"
#include "lib/Support/Half.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <thread>

using namespace tilewright;
using namespace tilewright::reference;
using expression::Evaluator;
using expression::Precision;

static double rounded(double value, DType dtype) {
  switch (dtype) {
  case DType::F32:
    return static_cast<float>(value);
  case DType::F16:
    return f16ToFloat(doubleToF16(value));
  case DType::BF16:
    return bf16ToFloat(doubleToBF16(value));
  default:
    return value;
  }
}

namespace {
/// Rows of one head that share the conversion of its keys and values.
constexpr size_t groupSize = 16;
/// Keys converted at a time.
constexpr int64_t stripSize = 64;

/// What one thread needs: scratch of O(groupSize * kv_len) and the evaluators.
template <typename Real> class Worker {
public:
  Worker(const Problem &problem, const std::optional<Rounding> &rounding, Output &output)
      : problem(problem), rounding(rounding), output(output), d(problem.q.shape[3]),
        dv(problem.v.shape[3]), keyCount(problem.k.shape[2]),
        scale(static_cast<Real>(
            problem.scale.value_or(1 / std::sqrt(static_cast<double>(problem.q.shape[3]))))) {
    const expression::Sizes sizes = sizesOf(problem);
    // A score function is part of the arithmetic whose error is measured. A mask is a decision: it
    // is taken in the problem's own reals, or a comparison could turn out the other way.
    const Precision ofScores = sizeof(Real) == 4 ? Precision::Single : Precision::Double;
    const Precision ofMasks = problem.q.dtype == DType::F64 ? Precision::Double : Precision::Single;
    for (const expression::Expression &score : problem.scores)
      scores.emplace_back(score, sizes, problem.bindings, ofScores);
    for (const expression::Expression &mask : problem.masks)
      masks.emplace_back(mask, sizes, problem.bindings, ofMasks);
    const size_t keys = static_cast<size_t>(keyCount);
    queries.resize(groupSize * static_cast<size_t>(d));
    strip.resize(static_cast<size_t>(stripSize * std::max(d, dv)));
    weights.resize(groupSize * keys);
    visible.resize(groupSize * keys);
    sums.resize(groupSize * static_cast<size_t>(dv));
  }

  /// Computes rows [first, first + count) of the chosen ones, for batch b and query head h.
  void run(int64_t b, int64_t h, size_t first, size_t count) {
    const int64_t heads = problem.q.shape[1];
    const int64_t hkv = h / (heads / problem.k.shape[1]);
    dotProducts(b, h, hkv, first, count);
    for (size_t r = 0; r < count; ++r)
      softmax(b, h, first + r, r);
    weightedSums(b, hkv, count);
    const size_t rowCount = output.rows.size();
    for (size_t r = 0; r < count; ++r)
      store(static_cast<size_t>(b * heads + h) * rowCount + first + r, r);
  }

private:
  static Real load(const TensorView &view, int64_t b, int64_t h, int64_t t, int64_t c) {
    return static_cast<Real>(loadAsDouble(view.data, view.dtype,
                                          b * view.strides[0] + h * view.strides[1] +
                                              t * view.strides[2] + c * view.strides[3]));
  }

  Real *rowWeights(size_t r) { return weights.data() + r * static_cast<size_t>(keyCount); }
  uint8_t *rowVisible(size_t r) { return visible.data() + r * static_cast<size_t>(keyCount); }

  void dotProducts(int64_t b, int64_t h, int64_t hkv, size_t first, size_t count) {
    for (size_t r = 0; r < count; ++r)
      for (int64_t c = 0; c < d; ++c)
        queries[r * d + c] = load(problem.q, b, h, output.rows[first + r], c);
    for (int64_t begin = 0; begin < keyCount; begin += stripSize) {
      const int64_t keys = std::min(stripSize, keyCount - begin);
      // Transposed, so that the inner loop runs over independent sums.
      for (int64_t j = 0; j < keys; ++j)
        for (int64_t c = 0; c < d; ++c)
          strip[c * stripSize + j] = load(problem.k, b, hkv, begin + j, c);
      for (size_t r = 0; r < count; ++r) {
        Real *dots = rowWeights(r) + begin;
        std::fill_n(dots, keys, Real(0));
        for (int64_t c = 0; c < d; ++c) {
          const Real query = queries[r * d + c];
          const Real *key = strip.data() + c * stripSize;
          for (int64_t j = 0; j < keys; ++j)
            dots[j] += query * key[j];
        }
      }
    }
  }

  /// Turns dot products into weights exp(score - maximum), 0 where hidden.
  void softmax(int64_t b, int64_t h, size_t chosen, size_t r) {
    Real *row = rowWeights(r);
    uint8_t *see = rowVisible(r);
    const size_t keys = static_cast<size_t>(keyCount);
    const expression::Row place = {b, h, output.rows[chosen]};

    evaluated.assign(row, row + keys);
    for (double &score : evaluated)
      score = static_cast<Real>(score) * scale;
    for (Evaluator &score : scores)
      score.score(place, 0, evaluated);
    std::fill_n(see, keys, uint8_t{1});
    for (Evaluator &mask : masks)
      mask.mask(place, 0, {see, keys});

    constexpr double infinity = std::numeric_limits<double>::infinity();
    bool undefined = false;
    double maximum = -infinity, largest = 0;
    for (size_t j = 0; j < keys; ++j) {
      const double score = evaluated[j];
      see[j] &= score != -infinity;
      if (!see[j])
        continue;
      undefined |= std::isnan(score) || score == infinity;
      maximum = std::max(maximum, score);
      largest = std::max(largest, std::fabs(score));
    }
    Real sum = 0;
    for (size_t j = 0; j < keys; ++j) {
      const Real weight =
          see[j] ? std::exp(static_cast<Real>(evaluated[j]) - static_cast<Real>(maximum)) : Real(0);
      sum += weight;
      row[j] = rounding ? static_cast<Real>(rounded(weight, rounding->weights)) : weight;
    }
    state[r] = {undefined, static_cast<Real>(maximum), sum, largest};
  }

  void weightedSums(int64_t b, int64_t hkv, size_t count) {
    std::ranges::fill(sums, Real(0));
    for (int64_t begin = 0; begin < keyCount; begin += stripSize) {
      const int64_t keys = std::min(stripSize, keyCount - begin);
      for (int64_t j = 0; j < keys; ++j)
        for (int64_t c = 0; c < dv; ++c)
          strip[j * dv + c] = load(problem.v, b, hkv, begin + j, c);
      for (size_t r = 0; r < count; ++r) {
        const Real *row = rowWeights(r) + begin;
        const uint8_t *see = rowVisible(r) + begin;
        Real *sum = sums.data() + r * static_cast<size_t>(dv);
        for (int64_t j = 0; j < keys; ++j) {
          if (!see[j])
            continue; // A hidden value is not read: it may be NaN.
          const Real weight = row[j];
          const Real *value = strip.data() + j * dv;
          for (int64_t c = 0; c < dv; ++c)
            sum[c] += weight * value[c];
        }
      }
    }
  }

  void store(size_t place, size_t r) {
    const RowState &row = state[r];
    constexpr double infinity = std::numeric_limits<double>::infinity();
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    const bool empty = row.sum == 0 && !row.undefined;
    output.lse[place] = row.undefined ? nan : empty ? -infinity : row.maximum + std::log(row.sum);
    output.maxScore[place] = row.largest;
    const Real *sum = sums.data() + r * static_cast<size_t>(dv);
    double *o = output.o.data() + place * static_cast<size_t>(dv);
    for (int64_t c = 0; c < dv; ++c) {
      const double value = row.undefined ? nan : empty ? 0 : sum[c] / row.sum;
      o[c] = rounding ? rounded(value, rounding->output) : value;
    }
  }

  struct RowState {
    bool undefined; // a visible score is NaN or +inf
    Real maximum;
    Real sum; // 0 only without a visible key: the largest weight is 1
    double largest;
  };

  const Problem &problem;
  const std::optional<Rounding> &rounding;
  Output &output;
  const int64_t d, dv, keyCount;
  const Real scale;
  std::vector<Evaluator> scores, masks;
  std::vector<Real> queries, strip, weights, sums;
  std::vector<uint8_t> visible;
  std::vector<double> evaluated;
  RowState state[groupSize];
};
} // namespace

template <typename Real>
Output tilewright::reference::computeRows(const Problem &problem, std::vector<int64_t> rows,
                                          const std::optional<Rounding> &rounding,
                                          unsigned threads) {
  const size_t batch = static_cast<size_t>(problem.q.shape[0]);
  const size_t heads = static_cast<size_t>(problem.q.shape[1]);
  const size_t count = batch * heads * rows.size();
  Output output;
  output.rows = std::move(rows);
  output.o.resize(count * static_cast<size_t>(problem.v.shape[3]));
  output.lse.resize(count);
  output.maxScore.resize(count);
  if (count == 0)
    return output;

  const size_t groups = (output.rows.size() + groupSize - 1) / groupSize;
  const size_t tasks = batch * heads * groups;
  std::atomic<size_t> next = 0;
  // Each task writes its own rows, so the result does not depend on who takes it.
  const auto work = [&] {
    Worker<Real> worker(problem, rounding, output);
    for (size_t task = next++; task < tasks; task = next++) {
      const size_t first = task % groups * groupSize;
      const size_t head = task / groups;
      worker.run(static_cast<int64_t>(head / heads), static_cast<int64_t>(head % heads), first,
                 std::min(groupSize, output.rows.size() - first));
    }
  };
  std::vector<std::jthread> helpers;
  for (size_t i = 1; i < std::min<size_t>(threads, tasks); ++i)
    helpers.emplace_back(work);
  work();
  helpers.clear();
  return output;
}

template Output tilewright::reference::computeRows<double>(const Problem &, std::vector<int64_t>,
                                                           const std::optional<Rounding> &,
                                                           unsigned);
template Output tilewright::reference::computeRows<float>(const Problem &, std::vector<int64_t>,
                                                          const std::optional<Rounding> &,
                                                          unsigned);
