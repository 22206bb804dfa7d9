//===- OptionTable.h - The table made from Options.td -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_OPTIONTABLE_H
#define TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_OPTIONTABLE_H

#include "compiler/tools/tilewright/Options.h"

#include "llvm/Option/OptTable.h"

namespace tilewright::tool {

/// The visibilities of Options.td.
enum OptionVisibility : unsigned {
  MainVis = 1 << 1,
  CompileVis = 1 << 2,
  RunVis = 1 << 3,
  BenchVis = 1 << 4,
  TuneVis = 1 << 5,
  ExplainVis = 1 << 6,
  EmulateVis = 1 << 7,
};

/// The visibility of a subcommand's options, or of the program's own.
inline llvm::opt::Visibility visibilityOf(std::optional<Subcommand> subcommand) {
  return llvm::opt::Visibility(subcommand ? CompileVis << static_cast<unsigned>(*subcommand)
                                          : MainVis);
}

enum OptionId {
  OPT_INVALID = 0,
#define OPTION(...) LLVM_MAKE_OPT_ID(__VA_ARGS__),
#include "compiler/tools/tilewright/Options.inc"
#undef OPTION
};

const llvm::opt::OptTable &optionTable();

} // namespace tilewright::tool

#endif // TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_OPTIONTABLE_H
