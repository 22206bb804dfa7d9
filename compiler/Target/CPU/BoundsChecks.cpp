//===- BoundsChecks.cpp - Checks of an expression's integers, as code -----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The analysis of lib/Expression/Bounds.cpp, node by node; what it decides by
// branches is selected here. A division whose divisor would be 0 is done with
// another one and not selected.
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/CPU/BoundsChecks.h"
#include "lib/Expression/Parse.h"

#include <fmt/format.h>

#include <limits>

using llvm::Value;
using namespace tilewright;
using namespace tilewright::expression;

namespace {
struct Interval {
  Value *low = nullptr, *high = nullptr;
};

class Analysis {
public:
  Analysis(CheckBuilder &b, const Expression &expression, const Declarations &declarations,
           const LaunchValues &launch)
      : b(b), expression(expression), declarations(declarations), launch(launch),
        intervals(expression.nodes().size()), reads(expression.nodes().size()) {}

  void run();

private:
  Interval point(Value *value) { return {value, value}; }
  Interval constant(int64_t low, int64_t high) { return {b.number(low), b.number(high)}; }
  Interval positions(Value *extent) { return {b.number(0), b.CreateSub(extent, b.number(1))}; }
  Interval hull(Interval x, Interval y) {
    return {b.minimum(x.low, y.low), b.maximum(x.high, y.high)};
  }
  Interval select(Value *condition, Interval x, Interval y) {
    return {b.CreateSelect(condition, x.low, y.low), b.CreateSelect(condition, x.high, y.high)};
  }
  Value *isPoint(Interval x) { return b.CreateICmpEQ(x.low, x.high); }
  Interval truth(Value *isTrue, Value *isFalse);
  Interval negated(Interval x) {
    return {b.CreateSub(b.number(1), x.high), b.CreateSub(b.number(1), x.low)};
  }

  template <typename Function> Interval corners(Interval x, Interval y, const Function &function);
  Value *floorDivNonzero(Value *x, Value *y);
  Interval floorDiv(Interval x, Interval divisor);
  Interval floorMod(Interval x, Interval divisor);
  Interval equal(Interval x, Interval y);
  Interval less(Interval x, Interval y);

  Interval variable(Variable variable);
  Interval element(DType dtype);
  Interval evaluate(const Node &node);
  void checkIndices(const Node &node);

  CheckBuilder &b;
  const Expression &expression;
  const Declarations &declarations;
  const LaunchValues &launch;
  std::vector<Interval> intervals;
  std::vector<bool> reads;
};
} // namespace

static constexpr int64_t lowest = std::numeric_limits<int32_t>::min(),
                         highest = std::numeric_limits<int32_t>::max();

/// [1, 1], [0, 0], or either way.
Interval Analysis::truth(Value *isTrue, Value *isFalse) {
  return {b.CreateZExt(isTrue, b.getInt64Ty()), b.CreateZExt(b.CreateNot(isFalse), b.getInt64Ty())};
}

template <typename Function>
Interval Analysis::corners(Interval x, Interval y, const Function &function) {
  Value *values[] = {function(x.low, y.low), function(x.low, y.high), function(x.high, y.low),
                     function(x.high, y.high)};
  return {b.minimum(b.minimum(values[0], values[1]), b.minimum(values[2], values[3])),
          b.maximum(b.maximum(values[0], values[1]), b.maximum(values[2], values[3]))};
}

Value *Analysis::floorDivNonzero(Value *x, Value *y) {
  Value *quotient = b.CreateSDiv(x, y);
  Value *isInexact = b.CreateIsNotNull(b.CreateSRem(x, y));
  Value *differ = b.CreateICmpSLT(b.CreateXor(x, y), b.number(0));
  return b.CreateSelect(b.CreateAnd(isInexact, differ), b.CreateSub(quotient, b.number(1)),
                        quotient);
}

Interval Analysis::floorDiv(Interval x, Interval divisor) {
  const auto divide = [&](Value *a, Value *d) { return floorDivNonzero(a, d); };
  const Interval above = corners(
      x, {b.maximum(divisor.low, b.number(1)), b.maximum(divisor.high, b.number(1))}, divide);
  const Interval below = corners(
      x, {b.minimum(divisor.low, b.number(-1)), b.minimum(divisor.high, b.number(-1))}, divide);
  Value *hasAbove = b.CreateICmpSGT(divisor.high, b.number(0));
  Value *hasBelow = b.CreateICmpSLT(divisor.low, b.number(0));
  Value *hasZero = b.CreateAnd(b.CreateICmpSLE(divisor.low, b.number(0)),
                               b.CreateICmpSGE(divisor.high, b.number(0)));
  // None of the three is nothing: its interval is the wrong way round.
  const Interval nothing =
      constant(std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min());
  return hull(select(hasZero, constant(0, 0), nothing),
              hull(select(hasAbove, above, nothing), select(hasBelow, below, nothing)));
}

Interval Analysis::floorMod(Interval x, Interval divisor) {
  Value *isPositivePoint = b.CreateAnd(isPoint(divisor), b.CreateICmpSGT(divisor.low, b.number(0)));
  Value *positive = b.maximum(divisor.low, b.number(1));
  Value *period = floorDivNonzero(x.low, positive);
  Value *isOnePeriod = b.CreateICmpEQ(period, floorDivNonzero(x.high, positive));
  Value *start = b.CreateMul(period, positive);
  return select(b.CreateAnd(isPositivePoint, isOnePeriod),
                {b.CreateSub(x.low, start), b.CreateSub(x.high, start)},
                {b.minimum(b.CreateAdd(divisor.low, b.number(1)), b.number(0)),
                 b.maximum(b.CreateSub(divisor.high, b.number(1)), b.number(0))});
}

