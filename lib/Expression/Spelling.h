//===- Spelling.h - How the kinds of nodes are written ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One table of functions and one of operators, read by the parser, the printer
// and the messages of the builder.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_LIB_EXPRESSION_SPELLING_H
#define TILEWRIGHT_LIB_EXPRESSION_SPELLING_H

#include "lib/Expression/Expression.h"

namespace tilewright::expression {

/// How tightly operators bind, as in C. Comparisons are one level, since they do not chain.
enum Precedence : int {
  ternaryPrecedence = 1,
  orPrecedence,
  andPrecedence,
  comparisonPrecedence,
  sumPrecedence,
  productPrecedence,
  prefixPrecedence,
  primaryPrecedence,
};

struct BinaryOperator {
  Kind kind;
  std::string_view text;
  Precedence precedence;
};

std::span<const BinaryOperator> binaryOperators();

struct Function {
  Kind kind;
  std::string_view name;
};

/// Functions of one node. `clamp`, which is made of two, is the parser's.
std::span<const Function> functions();

/// The operator or function that makes a node of this kind, for messages.
std::string_view spellingOf(Kind kind);

/// Variables, functions and literals.
bool isReservedName(std::string_view name);

/// The text for a message: at most `limit` characters ("..." at the cut), control and non-ASCII
/// bytes as '?'.
std::string printable(std::string_view text, size_t limit);

} // namespace tilewright::expression

#endif // TILEWRIGHT_LIB_EXPRESSION_SPELLING_H
