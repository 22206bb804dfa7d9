//===- EmulatedAmx.h - Kernels for AMX where there is none ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code for AMX and AVX-512 with everything that an older machine lacks written
// out: a tile becomes a buffer of its own, and an operation on tiles loops over
// buffers. What is not replaced, and so is tested, is all that lies between these
// operations.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_TESTS_UNIT_TARGET_EMULATEDAMX_H
#define TILEWRIGHT_TESTS_UNIT_TARGET_EMULATEDAMX_H

#include <tilewright/compiler.h>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace tilewright::test {

/// Replaces the operations of the amx dialect and AVX-512's own instructions in vector code.
void writeOutAmx(mlir::ModuleOp module);

/// A kernel for this machine of a compilation for one with AMX or AVX-512.
Result<Kernel> emulateAmx(const Compilation &compilation);

} // namespace tilewright::test

#endif // TILEWRIGHT_TESTS_UNIT_TARGET_EMULATEDAMX_H
