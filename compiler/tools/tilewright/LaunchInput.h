//===- LaunchInput.h - A kernel and what it is run on -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_LAUNCHINPUT_H
#define TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_LAUNCHINPUT_H

#include "compiler/Explain/BlockMap.h"
#include "compiler/tools/tilewright/CompiledProgram.h"
#include "compiler/tools/tilewright/RunTensors.h"

namespace tilewright::tool {

struct LaunchInput {
  CompiledProgram program;
  RunTensors tensors;
  /// Views of `tensors` and of the program's own.
  Arguments arguments;

  /// What the kernel visits of one head. A hand-written program need not be one walk over blocks:
  /// then the error says why they are not known.
  Result<BlockMap> blocks() const;
  double operationsOf(const BlockMap &blocks) const;
};

/// Does what run and bench have in common: options, program, tensors.
Result<LaunchInput> prepareLaunch(const Options &options);

} // namespace tilewright::tool

#endif // TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_LAUNCHINPUT_H
