//===- ExpressionToRegion.cpp - Expressions as scalar IR ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/ExpressionToRegion.h"

#include "dialect/Attn/Attn.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace tilewright;
using expression::Kind;

namespace {
/// Emits the nodes of one expression in order; each finds its operands' values.
class Emitter {
public:
  Emitter(OpBuilder &builder, Location location, const expression::Expression &expression,
          const expression::Declarations &declarations, const RegionNames &names, Type real)
      : builder(builder), location(location), expression(expression), declarations(declarations),
        names(names), real(real) {}

  Value emit() {
    values.reserve(expression.nodes().size());
    for (const expression::Node &node : expression.nodes())
      values.push_back(emitNode(node));
    return values.back();
  }

private:
  template <typename Op, typename... Args> Value make(Args &&...args) {
    return Op::create(builder, location, std::forward<Args>(args)...);
  }

  Value constant(Type type, double number) {
    if (isa<FloatType>(type))
      return make<arith::ConstantOp>(builder.getFloatAttr(type, number));
    return make<arith::ConstantOp>(builder.getIntegerAttr(type, static_cast<int64_t>(number)));
  }

  Type typeOf(expression::Type type) {
    switch (type) {
    case expression::Type::I1:
      return builder.getI1Type();
    case expression::Type::I32:
      return builder.getI32Type();
    case expression::Type::I64:
      return builder.getI64Type();
    case expression::Type::Real:
      return real;
    }
    llvm_unreachable("unknown type");
  }

  Value variable(expression::Variable variable) {
    // The positions follow the score in both orders.
    if (variable == expression::Variable::S)
      return names.score;
    return names.positions[static_cast<size_t>(variable) - 1];
  }

  /// An element as it is stored, then as the language types it.
  Value element(const expression::Node &node) {
    const SmallVector<Value> indices = operandsOf(node);
    const Value stored = make<attn::ElementOp>(names.tensors[node.index], indices);
    const Type type = stored.getType();
    if (declarations.tensors()[node.index].dtype == DType::Bool)
      return make<arith::CmpIOp>(arith::CmpIPredicate::ne, stored, constant(type, 0));
    if (type.isInteger(8))
      return make<arith::ExtUIOp>(builder.getI32Type(), stored);
    if (isa<FloatType>(type) && type != real)
      return make<arith::ExtFOp>(real, stored);
    return stored;
  }

  Value compare(Kind kind, Value lhs, Value rhs) {
    const bool isReal = isa<FloatType>(lhs.getType());
    const auto [integer, ordered] = [&]() -> std::pair<arith::CmpIPredicate, arith::CmpFPredicate> {
      switch (kind) {
      case Kind::Equal:
        return {arith::CmpIPredicate::eq, arith::CmpFPredicate::OEQ};
      case Kind::NotEqual: // the only comparison that holds for NaN
        return {arith::CmpIPredicate::ne, arith::CmpFPredicate::UNE};
      case Kind::Less:
        return {arith::CmpIPredicate::slt, arith::CmpFPredicate::OLT};
      case Kind::LessEqual:
        return {arith::CmpIPredicate::sle, arith::CmpFPredicate::OLE};
      case Kind::Greater:
        return {arith::CmpIPredicate::sgt, arith::CmpFPredicate::OGT};
      default:
        return {arith::CmpIPredicate::sge, arith::CmpFPredicate::OGE};
      }
    }();
    if (isReal)
      return make<arith::CmpFOp>(ordered, lhs, rhs);
    return make<arith::CmpIOp>(integer, lhs, rhs);
  }

  template <typename RealOp, typename IntegerOp> Value byType(ArrayRef<Value> operands) {
    if (isa<FloatType>(operands.front().getType()))
      return make<RealOp>(operands[0], operands[1]);
    return make<IntegerOp>(operands[0], operands[1]);
  }

  SmallVector<Value> operandsOf(const expression::Node &node) {
    return llvm::map_to_vector(expression.operands(node),
                               [&](expression::NodeId id) { return values[id]; });
  }

  Value emitNode(const expression::Node &node) {
    const SmallVector<Value> in = operandsOf(node);
    switch (node.kind) {
    case Kind::Constant:
      return constant(typeOf(node.type), node.number);
    case Kind::Variable:
      return variable(node.variable);
    case Kind::Scalar:
      return names.scalars[node.index];
    case Kind::Element:
      return element(node);
    case Kind::ToReal:
      return make<arith::SIToFPOp>(real, in[0]);
    case Kind::ToI64:
      return make<arith::ExtSIOp>(builder.getI64Type(), in[0]);
    case Kind::Not:
      return make<arith::XOrIOp>(in[0], constant(builder.getI1Type(), 1));
    case Kind::Negate:
      if (node.type == expression::Type::Real)
        return make<arith::NegFOp>(in[0]);
      return make<arith::SubIOp>(constant(in[0].getType(), 0), in[0]);
    case Kind::Abs:
      if (node.type == expression::Type::Real)
        return make<math::AbsFOp>(in[0]);
      return make<math::AbsIOp>(in[0]);
    case Kind::Exp:
      return make<math::ExpOp>(in[0]);
    case Kind::Exp2:
      return make<math::Exp2Op>(in[0]);
    case Kind::Log:
      return make<math::LogOp>(in[0]);
    case Kind::Log2:
      return make<math::Log2Op>(in[0]);
    case Kind::Tanh:
      return make<math::TanhOp>(in[0]);
    case Kind::Sqrt:
      return make<math::SqrtOp>(in[0]);
    case Kind::Floor:
      return make<math::FloorOp>(in[0]);
    case Kind::Add:
      return byType<arith::AddFOp, arith::AddIOp>(in);
    case Kind::Subtract:
      return byType<arith::SubFOp, arith::SubIOp>(in);
    case Kind::Multiply:
      return byType<arith::MulFOp, arith::MulIOp>(in);
    case Kind::Divide:
      return make<arith::DivFOp>(in[0], in[1]);
    case Kind::FloorDiv:
      return make<attn::FloorDivOp>(in[0], in[1]);
    case Kind::FloorMod:
      return make<attn::FloorModOp>(in[0], in[1]);
    case Kind::Min:
      return byType<arith::MinimumFOp, arith::MinSIOp>(in);
    case Kind::Max:
      return byType<arith::MaximumFOp, arith::MaxSIOp>(in);
    case Kind::Equal:
    case Kind::NotEqual:
    case Kind::Less:
    case Kind::LessEqual:
    case Kind::Greater:
    case Kind::GreaterEqual:
      return compare(node.kind, in[0], in[1]);
    case Kind::And:
      return make<arith::AndIOp>(in[0], in[1]);
    case Kind::Or:
      return make<arith::OrIOp>(in[0], in[1]);
    case Kind::Select:
      return make<arith::SelectOp>(in[0], in[1], in[2]);
    }
    llvm_unreachable("unknown kind of node");
  }

  OpBuilder &builder;
  const Location location;
  const expression::Expression &expression;
  const expression::Declarations &declarations;
  const RegionNames &names;
  const Type real;
  SmallVector<Value> values; // of each node
};
} // namespace

Value tilewright::emitExpression(OpBuilder &builder, Location location,
                                 const expression::Expression &expression,
                                 const expression::Declarations &declarations,
                                 const RegionNames &names, Type real) {
  return Emitter(builder, location, expression, declarations, names, real).emit();
}
