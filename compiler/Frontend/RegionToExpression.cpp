//===- RegionToExpression.cpp - Scalar IR as an expression ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/RegionToExpression.h"

#include "compiler/Frontend/ElementTypes.h"
#include "dialect/Attn/Attn.h"
#include "lib/Support/MakeError.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

#include <limits>

using namespace mlir;
using namespace tilewright;
using expression::Kind;
using expression::NodeId;

/// An evaluator keeps a strip of values for each op, and a launch walks all of them.
static constexpr size_t maxOps = size_t{1} << 16;

namespace {
/// Reads one op after the other; each finds the nodes of its operands.
class Reader {
public:
  Reader(Region &region, expression::Role role, const expression::Declarations &declarations,
         const Captured &captured)
      : region(region), role(role), captured(captured), builder(declarations) {}

  Result<expression::Expression> read() {
    Block &block = region.front();
    if (block.getOperations().size() > maxOps)
      return invalidArgument("a region has {} operations; at most {} are accepted",
                             block.getOperations().size(), maxOps);
    ValueRange arguments = block.getArguments();
    size_t variable = 0;
    if (role == expression::Role::Mask)
      variable = 1; // a mask has no score
    for (Value argument : arguments)
      nodes[argument] = builder.variable(static_cast<expression::Variable>(variable++));

    for (Operation &op : block.without_terminator()) {
      Result<NodeId> node = readOp(op);
      if (!node)
        return at(op, node.error());
      nodes[op.getResult(0)] = *node;
    }
    auto yield = cast<attn::YieldOp>(block.getTerminator());
    Result<NodeId> root = operand(yield.getValue());
    if (!root)
      return at(*yield, root.error());
    Result<expression::Expression> result = std::move(builder).finish(*root, role);
    if (!result)
      return at(*yield, result.error());
    return result;
  }

private:
  static Error at(Operation &op, const Error &error) {
    const std::string name = op.getName().getStringRef().str();
    if (auto place = op.getLoc()->findInstanceOf<FileLineColLoc>())
      return error.within(fmt::format("{}:{}: '{}'", place.getLine(), place.getColumn(), name));
    return error.within(fmt::format("'{}'", name));
  }

  bool isReal(Type type) const {
    auto forward = cast<attn::ForwardOp>(region.getParentOp());
    return type == forward.getRealType();
  }

  /// The node of a value: computed before, declared, or a constant from outside.
  Result<NodeId> operand(Value value) {
    if (const auto found = nodes.find(value); found != nodes.end())
      return found->second;
    if (const auto found = captured.find(value);
        found != captured.end() && !isa<MemRefType>(value.getType()))
      return nodes[value] = builder.scalar(found->second);
    Attribute attribute;
    if (!matchPattern(value, m_Constant(&attribute)))
      return invalidArgument("uses a value from outside of the region that is neither an argument "
                             "of the function nor a constant");
    Result<NodeId> node = constant(attribute, value.getType());
    if (node)
      nodes[value] = *node;
    return node;
  }

  /// Constants of i8 and i64 are only compared with; they are integers here as everywhere.
  Result<NodeId> constant(Attribute attribute, Type type) {
    if (auto number = dyn_cast<FloatAttr>(attribute); number && isReal(type))
      return builder.real(number.getValueAsDouble());
    if (auto number = dyn_cast<IntegerAttr>(attribute)) {
      if (type.isInteger(1))
        return builder.boolean(number.getValue().isOne());
      if (type.isInteger(8))
        return builder.integer(static_cast<int32_t>(number.getValue().getZExtValue()));
      if (type.isInteger(32) || type.isInteger(64)) {
        const int64_t value = number.getValue().getSExtValue();
        if (value < std::numeric_limits<int32_t>::min() ||
            value > std::numeric_limits<int32_t>::max())
          return invalidArgument("constant {} does not fit 32 bits", value);
        return builder.integer(static_cast<int32_t>(value));
      }
    }
    return noCounterpart(type);
  }

  static Error noCounterpart(Type type) {
    return unsupported("has no counterpart in the expression language for {}", describe(type));
  }

  Result<NodeId> apply(Kind kind, ValueRange values) {
    SmallVector<NodeId, 3> ids;
    for (Value value : values) {
      Result<NodeId> id = operand(value);
      if (!id)
        return id;
      ids.push_back(*id);
    }
    return builder.apply(kind, std::span<const NodeId>(ids.data(), ids.size()));
  }

  Result<NodeId> negated(Result<NodeId> condition) {
    return condition ? builder.apply(Kind::Not, {*condition}) : condition;
  }

