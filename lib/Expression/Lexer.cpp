//===- Lexer.cpp - Tokens of an expression --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Expression/Lexer.h"

using namespace tilewright::expression;

// Longer symbols come before their prefixes.
static constexpr std::string_view symbols[] = {"&&", "||", "==", "!=", "<=", ">=", "//", "<",
                                               ">",  "+",  "-",  "*",  "/",  "%",  "!",  "?",
                                               ":",  "(",  ")",  "[",  "]",  ","};

static bool isSpace(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

static bool isNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || isDigit(c);
}

static size_t endOfNumber(std::string_view text, size_t begin) {
  size_t end = begin;
  while (end < text.size()) {
    const char last = end == begin ? '\0' : text[end - 1];
    const bool exponentSign =
        (text[end] == '+' || text[end] == '-') && (last == 'e' || last == 'E');
    if (!isNameCharacter(text[end]) && text[end] != '.' && !exponentSign)
      break;
    ++end;
  }
  return end;
}

static Token token(TokenKind kind, std::string_view text, size_t begin, size_t end) {
  return {kind,
          text.substr(begin, end - begin),
          {static_cast<uint32_t>(begin), static_cast<uint32_t>(end)}};
}

Token tilewright::expression::nextToken(std::string_view text, size_t offset) {
  while (offset < text.size() && isSpace(text[offset]))
    ++offset;
  if (offset == text.size())
    return token(TokenKind::End, text, offset, offset);
  const std::string_view rest = text.substr(offset);
  if (isDigit(rest[0]) || (rest[0] == '.' && rest.size() > 1 && isDigit(rest[1])))
    return token(TokenKind::Number, text, offset, endOfNumber(text, offset));
  if (isNameCharacter(rest[0])) {
    size_t end = offset;
    while (end < text.size() && isNameCharacter(text[end]))
      ++end;
    return token(TokenKind::Name, text, offset, end);
  }
  for (std::string_view symbol : symbols)
    if (rest.starts_with(symbol))
      return token(TokenKind::Symbol, text, offset, offset + symbol.size());
  return token(TokenKind::Unknown, text, offset, offset + 1);
}
