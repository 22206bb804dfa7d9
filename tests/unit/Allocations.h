//===- Allocations.h - How often a thread allocates -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_TESTS_UNIT_ALLOCATIONS_H
#define TILEWRIGHT_TESTS_UNIT_ALLOCATIONS_H

#include <cstddef>

namespace tilewright {

/// Calls of operator new by this thread so far. A program that asks replaces operator new.
size_t allocationsOfThread();

} // namespace tilewright

#endif // TILEWRIGHT_TESTS_UNIT_ALLOCATIONS_H
