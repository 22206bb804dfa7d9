//===- Bounds.h - What integers an expression can take ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Interval analysis for one launch. Positions range over the launch's extents,
// lengths and scalars are single values, elements of tensors take any value of
// their dtype. It decides, before anything runs, that no index leaves its tensor
// and that no integer arithmetic over known ranges overflows.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_LIB_EXPRESSION_BOUNDS_H
#define TILEWRIGHT_LIB_EXPRESSION_BOUNDS_H

#include "lib/Expression/Expression.h"

namespace tilewright::expression {

/// The integers from low to high, both included.
struct Interval {
  int64_t low = 0;
  int64_t high = 0;

  bool operator==(const Interval &) const = default;
};

struct Bounds {
  /// One for each node; an I1 is within [0, 1], a Real has none and [0, 0] in its place.
  std::vector<Interval> intervals;
  /// What the user should know although it is legal: an integer division whose divisor can be 0.
  std::vector<std::string> remarks;
};

/// Refused, with the sub-expression, its interval and the limit:
/// - integer arithmetic over positions, lengths and scalars that could leave 32 bits. Where a
/// tensor
///   is read it wraps instead, and its interval becomes all of i32;
/// - an index of a tensor that is not provably within its extent.
/// Of the tensors only dtypes and shapes are read. Where `sizes.empty()`, nothing is evaluated, so
/// nothing is refused and there are no intervals. Calls checkSizes and checkBindings first.
Result<Bounds> checkBounds(const Expression &expression, const Declarations &declarations,
                           const Sizes &sizes, const Bindings &bindings);

/// What the analysis of an expression fills in, an entry for each of its nodes.
struct BoundsStorage {
  std::span<Interval> intervals;
  std::span<bool> readsTensor;
};

/// The same check in the caller's storage. Allocates nothing but the message of an error.
Status checkBounds(const Expression &expression, const Declarations &declarations,
                   const Sizes &sizes, const BindingsView &bindings, BoundsStorage storage);

} // namespace tilewright::expression

#endif // TILEWRIGHT_LIB_EXPRESSION_BOUNDS_H
