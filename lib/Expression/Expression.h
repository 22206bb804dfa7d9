//===- Expression.h - Mask and score functions as typed nodes ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An expression is an arena of typed nodes in topological order: the operands of
// a node come before it and the root is the last one. So evaluation, bounds and
// translation to IR are single loops over the nodes without recursion, and values
// may be shared, as they are in a region of IR.
//
// `k <= q && q - k < window` becomes
//
//   0: k  1: q  2: %0 <= %1  3: q  4: k  5: %3 - %4  6: window  7: %5 < %6  8: %2 && %7
//
// The language is described in docs/semantics.md. Parse.h makes expressions from
// text; Builder makes them from anything else and holds the typing rules of both.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_LIB_EXPRESSION_EXPRESSION_H
#define TILEWRIGHT_LIB_EXPRESSION_EXPRESSION_H

#include "lib/Expression/Declarations.h"

#include <initializer_list>
#include <span>

namespace tilewright::expression {

/// The text that a node came from, as [begin, end) in bytes; empty for nodes without text.
struct Span {
  uint32_t begin = 0;
  uint32_t end = 0;
};

/// Operand and result types are in the comments: N is I32 or Real, the same throughout. Where a
/// Real stands beside an I32 or is required, the builder inserts ToReal.
enum class Kind : uint8_t {
  // Leaves.
  Constant, // `number`: I1, I32 or Real
  Variable, // `variable`
  Scalar,   // declaration `index`
  // The element of the tensor declared at `index`; one I32 operand for each dimension.
  Element,
  // One operand.
  ToReal, // I32 -> Real, printed real(x)
  ToI64,  // I32 -> I64, beside an I64 in a comparison only
  Not,    // I1
  Negate, // N
  Abs,    // N
  Exp,    // Real, as all that follow
  Exp2,
  Log,
  Log2,
  Tanh,
  Sqrt,
  Floor,
  // Two operands.
  Add,      // N; I32 wraps to 32 bits
  Subtract, // N
  Multiply, // N
  Divide,   // Real
  FloorDiv, // I32, toward minus infinity; x // 0 is 0
  FloorMod, // I32, with the divisor's sign; x % 0 is 0
  Min,      // N; a NaN operand gives NaN
  Max,      // N; a NaN operand gives NaN
  Equal,    // I1, I32, I64 or Real -> I1, as NotEqual; NaN as in IEEE 754
  NotEqual,
  Less, // I32, I64 or Real -> I1, as all that follow
  LessEqual,
  Greater,
  GreaterEqual,
  And, // I1; both sides are evaluated
  Or,  // I1
  // Three operands.
  Select, // I1, then two of the same I1, I32 or Real; both branches are evaluated
};

/// Operands that a node of this kind takes; for Element it is the rank of the tensor instead.
size_t operandCount(Kind kind);

using NodeId = uint32_t;

struct Node {
  Kind kind = Kind::Constant;
  Type type = Type::I1;
  expression::Variable variable = expression::Variable::S; // of a Variable
  uint32_t index = 0;                                      // of a Scalar or Element
  uint32_t firstOperand = 0;                               // read with Expression::operands
  uint32_t operandCount = 0;
  double number = 0; // of a Constant; exact for I1 (0 or 1) and I32
  Span span;
};

/// Where an expression is used. A Mask is I1 (true: the key is visible) and does not know `s`; a
/// Score is Real (an I32 result converts) and gives the new score.
enum class Role : uint8_t { Mask, Score };

class Expression {
public:
  std::span<const Node> nodes() const { return nodeList; }
  const Node &operator[](NodeId id) const { return nodeList[id]; }
  std::span<const NodeId> operands(const Node &node) const {
    return {operandList.data() + node.firstOperand, node.operandCount};
  }
  NodeId root() const { return static_cast<NodeId>(nodeList.size() - 1); }
  Role role() const { return expressionRole; }

  /// The text it was parsed from; empty if it was built.
  const std::string &text() const { return source; }

private:
  friend class Builder;
  std::vector<Node> nodeList;
  std::vector<NodeId> operandList;
  std::string source;
  Role expressionRole = Role::Mask;
};

/// Makes an expression node by node. Errors say what is wrong with the types, without a place: the
/// caller knows where it is.
///
///   Builder builder(declarations);
///   NodeId q = builder.variable(Variable::Q), k = builder.variable(Variable::K);
///   Result<NodeId> visible = builder.apply(Kind::LessEqual, {k, q});
///   Result<Expression> causal = std::move(builder).finish(*visible, Role::Mask);
class Builder {
public:
  /// Keeps a reference to `declarations`.
  explicit Builder(const Declarations &declarations) : declarations(declarations) {}

  NodeId boolean(bool value, Span span = {});
  NodeId integer(int32_t value, Span span = {});
  NodeId real(double value, Span span = {});
  NodeId variable(expression::Variable variable, Span span = {});
  /// `index` is that of a declared scalar.
  NodeId scalar(uint32_t index, Span span = {});
  /// `index` is that of a declared tensor. Refused: a wrong number of indices, an index not I32.
  Result<NodeId> element(uint32_t index, std::span<const NodeId> indices, Span span = {});

  /// A node of any kind with one to three operands, other than Element. Converts operands: I32 to
  /// Real beside a Real or where a Real is wanted, I32 to I64 beside an I64 in a comparison, an
  /// element of a u8 tensor to I1 where a condition is wanted (as `!= 0`).
  Result<NodeId> apply(Kind kind, std::span<const NodeId> operands, Span span = {});
  Result<NodeId> apply(Kind kind, std::initializer_list<NodeId> operands, Span span = {}) {
    return apply(kind, std::span(operands.begin(), operands.size()), span);
  }

  Type type(NodeId id) const { return expression.nodeList[id].type; }

  /// Makes `root` the last node and drops what it does not use. Refused: a result type that `role`
  /// does not take, `s` in a mask.
  Result<Expression> finish(NodeId root, Role role, std::string text = {}) &&;

private:
  NodeId add(Node node, std::span<const NodeId> operands = {});
  bool isByteElement(NodeId id) const;
  NodeId toReal(NodeId id);
  NodeId toI64(NodeId id);
  NodeId toCondition(NodeId id);

  const Declarations &declarations;
  Expression expression;
};

} // namespace tilewright::expression

#endif // TILEWRIGHT_LIB_EXPRESSION_EXPRESSION_H
