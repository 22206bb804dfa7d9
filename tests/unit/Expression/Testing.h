//===- Testing.h - Shorthand for tests of expressions -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_TESTS_UNIT_EXPRESSION_TESTING_H
#define TILEWRIGHT_TESTS_UNIT_EXPRESSION_TESTING_H

#include "lib/Expression/Bounds.h"
#include "lib/Expression/Evaluate.h"
#include "lib/Expression/Parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilewright::expression {

/// A problem's names and values, declared and bound in one step.
struct Names {
  Declarations declarations;
  Bindings bindings;

  Names &scalar(std::string_view name, int32_t value) { return add(name, Type::I32, value); }
  Names &scalar(std::string_view name, double value) { return add(name, Type::Real, value); }

  Names &tensor(std::string_view name, const TensorView &view) {
    Result<uint32_t> index = declarations.addTensor(name, view.dtype, view.rank);
    EXPECT_TRUE(index) << index.error().message();
    bindings.tensors.push_back(view);
    return *this;
  }

private:
  Names &add(std::string_view name, Type type, double value) {
    Result<uint32_t> index = declarations.addScalar(name, type);
    EXPECT_TRUE(index) << index.error().message();
    bindings.scalars.push_back(value);
    return *this;
  }
};

inline Expression parsed(std::string_view text, const Declarations &declarations, Role role) {
  Result<Expression> expression = parse(text, declarations, role);
  if (!expression) {
    ADD_FAILURE() << text << ": " << expression.error().message();
    return *parse("true", declarations, Role::Mask);
  }
  return *std::move(expression);
}

/// The error of text that must not parse.
inline std::string refusal(std::string_view text, Role role = Role::Mask,
                           const Declarations &declarations = {}) {
  Result<Expression> expression = parse(text, declarations, role);
  EXPECT_FALSE(expression) << text.substr(0, 200) << " was accepted";
  return expression ? "" : expression.error().message();
}

struct Place {
  int64_t b = 0, h = 0, q = 0, k = 0;
  double s = 0;
};

constexpr Sizes testSizes = {
    .batch = 2, .heads = 6, .kvHeads = 2, .queryLength = 100, .keyLength = 200};

inline double score(std::string_view text, Place place = {}, const Names &names = {},
                    Precision precision = Precision::Double) {
  const Expression expression = parsed(text, names.declarations, Role::Score);
  if (expression.role() != Role::Score)
    return 0;
  double result = place.s;
  Evaluator(expression, testSizes, names.bindings, precision)
      .score({place.b, place.h, place.q}, place.k, {&result, 1});
  return result;
}

inline bool visible(std::string_view text, Place place = {}, const Names &names = {}) {
  const Expression expression = parsed(text, names.declarations, Role::Mask);
  uint8_t result = 1;
  Evaluator(expression, testSizes, names.bindings)
      .mask({place.b, place.h, place.q}, place.k, {&result, 1});
  return result != 0;
}

} // namespace tilewright::expression

#endif // TILEWRIGHT_TESTS_UNIT_EXPRESSION_TESTING_H
