//===- Parse.h - Expressions from text and back -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_LIB_EXPRESSION_PARSE_H
#define TILEWRIGHT_LIB_EXPRESSION_PARSE_H

#include "lib/Expression/Expression.h"

namespace tilewright::expression {

/// Longer text is refused.
constexpr size_t maxTextLength = size_t{64} << 10;
/// Brackets, function calls, prefix operators and right-hand sides nest no deeper.
constexpr int maxDepth = 256;
/// Messages quote no more characters of an expression than this.
constexpr size_t maxQuotedLength = 120;

/// Parses and types `text`. An error names what is wrong and shows the place:
///
///   unknown name 'widow' in a mask at column 9
///     q - k < widow
///             ^
Result<Expression> parse(std::string_view text, const Declarations &declarations, Role role);

/// Text that parses to the same tree (conversions to real are spelled out). A shared value is
/// printed at each use, so output is cut at `maxLength` bytes, with "..." for the rest.
std::string toString(const Expression &expression, const Declarations &declarations, NodeId node,
                     size_t maxLength = maxTextLength);
std::string toString(const Expression &expression, const Declarations &declarations);

/// A sub-expression for a message: its own source text where it has one, otherwise toString; at
/// most maxQuotedLength characters.
std::string quote(const Expression &expression, const Declarations &declarations, NodeId node);

} // namespace tilewright::expression

#endif // TILEWRIGHT_LIB_EXPRESSION_PARSE_H
