//===- Testing.h - Small attention problems for tests -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_TESTS_UNIT_REFERENCE_TESTING_H
#define TILEWRIGHT_TESTS_UNIT_REFERENCE_TESTING_H

#include "lib/Expression/Parse.h"
#include "lib/Expression/Presets.h"
#include "lib/Reference/Reference.h"
#include "lib/Support/Half.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <limits>
#include <random>

namespace tilewright::reference {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// A tensor that owns its elements.
struct Array {
  std::vector<double> storage; // as raw memory, aligned for every dtype
  TensorView view;
};

inline Array makeArray(DType dtype, std::initializer_list<int64_t> shape,
                       const std::function<double(int64_t)> &value) {
  Array array;
  array.view = TensorView(nullptr, dtype, shape);
  const int64_t count = *array.view.elementCount();
  array.storage.resize((static_cast<size_t>(count) * sizeOf(dtype) + 7) / 8);
  array.view.data = array.storage.data();
  for (int64_t i = 0; i < count; ++i)
    if (isFloat(dtype))
      storeFromDouble(array.view.data, dtype, i, value(i));
    else if (dtype == DType::Bool)
      static_cast<uint8_t *>(array.view.data)[i] = value(i) != 0;
    else
      static_cast<int32_t *>(array.view.data)[i] = static_cast<int32_t>(value(i));
  return array;
}

inline std::function<double(int64_t)> constant(double value) {
  return [=](int64_t) { return value; };
}

/// Normally distributed, the same for the same seed.
inline std::function<double(int64_t)> noise(uint32_t seed) {
  return [random = std::mt19937(seed),
          normal = std::normal_distribution<double>()](int64_t) mutable { return normal(random); };
}

/// A problem that owns its tensors.
class Case {
public:
  struct Shape {
    int64_t queries = 1, keys = 1, d = 4, dv = 1;
    int64_t batch = 1, heads = 1, kvHeads = 1;
    DType dtype = DType::F32;
  };
  using Values = std::function<double(int64_t)>;

  Case(Shape shape, const Values &q, const Values &k, const Values &v) {
    problem.q = own(makeArray(shape.dtype, {shape.batch, shape.heads, shape.queries, shape.d}, q));
    problem.k = own(makeArray(shape.dtype, {shape.batch, shape.kvHeads, shape.keys, shape.d}, k));
    problem.v = own(makeArray(shape.dtype, {shape.batch, shape.kvHeads, shape.keys, shape.dv}, v));
  }

  TensorView own(Array array) {
    arrays.push_back(std::move(array));
    return arrays.back().view;
  }

  Case &mask(std::string_view text) {
    problem.masks.push_back(parsed(text, expression::Role::Mask));
    return *this;
  }
  Case &score(std::string_view text) {
    problem.scores.push_back(parsed(text, expression::Role::Score));
    return *this;
  }
  Case &scalar(std::string_view name, expression::Type type, double value) {
    EXPECT_TRUE(problem.declarations.addScalar(name, type));
    problem.bindings.scalars.push_back(value);
    return *this;
  }
  Case &tensor(std::string_view name, Array array) {
    EXPECT_TRUE(problem.declarations.addTensor(name, array.view.dtype, array.view.rank));
    problem.bindings.tensors.push_back(own(std::move(array)));
    return *this;
  }
  Case &preset(std::string_view name, double value = 0) {
    const expression::Preset &preset = **expression::findPreset(name);
    for (const expression::PresetScalar &parameter : preset.scalars)
      scalar(parameter.name, parameter.type, value);
    return preset.role == expression::Role::Mask ? mask(preset.text) : score(preset.text);
  }
  Case &scale(double value) {
    problem.scale = value;
    return *this;
  }

  Output run(unsigned threads = 1) const {
    Result<Output> output = forward(problem, allRows(problem.q.shape[2]), threads);
    if (!output) {
      ADD_FAILURE() << output.error().message();
      return {};
    }
    return *std::move(output);
  }

  Problem problem;

private:
  expression::Expression parsed(std::string_view text, expression::Role role) {
    Result<expression::Expression> result = parse(text, problem.declarations, role);
    EXPECT_TRUE(result) << result.error().message();
    return *std::move(result);
  }

  std::deque<Array> arrays;
};

} // namespace tilewright::reference

#endif // TILEWRIGHT_TESTS_UNIT_REFERENCE_TESTING_H
