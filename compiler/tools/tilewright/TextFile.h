//===- TextFile.h - Reads files of text -------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_TEXTFILE_H
#define TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_TEXTFILE_H

#include <tilewright/result.h>

#include <cstdint>
#include <string>

namespace tilewright::tool {

/// All of a regular file of at most `maxBytes`. Errors name the path.
Result<std::string> readTextFile(const std::string &path, uint64_t maxBytes);

} // namespace tilewright::tool

#endif // TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_TEXTFILE_H
