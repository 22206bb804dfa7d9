//===- Expression.cpp - Building typed nodes ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Expression/Expression.h"

#include "lib/Expression/Spelling.h"
#include "lib/Support/MakeError.h"

#include <algorithm>
#include <array>
#include <cassert>

using namespace tilewright;
using namespace tilewright::expression;

size_t tilewright::expression::operandCount(Kind kind) {
  if (kind <= Kind::Element)
    return 0;
  if (kind <= Kind::Floor)
    return 1;
  return kind == Kind::Select ? 3 : 2;
}

NodeId Builder::add(Node node, std::span<const NodeId> operands) {
  node.firstOperand = static_cast<uint32_t>(expression.operandList.size());
  node.operandCount = static_cast<uint32_t>(operands.size());
  expression.operandList.insert(expression.operandList.end(), operands.begin(), operands.end());
  expression.nodeList.push_back(node);
  return expression.root();
}

NodeId Builder::boolean(bool value, Span span) {
  return add({.kind = Kind::Constant, .type = Type::I1, .number = value ? 1.0 : 0.0, .span = span});
}

NodeId Builder::integer(int32_t value, Span span) {
  return add({.kind = Kind::Constant,
              .type = Type::I32,
              .number = static_cast<double>(value),
              .span = span});
}

NodeId Builder::real(double value, Span span) {
  return add({.kind = Kind::Constant, .type = Type::Real, .number = value, .span = span});
}

NodeId Builder::variable(expression::Variable variable, Span span) {
  const Type type = variable == Variable::S ? Type::Real : Type::I32;
  return add({.kind = Kind::Variable, .type = type, .variable = variable, .span = span});
}

NodeId Builder::scalar(uint32_t index, Span span) {
  assert(index < declarations.scalars().size() && "a scalar that is not declared");
  const Type type = declarations.scalars()[index].type;
  return add({.kind = Kind::Scalar, .type = type, .index = index, .span = span});
}

Result<NodeId> Builder::element(uint32_t index, std::span<const NodeId> indices, Span span) {
  assert(index < declarations.tensors().size() && "a tensor that is not declared");
  const Tensor &tensor = declarations.tensors()[index];
  if (indices.size() != tensor.rank)
    return invalidArgument("tensor '{}' has rank {} and is given {} indices", tensor.name,
                           tensor.rank, indices.size());
  for (size_t i = 0; i < indices.size(); ++i)
    if (type(indices[i]) != Type::I32)
      return invalidArgument("index {} of tensor '{}' is {}; an index is i32", i, tensor.name,
                             nameOf(type(indices[i])));
  const Type type = elementType(tensor.dtype);
  return add({.kind = Kind::Element, .type = type, .index = index, .span = span}, indices);
}

bool Builder::isByteElement(NodeId id) const {
  const Node &node = expression.nodeList[id];
  return node.kind == Kind::Element && declarations.tensors()[node.index].dtype == DType::U8;
}

NodeId Builder::toReal(NodeId id) {
  if (type(id) == Type::Real)
    return id;
  return add({.kind = Kind::ToReal, .type = Type::Real, .span = expression.nodeList[id].span},
             {&id, 1});
}

NodeId Builder::toI64(NodeId id) {
  if (type(id) == Type::I64)
    return id;
  return add({.kind = Kind::ToI64, .type = Type::I64, .span = expression.nodeList[id].span},
             {&id, 1});
}

NodeId Builder::toCondition(NodeId id) {
  if (!isByteElement(id))
    return id;
  const Span span = expression.nodeList[id].span;
  const NodeId operands[] = {id, integer(0, span)};
  return add({.kind = Kind::NotEqual, .type = Type::I1, .span = span}, operands);
}

static bool isNumber(Type type) {
  return type == Type::I32 || type == Type::Real;
}

static bool isEquality(Kind kind) {
  return kind == Kind::Equal || kind == Kind::NotEqual;
}

static bool isComparison(Kind kind) {
  return kind >= Kind::Equal && kind <= Kind::GreaterEqual;
}

static Error wrongOperand(Kind kind, std::string_view wanted, Type seen) {
  std::string_view hint;
  if (seen == Type::I1)
    hint = "; a condition becomes a number by `x ? 1 : 0`";
  else if (seen == Type::I64)
    hint = "; an i64 element can only be compared";
  else if (wanted == "a condition (i1)")
    hint = "; compare it, as in `x != 0`";
  return invalidArgument("'{}' wants {}, not {}{}", spellingOf(kind), wanted, nameOf(seen), hint);
}

