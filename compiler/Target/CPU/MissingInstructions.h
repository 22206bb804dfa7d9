//===- MissingInstructions.h - What a processor cannot do -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where a processor has no instruction for an operation, LLVM calls a function
// of the math library or of the compiler's. Kernels call nothing.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TARGET_CPU_MISSINGINSTRUCTIONS_H
#define TILEWRIGHT_COMPILER_TARGET_CPU_MISSINGINSTRUCTIONS_H

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace tilewright {

/// Writes out, in integer and floating-point operations on the same vectors, what `machine` would
/// call a function for: floor on x86-64 without SSE4.1, conversions between f16 and wider types on
/// x86-64 without F16C, and what it makes of bf16 that passes from block to block. Results are the
/// same to the bit, NaN payloads aside.
void writeOutMissingInstructions(llvm::Module &module, const llvm::TargetMachine &machine);

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_TARGET_CPU_MISSINGINSTRUCTIONS_H
