//===- Lexer.h - Tokens of an expression ------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_LIB_EXPRESSION_LEXER_H
#define TILEWRIGHT_LIB_EXPRESSION_LEXER_H

#include "lib/Expression/Expression.h"

namespace tilewright::expression {

enum class TokenKind : uint8_t {
  End,
  Number,
  Name,
  Symbol,  // an operator or bracket: the longest that the language knows
  Unknown, // a character that starts none
};

struct Token {
  TokenKind kind = TokenKind::End;
  std::string_view text;
  Span span;

  bool is(std::string_view symbol) const { return kind == TokenKind::Symbol && text == symbol; }
};

/// Returns the token at or after `offset`; the next one starts at its span's end. A number takes
/// all letters and digits that follow it, so that `5x` is one wrong number.
Token nextToken(std::string_view text, size_t offset);

} // namespace tilewright::expression

#endif // TILEWRIGHT_LIB_EXPRESSION_LEXER_H
