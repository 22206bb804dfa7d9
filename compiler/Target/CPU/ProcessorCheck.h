//===- ProcessorCheck.h - Whether a processor can run the code --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TARGET_CPU_PROCESSORCHECK_H
#define TILEWRIGHT_COMPILER_TARGET_CPU_PROCESSORCHECK_H

#include "compiler/Target/CPU/CheckBuilder.h"

namespace llvm {
class MCSubtargetInfo;
} // namespace llvm

namespace tilewright {

/// The features of `processor` that generated code may use and that some x86-64 processors lack, as
/// LLVM calls them; those of AMX only where the code is known to. None for AArch64, where a program
/// cannot ask the processor.
std::vector<std::string> requiredFeatures(const llvm::MCSubtargetInfo &processor, bool usesAmx);

/// False for AVX10.2, which is a version and no bit: no check for it is written yet.
bool canBeAsked(const llvm::MCSubtargetInfo &processor);

/// Returns `wrongProcessor` unless the processor has the required features and the system saves
/// their registers, and `amxRefused` if the code uses AMX and Linux does not let the process.
void addProcessorCheck(CheckBuilder &b, const llvm::MCSubtargetInfo &processor, bool usesAmx,
                       int32_t wrongProcessor, int32_t amxRefused);

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_TARGET_CPU_PROCESSORCHECK_H
