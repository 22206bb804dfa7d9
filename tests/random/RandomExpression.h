//===- RandomExpression.h - Masks and scores from a grammar -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_TESTS_RANDOM_RANDOMEXPRESSION_H
#define TILEWRIGHT_TESTS_RANDOM_RANDOMEXPRESSION_H

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace tilewright::random_test {

enum class Sort { Condition, Integer, Real };

/// A tree of the grammar. `pattern` is the text with `$` for each child in turn.
struct RandomExpression {
  Sort sort = Sort::Condition;
  std::string pattern;
  std::vector<RandomExpression> children;

  std::string text() const;

  /// Every expression that has one subtree fewer: a node replaced by a descendant of its sort.
  std::vector<RandomExpression> simpler() const;
};

/// Expressions over the built-in names, the scalars `n` (i32, 1 to 40) and `x` (real, -1 to 1), and
/// the tensors `slope` (f32 [heads]), `table` (f32 [64]), `keep` (bool [queries, keys]) and `ids`
/// (i32 [keys]). Conditions compare integers, and reals only with what no rounding of theirs can
/// reach, so that f32 and f64 decide alike; reals stay within about +-20.
RandomExpression randomMask(std::mt19937_64 &random, int depth);
RandomExpression randomScore(std::mt19937_64 &random, int depth);

} // namespace tilewright::random_test

#endif // TILEWRIGHT_TESTS_RANDOM_RANDOMEXPRESSION_H