  Result<NodeId> element(attn::ElementOp op) {
    const auto tensor = captured.find(op.getTensor());
    if (tensor == captured.end())
      return invalidArgument("reads a tensor that is not an argument of the function");
    SmallVector<NodeId> indices;
    for (Value index : op.getIndices()) {
      Result<NodeId> id = operand(index);
      if (!id)
        return id;
      indices.push_back(*id);
    }
    return builder.element(tensor->second, {indices.data(), indices.size()});
  }

  Result<NodeId> compareIntegers(arith::CmpIOp op) {
    const bool isByte = op.getLhs().getType().isInteger(8);
    const bool isCondition = op.getLhs().getType().isInteger(1);
    const auto kind = [&]() -> std::optional<Kind> {
      switch (op.getPredicate()) {
      case arith::CmpIPredicate::eq:
        return Kind::Equal;
      case arith::CmpIPredicate::ne:
        return Kind::NotEqual;
      case arith::CmpIPredicate::slt:
        return Kind::Less;
      case arith::CmpIPredicate::sle:
        return Kind::LessEqual;
      case arith::CmpIPredicate::sgt:
        return Kind::Greater;
      case arith::CmpIPredicate::sge:
        return Kind::GreaterEqual;
      default:
        return std::nullopt;
      }
    }();
    // A byte is unsigned and a condition has no order, so a signed order of them means nothing.
    const bool isEquality = kind == Kind::Equal || kind == Kind::NotEqual;
    if (!kind || ((isByte || isCondition) && !isEquality))
      return unsupported("has no counterpart in the expression language with the predicate '{}'",
                         std::string_view(arith::stringifyCmpIPredicate(op.getPredicate())));
    return apply(*kind, op->getOperands());
  }

  Result<NodeId> compareReals(arith::CmpFOp op) {
    using Predicate = arith::CmpFPredicate;
    const ValueRange operands = op->getOperands();
    switch (op.getPredicate()) {
    case Predicate::AlwaysFalse:
      return builder.boolean(false);
    case Predicate::AlwaysTrue:
      return builder.boolean(true);
    case Predicate::OEQ:
      return apply(Kind::Equal, operands);
    case Predicate::UNE:
      return apply(Kind::NotEqual, operands);
    case Predicate::OLT:
      return apply(Kind::Less, operands);
    case Predicate::OLE:
      return apply(Kind::LessEqual, operands);
    case Predicate::OGT:
      return apply(Kind::Greater, operands);
    case Predicate::OGE:
      return apply(Kind::GreaterEqual, operands);
    // The unordered ones hold where the opposite ordered one does not.
    case Predicate::ULT:
      return negated(apply(Kind::GreaterEqual, operands));
    case Predicate::ULE:
      return negated(apply(Kind::Greater, operands));
    case Predicate::UGT:
      return negated(apply(Kind::LessEqual, operands));
    case Predicate::UGE:
      return negated(apply(Kind::Less, operands));
    case Predicate::ONE:
      return differ(operands);
    case Predicate::UEQ:
      return negated(differ(operands));
    case Predicate::ORD:
      return ordered(operands);
    case Predicate::UNO:
      return negated(ordered(operands));
    }
    llvm_unreachable("unknown predicate");
  }

  Result<NodeId> both(Kind kind, Result<NodeId> lhs, Result<NodeId> rhs) {
    if (!lhs)
      return lhs;
    if (!rhs)
      return rhs;
    return builder.apply(kind, {*lhs, *rhs});
  }
  Result<NodeId> differ(ValueRange operands) {
    return both(Kind::Or, apply(Kind::Less, operands), apply(Kind::Greater, operands));
  }
  Result<NodeId> ordered(ValueRange operands) {
    return both(Kind::And, apply(Kind::Equal, {operands[0], operands[0]}),
                apply(Kind::Equal, {operands[1], operands[1]}));
  }

  /// From i1, that is a choice of two numbers; a wider integer is what it was.
  Result<NodeId> extend(Operation &op, int32_t whenTrue) {
    const Value in = op.getOperand(0);
    Result<NodeId> id = operand(in);
    if (!id || !in.getType().isInteger(1))
      return id;
    return builder.apply(Kind::Select, {*id, builder.integer(whenTrue), builder.integer(0)});
  }

  /// Types beside i1, i32 and the problem's real one occur only where elements are widened or
  /// compared. Flags that make results undefined or inexact have no counterpart.
  Status checkOp(Operation &op) {
    if (auto integer = dyn_cast<arith::ArithIntegerOverflowFlagsInterface>(op);
        integer && integer.getOverflowAttr() &&
        integer.getOverflowAttr().getValue() != arith::IntegerOverflowFlags::none)
      return unsupported("has overflow flags, but integers wrap in the expression language");
    if (auto real = dyn_cast<arith::ArithFastMathInterface>(op);
        real && real.getFastMathFlagsAttr() &&
        real.getFastMathFlagsAttr().getValue() != arith::FastMathFlags::none)
      return unsupported("has fast-math flags, which have no counterpart in the expression "
                         "language");
    if (isa<attn::ElementOp, arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp, arith::CmpIOp,
            arith::ConstantOp>(op))
      return {};
    for (Type type : llvm::concat<const Type>(SmallVector<Type>(op.getOperandTypes()),
                                              SmallVector<Type>(op.getResultTypes())))
      if (!isReal(type) && !type.isInteger(1) && !type.isInteger(32))
        return noCounterpart(type);
    return {};
  }

