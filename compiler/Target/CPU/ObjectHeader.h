//===- ObjectHeader.h - The header of an object -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TARGET_CPU_OBJECTHEADER_H
#define TILEWRIGHT_COMPILER_TARGET_CPU_OBJECTHEADER_H

#include "compiler/Target/CPU/ObjectFunctions.h"

namespace tilewright {

/// The text of a header in C11 and C++ that declares the functions of an object and says what they
/// take; `module` is the kernel's.
Result<std::string> objectHeader(const llvm::Module &module, const ObjectDescription &object,
                                 const CpuTarget &target, const std::string &schedule);

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_TARGET_CPU_OBJECTHEADER_H
