//===- JsonNesting.cpp - How deep brackets of JSON are nested -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Support/JsonNesting.h"

#include <algorithm>

size_t tilewright::jsonNesting(std::string_view text) {
  size_t depth = 0, deepest = 0;
  bool inString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (inString && c == '\\')
      ++i;
    else if (c == '"')
      inString = !inString;
    else if (!inString && (c == '{' || c == '['))
      deepest = std::max(deepest, ++depth);
    else if (!inString && (c == '}' || c == ']') && depth)
      --depth;
  }
  return deepest;
}
