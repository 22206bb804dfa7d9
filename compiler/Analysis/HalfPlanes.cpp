//===- HalfPlanes.cpp - The affine part of a mask -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Analysis/HalfPlanes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tilewright;

namespace {

/// How a value depends on the positions: q * query + k * key + something that depends on neither.
struct Slope {
  int64_t q = 0;
  int64_t k = 0;
  bool isFlat() const { return q == 0 && k == 0; }
};

class Slopes {
public:
  explicit Slopes(attn::ForwardOp op) {
    Block &body = op.getMask().front();
    for (BlockArgument argument : body.getArguments())
      slopes[argument] = Slope{};
    slopes[body.getArgument(attn::ForwardOp::Query)] = Slope{1, 0};
    slopes[body.getArgument(attn::ForwardOp::Key)] = Slope{0, 1};
    // Operands precede their uses, so one pass over the region suffices.
    for (Operation &inner : body.without_terminator())
      if (std::optional<Slope> slope = derive(&inner))
        slopes[inner.getResult(0)] = *slope;
  }

  /// Nothing for a value that is not affine; values from outside depend on no position.
  std::optional<Slope> of(Value value) const {
    auto known = slopes.find(value);
    if (known != slopes.end())
      return known->second;
    return notAffine.contains(value) ? std::nullopt : std::optional(Slope{});
  }

private:
  /// Coefficients past this are of no use to anyone, and below it nothing overflows.
  static constexpr int64_t limit = int64_t(1) << 29;

  static std::optional<Slope> checked(int64_t q, int64_t k) {
    if (std::abs(q) > limit || std::abs(k) > limit)
      return std::nullopt;
    return Slope{q, k};
  }

  std::optional<Slope> derive(Operation *op) {
    std::optional<Slope> slope = combine(op);
    if (!slope)
      for (Value result : op->getResults())
        notAffine.insert(result);
    return slope;
  }

  std::optional<Slope> combine(Operation *op) const {
    if (isa<attn::ElementOp>(op))
      return std::nullopt;
    SmallVector<Slope, 3> operands;
    for (Value operand : op->getOperands()) {
      std::optional<Slope> slope = of(operand);
      if (!slope)
        return std::nullopt;
      operands.push_back(*slope);
    }
    if (llvm::all_of(operands, [](Slope slope) { return slope.isFlat(); }))
      return Slope{};
    if (isa<arith::AddIOp>(op))
      return checked(operands[0].q + operands[1].q, operands[0].k + operands[1].k);
    if (isa<arith::SubIOp>(op))
      return checked(operands[0].q - operands[1].q, operands[0].k - operands[1].k);
    if (auto product = dyn_cast<arith::MulIOp>(op)) {
      for (unsigned side : {0u, 1u}) {
        APInt factor;
        if (matchPattern(product->getOperand(side), m_ConstantInt(&factor))) {
          const int64_t times = factor.getSExtValue();
          if (std::abs(times) <= limit)
            return checked(operands[1 - side].q * times, operands[1 - side].k * times);
        }
      }
    }
    return std::nullopt;
  }

  llvm::DenseMap<Value, Slope> slopes;
  llvm::DenseSet<Value> notAffine;
};

/// The conjuncts of the value that the mask yields, in order, each once.
SmallVector<Value> conjunctsOf(Value mask) {
  SmallVector<Value> conjuncts, pending{mask};
  llvm::DenseSet<Value> seen;
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    if (auto both = value.getDefiningOp<arith::AndIOp>()) {
      pending.push_back(both.getRhs());
      pending.push_back(both.getLhs());
    } else {
      conjuncts.push_back(value);
    }
  }
  return conjuncts;
}

/// Appends the half-planes of one conjunct, or reports that it has none.
bool appendHalfPlanes(Value conjunct, const Slopes &slopes, SmallVectorImpl<HalfPlane> &planes) {
  if (std::optional<Slope> slope = slopes.of(conjunct); slope && slope->isFlat()) {
    planes.push_back({.condition = conjunct});
    return true;
  }
  auto compare = conjunct.getDefiningOp<arith::CmpIOp>();
  if (!compare || !compare.getLhs().getType().isInteger(32))
    return false;
  const std::optional<Slope> lhs = slopes.of(compare.getLhs()), rhs = slopes.of(compare.getRhs());
  if (!lhs || !rhs)
    return false;
  auto append = [&](bool lhsIsGreater, int64_t slack) {
    const Slope &up = lhsIsGreater ? *lhs : *rhs, &down = lhsIsGreater ? *rhs : *lhs;
    planes.push_back({.q = up.q - down.q,
                      .k = up.k - down.k,
                      .greater = lhsIsGreater ? compare.getLhs() : compare.getRhs(),
                      .smaller = lhsIsGreater ? compare.getRhs() : compare.getLhs(),
                      .slack = slack});
  };
  switch (compare.getPredicate()) {
  case arith::CmpIPredicate::sle:
    append(false, 0);
    return true;
  case arith::CmpIPredicate::slt:
    append(false, 1);
    return true;
  case arith::CmpIPredicate::sge:
    append(true, 0);
    return true;
  case arith::CmpIPredicate::sgt:
    append(true, 1);
    return true;
  case arith::CmpIPredicate::eq:
    append(false, 0);
    append(true, 0);
    return true;
  default:
    return false;
  }
}

} // namespace

MaskAnalysis tilewright::analyzeMask(attn::ForwardOp op) {
  MaskAnalysis analysis;
  if (op.getMask().empty())
    return analysis;
  const Slopes slopes(op);
  auto yield = cast<attn::YieldOp>(op.getMask().front().getTerminator());
  for (Value conjunct : conjunctsOf(yield.getValue()))
    if (!appendHalfPlanes(conjunct, slopes, analysis.halfPlanes))
      analysis.residual.push_back(conjunct);
  return analysis;
}
