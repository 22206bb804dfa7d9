//===- Evaluate.h - Values of an expression ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluates one row of scores at a time: (b, h, q) fixed, consecutive keys. Each
// node is computed for a strip of keys before the next one, so that the cost of
// choosing what to do is paid once a strip.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_LIB_EXPRESSION_EVALUATE_H
#define TILEWRIGHT_LIB_EXPRESSION_EVALUATE_H

#include "lib/Expression/Expression.h"

namespace tilewright::expression {

/// How reals are computed. Single rounds each result to f32, which gives exactly what f32
/// arithmetic gives (functions such as exp are rounded from f64).
enum class Precision : uint8_t { Double, Single };

/// The place of a row of scores; hkv is h / (heads / kvHeads).
struct Row {
  int64_t b = 0;
  int64_t h = 0;
  int64_t q = 0;
};

/// Holds scratch memory: one evaluator for each thread. Precondition: checkBindings and checkBounds
/// accept the bindings, so that no index leaves its tensor. Keeps references to the expression and
/// the bindings.
class Evaluator {
public:
  Evaluator(const Expression &expression, const Sizes &sizes, const Bindings &bindings,
            Precision precision = Precision::Double);

  /// For a Score: replaces scores[i], the score of key firstKey + i, by the new one.
  void score(const Row &row, int64_t firstKey, std::span<double> scores);

  /// For a Mask: clears visible[i] where key firstKey + i is hidden and leaves the rest, so that
  /// masks in sequence are and-ed.
  void mask(const Row &row, int64_t firstKey, std::span<uint8_t> visible);

private:
  static constexpr size_t strip = 64;

  void evaluateStrip(const Row &row, int64_t firstKey, const double *scores, size_t count);
  void evaluateNode(const Node &node, double *real, int64_t *integer, const Row &row,
                    int64_t firstKey, const double *scores, size_t count);
  void loadElements(const Node &node, double *real, int64_t *integer, size_t count);
  const double *reals(NodeId id) const { return realSlots.data() + slots[id]; }
  const int64_t *integers(NodeId id) const { return integerSlots.data() + slots[id]; }

  const Expression &expression;
  const Sizes sizes;
  const Bindings &bindings;
  Precision precision;
  std::vector<size_t> slots; // of each node, in the array of its type
  std::vector<double> realSlots;
  std::vector<int64_t> integerSlots; // I1, I32 and I64, sign-extended
};

} // namespace tilewright::expression

#endif // TILEWRIGHT_LIB_EXPRESSION_EVALUATE_H
