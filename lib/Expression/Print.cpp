//===- Print.cpp - Expressions as text ------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Expression/Parse.h"
#include "lib/Expression/Spelling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

using namespace tilewright;
using namespace tilewright::expression;

static std::string constantText(const Node &node) {
  if (node.type == Type::I1)
    return node.number != 0 ? "true" : "false";
  if (node.type == Type::I32)
    return fmt::format("{}", static_cast<int64_t>(node.number));
  if (std::isnan(node.number))
    return "(inf - inf)"; // NaN has no literal.
  std::string text = fmt::format("{}", node.number);
  if (std::isfinite(node.number) && text.find_first_of(".e") == std::string::npos)
    text += ".0";
  return text;
}

namespace {
/// Prints without recursion, since expressions that were built may nest without limit. Pending work
/// is a stack of pieces: text, or a node with the loosest precedence that needs no brackets.
class Printer {
public:
  Printer(const Expression &expression, const Declarations &declarations, size_t maxLength)
      : expression(expression), declarations(declarations), maxLength(maxLength) {}

  std::string print(NodeId root) {
    pending.push_back({{}, root, ternaryPrecedence});
    while (!pending.empty() && output.size() <= maxLength) {
      const Piece piece = pending.back();
      pending.pop_back();
      if (piece.precedence == textOnly)
        output += piece.text;
      else
        expand(expression[piece.node], piece.precedence);
    }
    if (output.size() <= maxLength)
      return std::move(output);
    output.resize(maxLength - std::min<size_t>(maxLength, 3));
    return output + "...";
  }

private:
  static constexpr int textOnly = 0;
  static constexpr int bracketed = primaryPrecedence + 1;
  struct Piece {
    std::string_view text;
    NodeId node = 0;
    int precedence = textOnly;
  };

  static Piece text(std::string_view text) { return {text}; }
  static Piece node(NodeId id, int precedence) { return {{}, id, precedence}; }

  /// Puts pieces on the stack so that the first is printed first.
  void push(std::initializer_list<Piece> pieces, bool brackets) {
    if (brackets)
      pending.push_back(text(")"));
    pending.insert(pending.end(), std::rbegin(pieces), std::rend(pieces));
    if (brackets)
      pending.push_back(text("("));
  }

  void pushList(std::span<const NodeId> list, std::string_view close) {
    pending.push_back(text(close));
    for (size_t i = list.size(); i-- > 0;) {
      pending.push_back(node(list[i], ternaryPrecedence));
      if (i > 0)
        pending.push_back(text(", "));
    }
  }

  void expand(const Node &n, int precedence) {
    const std::span<const NodeId> operands = expression.operands(n);
    const auto isOperator = [&](const BinaryOperator &op) { return op.kind == n.kind; };
    switch (n.kind) {
    case Kind::Constant:
      output += precedence == bracketed ? fmt::format("({})", constantText(n)) : constantText(n);
      return;
    case Kind::Variable:
      output += nameOf(n.variable);
      return;
    case Kind::Scalar:
      output += declarations.scalars()[n.index].name;
      return;
    case Kind::Element:
      output += declarations.tensors()[n.index].name;
      output += '[';
      pushList(operands, "]");
      return;
    case Kind::ToI64:
      // Beside an i64 the parser inserts it again.
      pending.push_back(node(operands[0], precedence));
      return;
    case Kind::Negate: {
      // A minus directly before a number would become a part of it.
      const bool ofConstant = expression[operands[0]].kind == Kind::Constant;
      push({text("-"), node(operands[0], ofConstant ? bracketed : prefixPrecedence)},
           precedence > prefixPrecedence);
      return;
    }
    case Kind::Not:
      push({text("!"), node(operands[0], prefixPrecedence)}, precedence > prefixPrecedence);
      return;
    case Kind::Select:
      push({node(operands[0], orPrecedence), text(" ? "), node(operands[1], ternaryPrecedence),
            text(" : "), node(operands[2], ternaryPrecedence)},
           precedence > ternaryPrecedence);
      return;
    default:
      break;
    }
    const auto op = std::ranges::find_if(binaryOperators(), isOperator);
    if (op == binaryOperators().end()) {
      output += spellingOf(n.kind);
      output += '(';
      pushList(operands, ")");
      return;
    }
    const bool chains = op->precedence != comparisonPrecedence;
    push({node(operands[0], op->precedence + (chains ? 0 : 1)), text(" "), text(op->text),
          text(" "), node(operands[1], op->precedence + 1)},
         precedence > op->precedence);
  }

  const Expression &expression;
  const Declarations &declarations;
  const size_t maxLength;
  std::string output;
  std::vector<Piece> pending;
};
} // namespace

std::string tilewright::expression::toString(const Expression &expression,
                                             const Declarations &declarations, NodeId node,
                                             size_t maxLength) {
  return Printer(expression, declarations, maxLength).print(node);
}

std::string tilewright::expression::toString(const Expression &expression,
                                             const Declarations &declarations) {
  return toString(expression, declarations, expression.root());
}

std::string tilewright::expression::quote(const Expression &expression,
                                          const Declarations &declarations, NodeId node) {
  const Span span = expression[node].span;
  if (span.begin < span.end && span.end <= expression.text().size())
    return printable(std::string_view(expression.text()).substr(span.begin, span.end - span.begin),
                     maxQuotedLength);
  return toString(expression, declarations, node, maxQuotedLength);
}
