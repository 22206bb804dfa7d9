//===- Commands.h - The subcommands -----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_COMMANDS_H
#define TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_COMMANDS_H

#include "compiler/tools/tilewright/Options.h"

namespace tilewright::tool {

/// Each does what its help says and returns the program's exit code, 0 or 1, or the error.
Result<int> runCompile(const Options &options);
Result<int> runRun(const Options &options);
Result<int> runBench(const Options &options);
Result<int> runTune(const Options &options);
Result<int> runExplain(const Options &options);
Result<int> runEmulate(const Options &options);

/// All of the program; a function, so that others can hold it too.
int programMain(int argc, char **argv);

} // namespace tilewright::tool

#endif // TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_COMMANDS_H
