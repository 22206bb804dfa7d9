//===- JsonNesting.h - How deep brackets of JSON are nested -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_LIB_SUPPORT_JSONNESTING_H
#define TILEWRIGHT_LIB_SUPPORT_JSONNESTING_H

#include <cstddef>
#include <string_view>

namespace tilewright {

/// How deep brackets outside of strings are nested in a text, JSON or not. LLVM's parser of JSON
/// recurses without a limit, so whoever reads a stranger's text asks this first.
size_t jsonNesting(std::string_view text);

} // namespace tilewright

#endif // TILEWRIGHT_LIB_SUPPORT_JSONNESTING_H
