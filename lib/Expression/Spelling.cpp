//===- Spelling.cpp - How the kinds of nodes are written ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Expression/Spelling.h"

#include <algorithm>
#include <array>

using namespace tilewright::expression;

static constexpr BinaryOperator operatorTable[] = {
    {Kind::Or, "||", orPrecedence},
    {Kind::And, "&&", andPrecedence},
    {Kind::Equal, "==", comparisonPrecedence},
    {Kind::NotEqual, "!=", comparisonPrecedence},
    {Kind::LessEqual, "<=", comparisonPrecedence},
    {Kind::GreaterEqual, ">=", comparisonPrecedence},
    {Kind::Less, "<", comparisonPrecedence},
    {Kind::Greater, ">", comparisonPrecedence},
    {Kind::Add, "+", sumPrecedence},
    {Kind::Subtract, "-", sumPrecedence},
    {Kind::FloorDiv, "//", productPrecedence},
    {Kind::Multiply, "*", productPrecedence},
    {Kind::Divide, "/", productPrecedence},
    {Kind::FloorMod, "%", productPrecedence},
};

static constexpr Function functionTable[] = {
    {Kind::Min, "min"},   {Kind::Max, "max"},     {Kind::Abs, "abs"},     {Kind::Exp, "exp"},
    {Kind::Exp2, "exp2"}, {Kind::Log, "log"},     {Kind::Log2, "log2"},   {Kind::Tanh, "tanh"},
    {Kind::Sqrt, "sqrt"}, {Kind::Floor, "floor"}, {Kind::ToReal, "real"},
};

static constexpr std::array<std::string_view, 8> variableNames = {"s", "b", "h",     "hkv",
                                                                  "q", "k", "q_len", "kv_len"};
static constexpr std::array<std::string_view, 4> typeNames = {"i1", "i32", "i64", "real"};

std::span<const BinaryOperator> tilewright::expression::binaryOperators() {
  return operatorTable;
}

std::span<const Function> tilewright::expression::functions() {
  return functionTable;
}

std::string_view tilewright::expression::nameOf(Variable variable) {
  return variableNames[static_cast<size_t>(variable)];
}

std::string_view tilewright::expression::nameOf(Type type) {
  return typeNames[static_cast<size_t>(type)];
}

std::string_view tilewright::expression::spellingOf(Kind kind) {
  for (const BinaryOperator &op : operatorTable)
    if (op.kind == kind)
      return op.text;
  for (const Function &function : functionTable)
    if (function.kind == kind)
      return function.name;
  switch (kind) {
  case Kind::Not:
    return "!";
  case Kind::Negate:
    return "-";
  case Kind::Select:
    return "?:";
  case Kind::ToI64:
    return "i64";
  default:
    return "element";
  }
}

bool tilewright::expression::isReservedName(std::string_view name) {
  const auto isFunction = [&](const Function &function) { return function.name == name; };
  return name == "true" || name == "false" || name == "inf" || name == "clamp" ||
         std::ranges::find(variableNames, name) != variableNames.end() ||
         std::ranges::any_of(functionTable, isFunction);
}

std::string tilewright::expression::printable(std::string_view text, size_t limit) {
  const bool cut = text.size() > limit;
  std::string result(cut ? text.substr(0, limit - 3) : text);
  for (char &c : result)
    if (c == '\n' || c == '\t' || c == '\r')
      c = ' ';
    else if (c < ' ' || c > '~')
      c = '?';
  if (cut)
    result += "...";
  return result;
}
