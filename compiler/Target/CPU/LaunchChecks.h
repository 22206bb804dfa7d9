//===- LaunchChecks.h - What an object checks before it runs ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TARGET_CPU_LAUNCHCHECKS_H
#define TILEWRIGHT_COMPILER_TARGET_CPU_LAUNCHCHECKS_H

#include "compiler/Target/CPU/ArgumentsStruct.h"
#include "compiler/Target/CPU/CheckBuilder.h"

namespace tilewright {

/// Writes the checks of the extents, which is all that the size of a workspace depends on.
void addExtentChecks(CheckBuilder &b, const ArgumentsStruct &arguments);

/// Writes the other checks of runtime/LaunchArguments.h that types leave to be made: of the memory
/// of each tensor, of outputs, of scalars, of the expressions. After those of the extents.
void addArgumentChecks(CheckBuilder &b, const ArgumentsStruct &arguments);

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_TARGET_CPU_LAUNCHCHECKS_H
