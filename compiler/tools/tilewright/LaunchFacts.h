//===- LaunchFacts.h - What a launch takes of a GPU -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_LAUNCHFACTS_H
#define TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_LAUNCHFACTS_H

#include "compiler/tools/tilewright/CompiledProgram.h"

namespace tilewright::tool {

/// How many blocks a multiprocessor holds at a time, and which of its resources say so.
struct Occupancy {
  int64_t blocks = 0;
  std::string limit;
};

/// Of sm_90a; registers as given at launch.
Occupancy occupancyOf(const KernelLaunch &launch);

/// The part of `explain` on how the kernel is launched for these sizes. Nothing of it asks a GPU;
/// what takes ptxas says so where there is none.
Result<std::string> describeLaunch(const CompiledProgram &program, const ProblemSizes &sizes);

} // namespace tilewright::tool

#endif // TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_LAUNCHFACTS_H
