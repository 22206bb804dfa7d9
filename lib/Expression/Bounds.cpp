//===- Bounds.cpp - What integers an expression can take ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands of arithmetic are within 32 bits, or the analysis has stopped, so no
// bound computed here leaves 64.
//
//===----------------------------------------------------------------------===//

#include "lib/Expression/Bounds.h"

#include "lib/Expression/Parse.h"
#include "lib/Support/MakeError.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <memory>
#include <optional>

using namespace tilewright;
using namespace tilewright::expression;

static constexpr Interval allI32 = {std::numeric_limits<int32_t>::min(),
                                    std::numeric_limits<int32_t>::max()};
static constexpr Interval allI64 = {std::numeric_limits<int64_t>::min(),
                                    std::numeric_limits<int64_t>::max()};
static constexpr Interval eitherWay = {0, 1};

static Interval point(int64_t value) {
  return {value, value};
}

static bool contains(Interval outer, Interval inner) {
  return outer.low <= inner.low && inner.high <= outer.high;
}

static Interval hull(Interval a, Interval b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

/// The interval of a function that is monotonic in each operand: that of its corners.
template <typename Function>
static Interval corners(Interval a, Interval b, const Function &function) {
  const auto [low, high] = std::minmax({function(a.low, b.low), function(a.low, b.high),
                                        function(a.high, b.low), function(a.high, b.high)});
  return {low, high};
}

static int64_t floorDivNonzero(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

static Interval floorMod(Interval a, Interval divisor) {
  // By one positive divisor, within one period: the remainders follow each other.
  if (divisor.low == divisor.high && divisor.low > 0) {
    const int64_t period = floorDivNonzero(a.low, divisor.low);
    if (period == floorDivNonzero(a.high, divisor.low))
      return {a.low - period * divisor.low, a.high - period * divisor.low};
  }
  // Otherwise from 0 to the divisor, without it.
  return {std::min<int64_t>(divisor.low + 1, 0), std::max<int64_t>(divisor.high - 1, 0)};
}

static Interval floorDiv(Interval a, Interval divisor) {
  std::optional<Interval> result;
  const auto add = [&](Interval part) { result = result ? hull(*result, part) : part; };
  if (contains(divisor, point(0)))
    add(point(0));
  if (divisor.high > 0)
    add(corners(a, {std::max<int64_t>(divisor.low, 1), divisor.high}, floorDivNonzero));
  if (divisor.low < 0)
    add(corners(a, {divisor.low, std::min<int64_t>(divisor.high, -1)}, floorDivNonzero));
  return *result;
}

static Interval equal(Interval a, Interval b) {
  if (a.high < b.low || b.high < a.low)
    return point(0);
  return a.low == a.high && a == b ? point(1) : eitherWay;
}

static Interval less(Interval a, Interval b) {
  if (a.high < b.low)
    return point(1);
  return a.low >= b.high ? point(0) : eitherWay;
}

static Interval negated(Interval condition) {
  return {1 - condition.high, 1 - condition.low};
}

namespace {
class Analysis {
public:
  Analysis(const Expression &expression, const Declarations &declarations, const Sizes &sizes,
           const BindingsView &bindings, BoundsStorage storage)
      : expression(expression), declarations(declarations), sizes(sizes), bindings(bindings),
        storage(storage) {}

  /// Remarks where there are `remarks` to add to.
  Status run(std::vector<std::string> *remarks);

private:
  Interval evaluate(const Node &node) const;
  Interval variable(Variable variable) const;
  Interval element(DType dtype) const;
  Status checkIndices(const Node &node) const;
  void noteDivision(const Node &node, NodeId id, std::vector<std::string> &remarks) const;

  Interval operand(const Node &node, size_t i) const {
    return storage.intervals[expression.operands(node)[i]];
  }
  std::string quoted(NodeId id) const { return quote(expression, declarations, id); }

  const Expression &expression;
  const Declarations &declarations;
  const Sizes &sizes;
  const BindingsView &bindings;
  const BoundsStorage storage;
};
} // namespace

Interval Analysis::variable(Variable variable) const {
  switch (variable) {
  case Variable::S:
    return {};
  case Variable::B:
    return {0, sizes.batch - 1};
  case Variable::H:
    return {0, sizes.heads - 1};
  case Variable::HKV:
    return {0, sizes.kvHeads - 1};
  case Variable::Q:
    return {0, sizes.queryLength - 1};
  case Variable::K:
    return {0, sizes.keyLength - 1};
  case Variable::QLen:
    return point(sizes.queryLength);
  case Variable::KVLen:
    return point(sizes.keyLength);
  }
  return {};
}

Interval Analysis::element(DType dtype) const {
  switch (dtype) {
  case DType::Bool:
    return eitherWay;
  case DType::U8:
    return {0, 255};
  case DType::I32:
    return allI32;
  case DType::I64:
    return allI64;
  default:
    return {};
  }
}

/// The interval before any wrapping; a Real has none.
Interval Analysis::evaluate(const Node &node) const {
  const std::span<const NodeId> operands = expression.operands(node);
  const bool comparesReals =
      operands.size() == 2 && expression[operands[0]].type == Type::Real && node.type == Type::I1;
  if (comparesReals)
    return eitherWay;
  if (node.type == Type::Real)
    return {};
  const Interval a = operands.size() > 0 ? operand(node, 0) : Interval();
  const Interval b = operands.size() > 1 ? operand(node, 1) : Interval();
  switch (node.kind) {
  case Kind::Constant:
    return point(static_cast<int64_t>(node.number));
  case Kind::Variable:
    return variable(node.variable);
  case Kind::Scalar:
    return point(static_cast<int64_t>(bindings.scalars[node.index]));
  case Kind::Element:
    return element(declarations.tensors()[node.index].dtype);
  case Kind::ToI64:
    return a;
  case Kind::Not:
    return negated(a);
  case Kind::Negate:
    return {-a.high, -a.low};
  case Kind::Abs:
    return {std::max<int64_t>({a.low, -a.high, 0}), std::max(-a.low, a.high)};
  case Kind::Add:
    return {a.low + b.low, a.high + b.high};
  case Kind::Subtract:
    return {a.low - b.high, a.high - b.low};
  case Kind::Multiply:
    return corners(a, b, std::multiplies<int64_t>());
  case Kind::FloorDiv:
    return floorDiv(a, b);
  case Kind::FloorMod:
    return floorMod(a, b);
  case Kind::Min:
    return {std::min(a.low, b.low), std::min(a.high, b.high)};
  case Kind::Max:
    return {std::max(a.low, b.low), std::max(a.high, b.high)};
  case Kind::Equal:
    return equal(a, b);
  case Kind::NotEqual:
    return negated(equal(a, b));
  case Kind::Less:
    return less(a, b);
  case Kind::LessEqual:
    return negated(less(b, a));
  case Kind::Greater:
    return less(b, a);
  case Kind::GreaterEqual:
    return negated(less(a, b));
  case Kind::And:
    return {std::min(a.low, b.low), std::min(a.high, b.high)};
  case Kind::Or:
    return {std::max(a.low, b.low), std::max(a.high, b.high)};
  case Kind::Select: {
    const Interval c = operand(node, 2);
    return a.low == a.high ? (a.low ? b : c) : hull(b, c);
  }
  default:
    return {};
  }
}

Status Analysis::checkIndices(const Node &node) const {
  const TensorView &view = *bindings.tensors[node.index];
  const std::span<const NodeId> indices = expression.operands(node);
  for (size_t i = 0; i < indices.size(); ++i) {
    const Interval index = storage.intervals[indices[i]];
    const int64_t extent = view.shape[i];
    if (index.low < 0 || index.high >= extent)
      return invalidArgument(
          "index '{}' of tensor '{}' is from {} to {}, but dimension {} has extent {}{}",
          quoted(indices[i]), declarations.tensors()[node.index].name, index.low, index.high, i,
          extent,
          extent > 0 ? fmt::format("; `clamp(x, 0, {})` keeps an index inside", extent - 1) : "");
  }
  return {};
}

void Analysis::noteDivision(const Node &node, NodeId id, std::vector<std::string> &remarks) const {
  if (node.kind != Kind::FloorDiv && node.kind != Kind::FloorMod)
    return;
  if (!contains(operand(node, 1), point(0)))
    return;
  std::string remark =
      fmt::format("the divisor of '{}' can be 0, where the result is 0", quoted(id));
  if (std::ranges::find(remarks, remark) == remarks.end())
    remarks.push_back(std::move(remark));
}

Status Analysis::run(std::vector<std::string> *remarks) {
  for (NodeId id = 0; id < expression.nodes().size(); ++id) {
    const Node &node = expression[id];
    bool reads = node.kind == Kind::Element;
    for (NodeId operand : expression.operands(node))
      reads = reads || storage.readsTensor[operand];
    storage.readsTensor[id] = reads;
    if (node.kind == Kind::Element)
      if (Status status = checkIndices(node); !status)
        return status;

    Interval interval = evaluate(node);
    if (node.type == Type::I32 && !contains(allI32, interval)) {
      if (!reads)
        return invalidArgument(
            "'{}' can be anything from {} to {} for these lengths and scalars, which leaves 32 "
            "bits ({} to {})",
            quoted(id), interval.low, interval.high, allI32.low, allI32.high);
      interval = allI32;
    }
    storage.intervals[id] = interval;
    if (remarks)
      noteDivision(node, id, *remarks);
  }
  return {};
}

static Status checkLaunch(const Declarations &declarations, const Sizes &sizes,
                          const BindingsView &bindings) {
  if (Status status = checkSizes(sizes); !status)
    return status;
  return checkBindings(declarations, bindings);
}

Result<Bounds> tilewright::expression::checkBounds(const Expression &expression,
                                                   const Declarations &declarations,
                                                   const Sizes &sizes, const Bindings &bindings) {
  std::vector<const TensorView *> tensors;
  for (const TensorView &view : bindings.tensors)
    tensors.push_back(&view);
  const BindingsView view{bindings.scalars, tensors};
  if (Status status = checkLaunch(declarations, sizes, view); !status)
    return status.error();
  Bounds bounds;
  if (sizes.empty())
    return bounds;
  const size_t count = expression.nodes().size();
  bounds.intervals.resize(count);
  const auto readsTensor = std::make_unique<bool[]>(count);
  const BoundsStorage storage{bounds.intervals, {readsTensor.get(), count}};
  Status status = Analysis(expression, declarations, sizes, view, storage).run(&bounds.remarks);
  if (!status)
    return status.error();
  return bounds;
}

Status tilewright::expression::checkBounds(const Expression &expression,
                                           const Declarations &declarations, const Sizes &sizes,
                                           const BindingsView &bindings, BoundsStorage storage) {
  assert(storage.intervals.size() >= expression.nodes().size() &&
         storage.readsTensor.size() >= expression.nodes().size());
  if (Status status = checkLaunch(declarations, sizes, bindings); !status)
    return status;
  if (sizes.empty())
    return {};
  return Analysis(expression, declarations, sizes, bindings, storage).run(nullptr);
}
