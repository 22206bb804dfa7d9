//===- Reference.h - Attention in f64, the source of right values -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   score(q, k)  = masks(score functions(scale * <Q[q], K[k]>))
//   LSE[q]       = ln(sum over visible k of exp(score(q, k)))
//   O[q]         = sum over visible k of exp(score(q, k) - LSE[q]) * V[k]
//
// All in f64, key by key, with nothing shared with the compiler but the tree of
// the expressions. docs/semantics.md states the rules for rows without visible
// keys, infinities and NaN.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_LIB_REFERENCE_REFERENCE_H
#define TILEWRIGHT_LIB_REFERENCE_REFERENCE_H

#include "lib/Expression/Expression.h"

namespace tilewright::reference {

/// One attention problem with its inputs. The views and what they show are not copied.
struct Problem {
  /// [b, h, t, d] with any strides: q [B, Hq, Tq, d], k [B, Hkv, Tk, d], v [B, Hkv, Tk, dv]; one
  /// floating dtype; Hq a multiple of Hkv. Query head h reads kv head h / (Hq / Hkv).
  TensorView q, k, v;
  /// 1/sqrt(d) if not given; zero and negative are legal.
  std::optional<double> scale;
  /// Score functions in order of application; masks are and-ed.
  std::vector<expression::Expression> scores, masks;
  expression::Declarations declarations;
  expression::Bindings bindings;
};

/// Results for the chosen rows of every batch and head, row-major.
struct Output {
  std::vector<int64_t> rows;    // the queries, as given
  std::vector<double> o;        // [B, Hq, rows, dv]
  std::vector<double> lse;      // [B, Hq, rows], natural logarithm
  std::vector<double> maxScore; // [B, Hq, rows]: largest |score| of a visible key, 0 if none
};

/// Ranks, dtypes, extents, head counts, bindings, and every expression's bounds; the message names
/// the tensor and the values. forward and baseline call it; a caller may want it first.
Status checkProblem(const Problem &problem);

expression::Sizes sizesOf(const Problem &problem);

/// All queries from 0 on, and the rows that stand for all in a check of a long problem: every query
/// up to 1024 of them, beyond that 64 spread evenly with the first and the last among them.
std::vector<int64_t> allRows(int64_t queryLength);
std::vector<int64_t> rowsToCheck(int64_t queryLength);

/// Computes `rows` (each within [0, Tq)) on `threads` threads; the result does not depend on how
/// many. Memory beyond inputs and results is O(Tk) a thread.
Result<Output> forward(const Problem &problem, std::vector<int64_t> rows, unsigned threads);

} // namespace tilewright::reference

#endif // TILEWRIGHT_LIB_REFERENCE_REFERENCE_H
