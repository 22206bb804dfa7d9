//===- ReferenceInput.h - What the reference computes -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_REFERENCEINPUT_H
#define TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_REFERENCEINPUT_H

#include "compiler/tools/tilewright/LaunchInput.h"
#include "lib/Reference/Reference.h"

namespace tilewright::tool {

/// The problem on the tensors and values of a launch. Refused: a scalar or tensor of the problem
/// that has no value.
Result<reference::Problem> makeReference(const ParsedProblem &problem, const LaunchInput &input);

} // namespace tilewright::tool

#endif // TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_REFERENCEINPUT_H