Result<NodeId> Builder::apply(Kind kind, std::span<const NodeId> given, Span span) {
  const size_t count = expression::operandCount(kind);
  if (count == 0 || given.size() != count)
    return invalidArgument("'{}' takes {} operand{}, not {}", spellingOf(kind), count,
                           count == 1 ? "" : "s", given.size());
  std::array<NodeId, 3> ids{};
  std::ranges::copy(given, ids.begin());
  const std::span operands(ids.data(), count);
  Type result = Type::Real;

  // Beside a Real all are Real.
  const auto unify = [&](std::span<NodeId> numbers) -> Status {
    bool anyReal = false;
    for (NodeId id : numbers) {
      if (!isNumber(type(id)))
        return wrongOperand(kind, "numbers (i32 or real)", type(id));
      anyReal |= type(id) == Type::Real;
    }
    for (NodeId &id : numbers)
      id = anyReal ? toReal(id) : id;
    return {};
  };
  const auto wantConditions = [&](std::span<NodeId> conditions) -> Status {
    for (NodeId &id : conditions) {
      id = toCondition(id);
      if (type(id) != Type::I1)
        return wrongOperand(kind, "a condition (i1)", type(id));
    }
    return {};
  };
  // An element of a bool tensor and one of a u8 tensor may stand side by side.
  const auto anyCondition = [&](std::span<NodeId> values) {
    return std::ranges::any_of(values, [&](NodeId id) { return type(id) == Type::I1; });
  };

  Status status;
  switch (kind) {
  case Kind::Not:
  case Kind::And:
  case Kind::Or:
    status = wantConditions(operands);
    result = Type::I1;
    break;
  case Kind::ToI64:
    if (type(ids[0]) == Type::I64)
      return ids[0];
    if (type(ids[0]) != Type::I32)
      return wrongOperand(kind, "an i32", type(ids[0]));
    result = Type::I64;
    break;
  case Kind::FloorDiv:
  case Kind::FloorMod:
    for (NodeId id : operands)
      if (type(id) == Type::Real)
        return invalidArgument("'{}' wants integers (i32), not real; {}", spellingOf(kind),
                               kind == Kind::FloorDiv
                                   ? "`/` divides reals, `floor(x / y)` rounds down"
                                   : "`x - floor(x / y) * y` is the remainder of reals");
    status = unify(operands);
    result = Type::I32;
    break;
  case Kind::Divide:
    if (type(ids[0]) == Type::I32 && type(ids[1]) == Type::I32)
      return invalidArgument("'/' divides reals, and both sides are i32; use `//` for integers "
                             "(rounding down) or `real(x) / y`");
    status = unify(operands);
    break;
  case Kind::Select: {
    status = wantConditions(operands.first(1));
    const std::span branches = operands.subspan(1);
    if (status)
      status = anyCondition(branches) ? wantConditions(branches) : unify(branches);
    result = type(ids[2]);
    break;
  }
  case Kind::ToReal:
  case Kind::Exp:
  case Kind::Exp2:
  case Kind::Log:
  case Kind::Log2:
  case Kind::Tanh:
  case Kind::Sqrt:
  case Kind::Floor:
    status = unify(operands);
    if (status)
      ids[0] = toReal(ids[0]);
    if (status && kind == Kind::ToReal)
      return ids[0];
    break;
  default:
    if (isEquality(kind) && anyCondition(operands)) {
      status = wantConditions(operands);
    } else if (isComparison(kind) &&
               std::ranges::any_of(operands, [&](NodeId id) { return type(id) == Type::I64; })) {
      for (NodeId &id : operands) {
        if (type(id) != Type::I32 && type(id) != Type::I64)
          return invalidArgument("'{}' compares an i64 element with i32 or i64, not with {}",
                                 spellingOf(kind), nameOf(type(id)));
        id = toI64(id);
      }
    } else {
      status = unify(operands);
    }
    result = isComparison(kind) ? Type::I1 : type(ids[0]);
  }
  if (!status)
    return status.error();
  return add({.kind = kind, .type = result, .span = span}, operands);
}

Result<Expression> Builder::finish(NodeId root, Role role, std::string text) && {
  const auto usesScore = [](const Node &node) {
    return node.kind == Kind::Variable && node.variable == Variable::S;
  };
  if (role == Role::Mask) {
    root = toCondition(root);
    if (type(root) != Type::I1)
      return invalidArgument("a mask is a condition (i1: true keeps the key), not {}; compare it, "
                             "as in `x != 0`",
                             nameOf(type(root)));
  } else {
    if (!isNumber(type(root)))
      return invalidArgument("a score is a number, not {}{}", nameOf(type(root)),
                             type(root) == Type::I1 ? "; `x ? s : -inf` hides where x is false"
                                                    : "");
    root = toReal(root);
  }

  const std::vector<Node> &nodes = expression.nodeList;
  std::vector<bool> used(root + 1, false);
  used[root] = true;
  for (NodeId id = root + 1; id-- > 0;)
    if (used[id])
      for (NodeId operand : expression.operands(nodes[id]))
        used[operand] = true;

  Builder kept(declarations);
  std::vector<NodeId> renumbered(root + 1, 0);
  for (NodeId id = 0; id <= root; ++id) {
    if (!used[id])
      continue;
    if (role == Role::Mask && usesScore(nodes[id]))
      return invalidArgument("unknown name 's' in a mask: masks do not see the score");
    std::array<NodeId, TensorView::maxRank> operands{};
    size_t count = 0;
    for (NodeId operand : expression.operands(nodes[id]))
      operands[count++] = renumbered[operand];
    renumbered[id] = kept.add(nodes[id], {operands.data(), count});
  }
  kept.expression.source = std::move(text);
  kept.expression.expressionRole = role;
  return std::move(kept.expression);
}
