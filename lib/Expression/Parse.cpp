//===- Parse.cpp - Expressions from text ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A Pratt parser: parse(minPrecedence) reads a prefix and then every operator
// that binds at least as tightly. Typing is the Builder's.
//
//===----------------------------------------------------------------------===//

#include "lib/Expression/Parse.h"

#include "lib/Expression/Lexer.h"
#include "lib/Expression/Spelling.h"
#include "lib/Support/MakeError.h"

#include <algorithm>
#include <limits>

using namespace tilewright;
using namespace tilewright::expression;

/// Names in a message are cut here; the place shows the rest.
static constexpr size_t maxShownName = 40;

/// "message at column C", then the text around it with a caret below the place.
static Error errorAt(std::string_view text, Span span, std::string_view message) {
  constexpr std::string_view cut = "...";
  constexpr size_t width = maxQuotedLength - 2 * cut.size();
  const size_t half = width / 2;
  size_t begin = span.begin > half ? span.begin - half : 0;
  const size_t end = std::min(begin + width, text.size());
  begin = end - std::min(width, end);
  const std::string_view before = begin > 0 ? cut : "";
  const std::string_view after = end < text.size() ? cut : "";
  const size_t caret = before.size() + span.begin - begin;
  return invalidArgument("{} at column {}\n  {}{}{}\n  {:>{}}", message, span.begin + 1, before,
                         printable(text.substr(begin, end - begin), width), after, '^', caret + 1);
}

namespace {
class Parser {
public:
  Parser(std::string_view text, const Declarations &declarations, Role role)
      : text(text), declarations(declarations), role(role), builder(declarations) {}

  Result<Expression> run();

private:
  using Parsed = Result<NodeId>;

  Parsed parse(int minPrecedence);
  Parsed parsePrefix();
  Parsed parseName();
  Parsed parseCall(const Token &name);
  Parsed parseElement(const Token &name, uint32_t tensor);
  Parsed parseBinary(NodeId left, uint32_t begin, const BinaryOperator &op);
  Parsed parseTernary(NodeId condition, uint32_t begin);
  Parsed parseNumberToken(bool negative, uint32_t begin);
  Result<std::vector<NodeId>> parseList(std::string_view close);

  /// Reads the next token; `current` is always the one not yet used.
  void advance() {
    lastEnd = current.span.end;
    current = nextToken(text, current.span.end);
  }
  Status expect(std::string_view symbol, std::string_view where);
  Span from(uint32_t begin) const { return {begin, lastEnd}; }
  Error error(Span span, std::string_view message) const { return errorAt(text, span, message); }
  Error unexpected(std::string_view wanted) const;
  /// An error of the builder, which knows no place.
  Parsed at(Span span, Parsed built) const {
    return built ? std::move(built) : Parsed(error(span, built.error().message()));
  }
  std::string knownNames() const;

  std::string_view text;
  const Declarations &declarations;
  Role role;
  Builder builder;
  Token current;
  uint32_t lastEnd = 0;
  int depth = 0;
};
} // namespace

static const BinaryOperator *findOperator(const Token &token) {
  for (const BinaryOperator &op : binaryOperators())
    if (token.is(op.text))
      return &op;
  return nullptr;
}

Error Parser::unexpected(std::string_view wanted) const {
  if (current.kind == TokenKind::End)
    return error(current.span, fmt::format("{} expected, but the text ends", wanted));
  std::string_view hint;
  if (current.text == "&" || current.text == "|")
    hint = current.text == "&" ? " (a logical and is `&&`)" : " (a logical or is `||`)";
  else if (current.text == "=")
    hint = " (equality is `==`)";
  return error(current.span, fmt::format("{} expected, not '{}'{}", wanted,
                                         printable(current.text, maxShownName), hint));
}

Status Parser::expect(std::string_view symbol, std::string_view where) {
  if (!current.is(symbol))
    return unexpected(fmt::format("'{}' {}", symbol, where));
  advance();
  return {};
}

