//===- Evaluate.cpp - Values of an expression -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Expression/Evaluate.h"

#include "lib/Support/Half.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

using namespace tilewright;
using namespace tilewright::expression;

static int64_t wrap(int64_t value) {
  return static_cast<int32_t>(static_cast<uint64_t>(value));
}

static int64_t floorDiv(int64_t a, int64_t b) {
  if (b == 0)
    return 0;
  const int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

static int64_t floorMod(int64_t a, int64_t b) {
  return b == 0 ? 0 : a - floorDiv(a, b) * b;
}

static double minimum(double a, double b) {
  return a < b || std::isnan(a) ? a : b;
}

static double maximum(double a, double b) {
  return a > b || std::isnan(a) ? a : b;
}

Evaluator::Evaluator(const Expression &expression, const Sizes &sizes, const Bindings &bindings,
                     Precision precision)
    : expression(expression), sizes(sizes), bindings(bindings), precision(precision) {
  size_t realCount = 0, integerCount = 0;
  for (const Node &node : expression.nodes()) {
    size_t &count = node.type == Type::Real ? realCount : integerCount;
    slots.push_back(count);
    count += strip;
  }
  realSlots.resize(realCount);
  integerSlots.resize(integerCount);
}

void Evaluator::score(const Row &row, int64_t firstKey, std::span<double> scores) {
  for (size_t done = 0; done < scores.size(); done += strip) {
    const size_t count = std::min(strip, scores.size() - done);
    double *part = scores.data() + done;
    evaluateStrip(row, firstKey + static_cast<int64_t>(done), part, count);
    std::copy_n(reals(expression.root()), count, part);
  }
}

void Evaluator::mask(const Row &row, int64_t firstKey, std::span<uint8_t> visible) {
  for (size_t done = 0; done < visible.size(); done += strip) {
    const size_t count = std::min(strip, visible.size() - done);
    evaluateStrip(row, firstKey + static_cast<int64_t>(done), nullptr, count);
    const int64_t *keep = integers(expression.root());
    for (size_t i = 0; i < count; ++i)
      visible[done + i] &= static_cast<uint8_t>(keep[i]);
  }
}

void Evaluator::evaluateStrip(const Row &row, int64_t firstKey, const double *scores,
                              size_t count) {
  for (size_t id = 0; id < slots.size(); ++id) {
    const Node &node = expression[static_cast<NodeId>(id)];
    const bool isReal = node.type == Type::Real;
    double *real = isReal ? realSlots.data() + slots[id] : nullptr;
    int64_t *integer = isReal ? nullptr : integerSlots.data() + slots[id];
    evaluateNode(node, real, integer, row, firstKey, scores, count);
    if (isReal && precision == Precision::Single)
      for (size_t i = 0; i < count; ++i)
        real[i] = static_cast<float>(real[i]);
  }
}

/// Calls `load(offset)` for the element of each point; `indices` holds one array for each
/// dimension.
template <typename Value, typename Load>
static void loadEach(const TensorView &view, std::span<const int64_t *const> indices, Value *values,
                     size_t count, const Load &load) {
  for (size_t i = 0; i < count; ++i) {
    int64_t offset = 0;
    for (size_t dimension = 0; dimension < indices.size(); ++dimension)
      offset += indices[dimension][i] * view.strides[dimension];
    values[i] = load(offset);
  }
}

void Evaluator::loadElements(const Node &node, double *real, int64_t *integer, size_t count) {
  const TensorView &view = bindings.tensors[node.index];
  std::array<const int64_t *, TensorView::maxRank> arrays{};
  size_t rank = 0;
  for (NodeId operand : expression.operands(node))
    arrays[rank++] = integers(operand);
  const std::span<const int64_t *const> indices(arrays.data(), rank);
  switch (view.dtype) {
  case DType::Bool:
    loadEach(view, indices, integer, count,
             [data = static_cast<const uint8_t *>(view.data)](int64_t at) {
               return data[at] != 0 ? 1 : 0;
             });
    return;
  case DType::U8:
    loadEach(view, indices, integer, count,
             [data = static_cast<const uint8_t *>(view.data)](int64_t at) { return data[at]; });
    return;
  case DType::I32:
    loadEach(view, indices, integer, count,
             [data = static_cast<const int32_t *>(view.data)](int64_t at) { return data[at]; });
    return;
  case DType::I64:
    loadEach(view, indices, integer, count,
             [data = static_cast<const int64_t *>(view.data)](int64_t at) { return data[at]; });
    return;
  default:
    loadEach(view, indices, real, count,
             [&](int64_t at) { return loadAsDouble(view.data, view.dtype, at); });
  }
}

void Evaluator::evaluateNode(const Node &node, double *real, int64_t *integer, const Row &row,
                             int64_t firstKey, const double *scores, size_t count) {
  const std::span<const NodeId> operands = expression.operands(node);
  const auto operandType = [&](size_t i) { return expression[operands[i]].type; };
  const auto fill = [&](double value) {
    if (real)
      std::fill_n(real, count, value);
    else
      std::fill_n(integer, count, static_cast<int64_t>(value));
  };
  const auto mapReal = [&](auto function) {
    const double *x = reals(operands[0]);
    for (size_t i = 0; i < count; ++i)
      real[i] = function(x[i]);
  };
  const auto mapInteger = [&](auto function) {
    const int64_t *x = integers(operands[0]);
    for (size_t i = 0; i < count; ++i)
      integer[i] = function(x[i]);
  };
  const auto zipReal = [&](auto function) {
    const double *x = reals(operands[0]), *y = reals(operands[1]);
    for (size_t i = 0; i < count; ++i)
      real[i] = function(x[i], y[i]);
  };
  const auto zipInteger = [&](auto function) {
    const int64_t *x = integers(operands[0]), *y = integers(operands[1]);
    for (size_t i = 0; i < count; ++i)
      integer[i] = function(x[i], y[i]);
  };
  // One operation for both number types; i32 wraps.
  const auto zip = [&](auto function) {
    if (real)
      zipReal(function);
    else
      zipInteger([&](int64_t x, int64_t y) { return wrap(function(x, y)); });
  };
  const auto compare = [&](auto function) {
    if (operandType(0) != Type::Real)
      return zipInteger(function);
    const double *x = reals(operands[0]), *y = reals(operands[1]);
    for (size_t i = 0; i < count; ++i)
      integer[i] = function(x[i], y[i]);
  };

  switch (node.kind) {
  case Kind::Constant:
    return fill(node.number);
  case Kind::Scalar:
    return fill(bindings.scalars[node.index]);
  case Kind::Element:
    return loadElements(node, real, integer, count);
  case Kind::Variable:
    switch (node.variable) {
    case Variable::S:
      std::copy_n(scores, count, real);
      return;
    case Variable::B:
      return fill(static_cast<double>(row.b));
    case Variable::H:
      return fill(static_cast<double>(row.h));
    case Variable::HKV:
      return fill(static_cast<double>(row.h / (sizes.heads / sizes.kvHeads)));
    case Variable::Q:
      return fill(static_cast<double>(row.q));
    case Variable::K:
      for (size_t i = 0; i < count; ++i)
        integer[i] = firstKey + static_cast<int64_t>(i);
      return;
    case Variable::QLen:
      return fill(static_cast<double>(sizes.queryLength));
    case Variable::KVLen:
      return fill(static_cast<double>(sizes.keyLength));
    }
    return;
  case Kind::ToReal: {
    const int64_t *x = integers(operands[0]);
    for (size_t i = 0; i < count; ++i)
      real[i] = static_cast<double>(x[i]);
    return;
  }
  case Kind::ToI64:
    return mapInteger([](int64_t x) { return x; });
  case Kind::Not:
    return mapInteger([](int64_t x) { return int64_t{x == 0}; });
  case Kind::Negate:
    return real ? mapReal([](double x) { return -x; })
                : mapInteger([](int64_t x) { return wrap(-x); });
  case Kind::Abs:
    return real ? mapReal([](double x) { return std::fabs(x); })
                : mapInteger([](int64_t x) { return wrap(x < 0 ? -x : x); });
  case Kind::Exp:
    return mapReal([](double x) { return std::exp(x); });
  case Kind::Exp2:
    return mapReal([](double x) { return std::exp2(x); });
  case Kind::Log:
    return mapReal([](double x) { return std::log(x); });
  case Kind::Log2:
    return mapReal([](double x) { return std::log2(x); });
  case Kind::Tanh:
    return mapReal([](double x) { return std::tanh(x); });
  case Kind::Sqrt:
    return mapReal([](double x) { return std::sqrt(x); });
  case Kind::Floor:
    return mapReal([](double x) { return std::floor(x); });
  case Kind::Add:
    return zip([](auto x, auto y) { return x + y; });
  case Kind::Subtract:
    return zip([](auto x, auto y) { return x - y; });
  case Kind::Multiply:
    return zip([](auto x, auto y) { return x * y; });
  case Kind::Divide:
    return zipReal([](double x, double y) { return x / y; });
  case Kind::FloorDiv:
    return zipInteger([](int64_t x, int64_t y) { return wrap(floorDiv(x, y)); });
  case Kind::FloorMod:
    return zipInteger(floorMod);
  case Kind::Min:
    return real ? zipReal(minimum)
                : zipInteger([](int64_t x, int64_t y) { return std::min(x, y); });
  case Kind::Max:
    return real ? zipReal(maximum)
                : zipInteger([](int64_t x, int64_t y) { return std::max(x, y); });
  case Kind::Equal:
    return compare([](auto x, auto y) { return x == y; });
  case Kind::NotEqual:
    return compare([](auto x, auto y) { return x != y; });
  case Kind::Less:
    return compare([](auto x, auto y) { return x < y; });
  case Kind::LessEqual:
    return compare([](auto x, auto y) { return x <= y; });
  case Kind::Greater:
    return compare([](auto x, auto y) { return x > y; });
  case Kind::GreaterEqual:
    return compare([](auto x, auto y) { return x >= y; });
  case Kind::And:
    return zipInteger([](int64_t x, int64_t y) { return x & y; });
  case Kind::Or:
    return zipInteger([](int64_t x, int64_t y) { return x | y; });
  case Kind::Select: {
    const int64_t *condition = integers(operands[0]);
    if (real) {
      const double *x = reals(operands[1]), *y = reals(operands[2]);
      for (size_t i = 0; i < count; ++i)
        real[i] = condition[i] ? x[i] : y[i];
    } else {
      const int64_t *x = integers(operands[1]), *y = integers(operands[2]);
      for (size_t i = 0; i < count; ++i)
        integer[i] = condition[i] ? x[i] : y[i];
    }
    return;
  }
  }
}