Interval Analysis::equal(Interval x, Interval y) {
  Value *areApart = b.CreateOr(b.CreateICmpSLT(x.high, y.low), b.CreateICmpSLT(y.high, x.low));
  Value *areOnePoint =
      b.CreateAnd(b.CreateAnd(isPoint(x), isPoint(y)), b.CreateICmpEQ(x.low, y.low));
  return truth(areOnePoint, areApart);
}

Interval Analysis::less(Interval x, Interval y) {
  return truth(b.CreateICmpSLT(x.high, y.low), b.CreateICmpSGE(x.low, y.high));
}

Interval Analysis::variable(Variable variable) {
  switch (variable) {
  case Variable::S:
    return constant(0, 0);
  case Variable::B:
    return positions(launch.batch);
  case Variable::H:
    return positions(launch.heads);
  case Variable::HKV:
    return positions(launch.kvHeads);
  case Variable::Q:
    return positions(launch.queryLength);
  case Variable::K:
    return positions(launch.keyLength);
  case Variable::QLen:
    return point(launch.queryLength);
  case Variable::KVLen:
    return point(launch.keyLength);
  }
  return {};
}

Interval Analysis::element(DType dtype) {
  switch (dtype) {
  case DType::Bool:
    return constant(0, 1);
  case DType::U8:
    return constant(0, 255);
  case DType::I32:
    return constant(lowest, highest);
  case DType::I64:
    return constant(std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max());
  default:
    return constant(0, 0);
  }
}

Interval Analysis::evaluate(const Node &node) {
  const std::span<const NodeId> operands = expression.operands(node);
  if (operands.size() == 2 && expression[operands[0]].type == Type::Real && node.type == Type::I1)
    return constant(0, 1);
  if (node.type == Type::Real)
    return constant(0, 0);
  const Interval x = operands.size() > 0 ? intervals[operands[0]] : Interval();
  const Interval y = operands.size() > 1 ? intervals[operands[1]] : Interval();
  switch (node.kind) {
  case Kind::Constant:
    return point(b.number(static_cast<int64_t>(node.number)));
  case Kind::Variable:
    return variable(node.variable);
  case Kind::Scalar:
    return point(launch.scalar(node.index));
  case Kind::Element:
    return element(declarations.tensors()[node.index].dtype);
  case Kind::ToI64:
    return x;
  case Kind::Not:
    return negated(x);
  case Kind::Negate:
    return {b.CreateNeg(x.high), b.CreateNeg(x.low)};
  case Kind::Abs:
    return {b.maximum(b.maximum(x.low, b.CreateNeg(x.high)), b.number(0)),
            b.maximum(b.CreateNeg(x.low), x.high)};
  case Kind::Add:
    return {b.CreateAdd(x.low, y.low), b.CreateAdd(x.high, y.high)};
  case Kind::Subtract:
    return {b.CreateSub(x.low, y.high), b.CreateSub(x.high, y.low)};
  case Kind::Multiply:
    return corners(x, y, [&](Value *a, Value *c) { return b.CreateMul(a, c); });
  case Kind::FloorDiv:
    return floorDiv(x, y);
  case Kind::FloorMod:
    return floorMod(x, y);
  case Kind::Min:
  case Kind::And:
    return {b.minimum(x.low, y.low), b.minimum(x.high, y.high)};
  case Kind::Max:
  case Kind::Or:
    return {b.maximum(x.low, y.low), b.maximum(x.high, y.high)};
  case Kind::Equal:
    return equal(x, y);
  case Kind::NotEqual:
    return negated(equal(x, y));
  case Kind::Less:
    return less(x, y);
  case Kind::LessEqual:
    return negated(less(y, x));
  case Kind::Greater:
    return less(y, x);
  case Kind::GreaterEqual:
    return negated(less(x, y));
  case Kind::Select: {
    const Interval z = intervals[operands[2]];
    return select(isPoint(x), select(b.CreateIsNotNull(x.low), y, z), hull(y, z));
  }
  default:
    return constant(0, 0);
  }
}

void Analysis::checkIndices(const Node &node) {
  size_t dimension = 0;
  for (NodeId operand : expression.operands(node)) {
    const Interval index = intervals[operand];
    Value *isInside =
        b.CreateAnd(b.CreateICmpSGE(index.low, b.number(0)),
                    b.CreateICmpSLT(index.high, launch.extent(node.index, dimension)));
    b.require(isInside, fmt::format("index '{}' of tensor '{}' can leave dimension {}; clamp() "
                                    "keeps an index inside",
                                    quote(expression, declarations, operand),
                                    declarations.tensors()[node.index].name, dimension));
    ++dimension;
  }
}

void Analysis::run() {
  for (NodeId id = 0; id < expression.nodes().size(); ++id) {
    const Node &node = expression[id];
    reads[id] = node.kind == Kind::Element;
    for (NodeId operand : expression.operands(node))
      reads[id] = reads[id] || reads[operand];
    if (node.kind == Kind::Element)
      checkIndices(node);
    intervals[id] = evaluate(node);
    if (node.type != Type::I32 || expression.operands(node).empty())
      continue;
    Value *fits = b.CreateAnd(b.CreateICmpSGE(intervals[id].low, b.number(lowest)),
                              b.CreateICmpSLE(intervals[id].high, b.number(highest)));
    if (reads[id])
      intervals[id] = select(fits, intervals[id], constant(lowest, highest));
    else
      b.require(fits, fmt::format("'{}' can leave 32 bits for these lengths and scalars",
                                  quote(expression, declarations, id)));
  }
}

void tilewright::addBoundsChecks(CheckBuilder &b, const Expression &expression,
                                 const Declarations &declarations, const LaunchValues &launch) {
  Analysis(b, expression, declarations, launch).run();
}