std::string Parser::knownNames() const {
  std::vector<std::string_view> names;
  for (size_t i = role == Role::Score ? 0 : 1; i <= static_cast<size_t>(Variable::KVLen); ++i)
    names.push_back(nameOf(static_cast<Variable>(i)));
  for (const Scalar &scalar : declarations.scalars())
    names.push_back(scalar.name);
  for (const Tensor &tensor : declarations.tensors())
    names.push_back(tensor.name);
  return printable(fmt::format("{}", fmt::join(names, ", ")), maxQuotedLength);
}

Result<Expression> Parser::run() {
  advance();
  if (current.kind == TokenKind::End)
    return invalidArgument("the {} is empty", role == Role::Mask ? "mask" : "score");
  Parsed root = parse(ternaryPrecedence);
  if (!root)
    return root.error();
  if (current.kind != TokenKind::End)
    return unexpected("an operator or the end of the text");
  const Span span = from(0);
  Result<Expression> result = std::move(builder).finish(*root, role, std::string(text));
  if (!result)
    return error({0, span.end}, result.error().message());
  return result;
}

Result<NodeId> Parser::parse(int minPrecedence) {
  if (depth == maxDepth)
    return error(current.span, fmt::format("nested deeper than {} levels", maxDepth));
  ++depth;
  const uint32_t begin = current.span.begin;
  Parsed left = parsePrefix();
  while (left) {
    if (current.is("?") && minPrecedence <= ternaryPrecedence) {
      left = parseTernary(*left, begin);
      continue;
    }
    const BinaryOperator *op = findOperator(current);
    if (!op || op->precedence < minPrecedence)
      break;
    left = parseBinary(*left, begin, *op);
  }
  --depth;
  return left;
}

Result<NodeId> Parser::parseBinary(NodeId left, uint32_t begin, const BinaryOperator &op) {
  const Span place = current.span;
  advance();
  Parsed right = parse(op.precedence + 1);
  if (!right)
    return right;
  const BinaryOperator *next = findOperator(current);
  if (op.precedence == comparisonPrecedence && next && next->precedence == comparisonPrecedence)
    return error(current.span, "comparisons do not chain; write `a < b && b < c`");
  return at(place, builder.apply(op.kind, {left, *right}, from(begin)));
}

Result<NodeId> Parser::parseTernary(NodeId condition, uint32_t begin) {
  const Span place = current.span;
  advance();
  Parsed whenTrue = parse(ternaryPrecedence);
  if (!whenTrue)
    return whenTrue;
  if (Status status = expect(":", "of `? :`"); !status)
    return status.error();
  Parsed whenFalse = parse(ternaryPrecedence);
  if (!whenFalse)
    return whenFalse;
  return at(place, builder.apply(Kind::Select, {condition, *whenTrue, *whenFalse}, from(begin)));
}

Result<NodeId> Parser::parsePrefix() {
  const Token token = current;
  if (token.is("-") || token.is("!")) {
    advance();
    const bool isNumber = current.kind == TokenKind::Number ||
                          (current.kind == TokenKind::Name && current.text == "inf");
    if (token.is("-") && isNumber)
      return parseNumberToken(true, token.span.begin);
    Parsed operand = parse(prefixPrecedence);
    if (!operand)
      return operand;
    const Kind kind = token.is("-") ? Kind::Negate : Kind::Not;
    return at(token.span, builder.apply(kind, {*operand}, from(token.span.begin)));
  }
  if (token.is("(")) {
    advance();
    Parsed inner = parse(ternaryPrecedence);
    if (!inner)
      return inner;
    if (Status status = expect(")", "to close '('"); !status)
      return status.error();
    return inner;
  }
  if (token.kind == TokenKind::Number)
    return parseNumberToken(false, token.span.begin);
  if (token.kind == TokenKind::Name)
    return parseName();
  return unexpected("a value");
}

Result<NodeId> Parser::parseNumberToken(bool negative, uint32_t begin) {
  const Token token = current;
  // A minus directly before a number belongs to it, so that the smallest i32 can be written.
  Result<Number> number =
      parseNumber(negative ? fmt::format("-{}", token.text) : std::string(token.text));
  if (!number)
    return error(token.span, number.error().message());
  advance();
  if (number->type == Type::I32)
    return builder.integer(static_cast<int32_t>(number->value), from(begin));
  return builder.real(number->value, from(begin));
}