  Result<NodeId> readOp(Operation &op) {
    if (Status status = checkOp(op); !status)
      return status.error();
    const ValueRange in = op.getOperands();
    const Type result = op.getResult(0).getType();
    const bool isCondition = result.isInteger(1);
    return llvm::TypeSwitch<Operation *, Result<NodeId>>(&op)
        .Case([&](attn::ElementOp element) { return this->element(element); })
        .Case([&](attn::FloorDivOp) { return apply(Kind::FloorDiv, in); })
        .Case([&](attn::FloorModOp) { return apply(Kind::FloorMod, in); })
        .Case([&](arith::ConstantOp op) { return constant(op.getValue(), result); })
        .Case([&](arith::CmpIOp op) { return compareIntegers(op); })
        .Case([&](arith::CmpFOp op) { return compareReals(op); })
        .Case([&](arith::SelectOp) { return apply(Kind::Select, in); })
        .Case([&](arith::AndIOp) { return apply(Kind::And, in); })
        .Case([&](arith::OrIOp) { return apply(Kind::Or, in); })
        .Case([&](arith::XOrIOp) -> Result<NodeId> {
          if (!isCondition)
            return noCounterpart(result);
          return apply(Kind::NotEqual, in);
        })
        .Case<arith::AddIOp, arith::AddFOp>([&](auto) { return apply(Kind::Add, in); })
        .Case<arith::SubIOp, arith::SubFOp>([&](auto) { return apply(Kind::Subtract, in); })
        .Case<arith::MulIOp, arith::MulFOp>([&](auto) { return apply(Kind::Multiply, in); })
        .Case<arith::MinSIOp, arith::MinimumFOp>([&](auto) { return apply(Kind::Min, in); })
        .Case<arith::MaxSIOp, arith::MaximumFOp>([&](auto) { return apply(Kind::Max, in); })
        .Case<math::AbsIOp, math::AbsFOp>([&](auto) { return apply(Kind::Abs, in); })
        .Case([&](arith::DivFOp) { return apply(Kind::Divide, in); })
        .Case([&](arith::NegFOp) { return apply(Kind::Negate, in); })
        .Case([&](arith::SIToFPOp) -> Result<NodeId> {
          if (!in[0].getType().isInteger(32))
            return noCounterpart(in[0].getType());
          return apply(Kind::ToReal, in);
        })
        .Case([&](arith::ExtFOp) -> Result<NodeId> {
          if (!isReal(result))
            return noCounterpart(result);
          return operand(in[0]);
        })
        .Case([&](arith::ExtUIOp) -> Result<NodeId> {
          if (in[0].getType().isInteger(32) || (!result.isInteger(32) && !result.isInteger(64)))
            return noCounterpart(in[0].getType());
          return extend(op, 1);
        })
        .Case([&](arith::ExtSIOp) -> Result<NodeId> {
          if (in[0].getType().isInteger(8) || (!result.isInteger(32) && !result.isInteger(64)))
            return noCounterpart(in[0].getType());
          return extend(op, -1);
        })
        .Case([&](math::ExpOp) { return apply(Kind::Exp, in); })
        .Case([&](math::Exp2Op) { return apply(Kind::Exp2, in); })
        .Case([&](math::LogOp) { return apply(Kind::Log, in); })
        .Case([&](math::Log2Op) { return apply(Kind::Log2, in); })
        .Case([&](math::TanhOp) { return apply(Kind::Tanh, in); })
        .Case([&](math::SqrtOp) { return apply(Kind::Sqrt, in); })
        .Case([&](math::FloorOp) { return apply(Kind::Floor, in); })
        .Default([&](Operation *) -> Result<NodeId> {
          return unsupported("has no counterpart in the expression language");
        });
  }

  Region &region;
  const expression::Role role;
  const Captured &captured;
  expression::Builder builder;
  llvm::DenseMap<Value, NodeId> nodes;
};
} // namespace

Result<expression::Expression> tilewright::readRegion(Region &region, expression::Role role,
                                                      const expression::Declarations &declarations,
                                                      const Captured &captured) {
  return Reader(region, role, declarations, captured).read();
}
