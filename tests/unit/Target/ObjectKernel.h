//===- ObjectKernel.h - An object's functions as a kernel -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_TESTS_UNIT_TARGET_OBJECTKERNEL_H
#define TILEWRIGHT_TESTS_UNIT_TARGET_OBJECTKERNEL_H

#include <tilewright/compiler.h>

namespace tilewright::test {

/// The object of a compilation, placed in memory and called as a program in C would: on one thread
/// by NAME_run, on several by NAME_check and NAME_run_item. A status is an error whose message
/// begins with its number.
Result<Kernel> makeObjectKernel(const Compilation &compilation);

} // namespace tilewright::test

#endif // TILEWRIGHT_TESTS_UNIT_TARGET_OBJECTKERNEL_H