Result<NodeId> Parser::parseName() {
  const Token name = current;
  if (name.text == "inf")
    return parseNumberToken(false, name.span.begin);
  advance();
  if (name.text == "true" || name.text == "false")
    return builder.boolean(name.text == "true", name.span);
  if (current.is("("))
    return parseCall(name);
  for (size_t i = 0; i <= static_cast<size_t>(Variable::KVLen); ++i) {
    const Variable variable = static_cast<Variable>(i);
    if (name.text != nameOf(variable))
      continue;
    if (variable == Variable::S && role == Role::Mask)
      return error(name.span, "unknown name 's' in a mask: masks do not see the score");
    return builder.variable(variable, name.span);
  }
  if (std::optional<uint32_t> scalar = declarations.findScalar(name.text)) {
    if (current.is("["))
      return error(name.span, fmt::format("'{}' is a scalar and has no elements", name.text));
    return builder.scalar(*scalar, name.span);
  }
  if (std::optional<uint32_t> tensor = declarations.findTensor(name.text))
    return parseElement(name, *tensor);
  const std::string shown = printable(name.text, maxShownName);
  if (isReservedName(name.text))
    return error(name.span, fmt::format("'{}' is a function and wants '('", shown));
  return error(name.span, fmt::format("unknown {} '{}'; known are {}",
                                      current.is("[") ? "tensor" : "name", shown, knownNames()));
}

Result<NodeId> Parser::parseElement(const Token &name, uint32_t tensor) {
  if (!current.is("["))
    return error(name.span, fmt::format("'{}' is a tensor of rank {} and wants '[' and indices",
                                        name.text, declarations.tensors()[tensor].rank));
  advance();
  Result<std::vector<NodeId>> indices = parseList("]");
  if (!indices)
    return indices.error();
  return at(name.span, builder.element(tensor, *indices, from(name.span.begin)));
}

Result<NodeId> Parser::parseCall(const Token &name) {
  const auto function = std::ranges::find(functions(), name.text, &Function::name);
  const bool isClamp = name.text == "clamp";
  if (!isClamp && function == functions().end()) {
    std::vector<std::string_view> names = {"clamp"};
    for (const Function &known : functions())
      names.push_back(known.name);
    return error(name.span,
                 fmt::format("unknown function '{}'; known are {}",
                             printable(name.text, maxShownName), fmt::join(names, ", ")));
  }
  advance();
  Result<std::vector<NodeId>> arguments = parseList(")");
  if (!arguments)
    return arguments.error();
  const Span span = from(name.span.begin);
  const size_t count = isClamp ? 3 : operandCount(function->kind);
  if (arguments->size() != count)
    return error(name.span, fmt::format("'{}' takes {} argument{}, not {}", name.text, count,
                                        count == 1 ? "" : "s", arguments->size()));
  if (!isClamp)
    return at(name.span, builder.apply(function->kind, *arguments, span));
  const std::vector<NodeId> &a = *arguments;
  Parsed raised = at(name.span, builder.apply(Kind::Max, {a[0], a[1]}, span));
  return raised ? at(name.span, builder.apply(Kind::Min, {*raised, a[2]}, span)) : raised;
}

Result<std::vector<NodeId>> Parser::parseList(std::string_view close) {
  std::vector<NodeId> list;
  while (true) {
    Parsed item = parse(ternaryPrecedence);
    if (!item)
      return item.error();
    list.push_back(*item);
    if (current.is(close))
      break;
    if (!current.is(","))
      return unexpected(fmt::format("',' or '{}'", close));
    advance();
  }
  advance();
  return list;
}

Result<Expression> tilewright::expression::parse(std::string_view text,
                                                 const Declarations &declarations, Role role) {
  if (text.size() > maxTextLength)
    return invalidArgument("an expression of {} characters; at most {} are allowed", text.size(),
                           maxTextLength);
  return Parser(text, declarations, role).run();
}
