//===- tilewright.h - Compile attention kernels and run them ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_TILEWRIGHT_H
#define TILEWRIGHT_TILEWRIGHT_H

#include <tilewright/compiler.h>
#include <tilewright/runtime.h>

#endif // TILEWRIGHT_TILEWRIGHT_H
