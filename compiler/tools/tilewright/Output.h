//===- Output.h - Where results and messages go -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_OUTPUT_H
#define TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_OUTPUT_H

#include <tilewright/compiler.h>

namespace tilewright::tool {

/// Writes all of it to stdout.
Status writeStdout(std::string_view bytes);

/// Writes a file as a whole, or to stdout if `path` is "-".
Status writeFile(const std::string &path, std::string_view bytes);

/// "tilewright: error: ..." on stderr.
void printError(const Error &error);

/// One line on stderr for each remark.
void printRemarks(const std::vector<Remark> &remarks);

/// The exit codes that --help lists: 2, 3 or 4.
int exitCodeOf(const Error &error);

/// "0.4 MiB", with one decimal from KiB on.
std::string formatBytes(double bytes);

} // namespace tilewright::tool

#endif // TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_OUTPUT_H
