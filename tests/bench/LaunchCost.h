//===- LaunchCost.h - The host's time for a launch --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_TESTS_BENCH_LAUNCHCOST_H
#define TILEWRIGHT_TESTS_BENCH_LAUNCHCOST_H

namespace tilewright {

/// Prints the microseconds that a launch of a small kernel takes of its calling thread, from C++
/// and through the C interface, and how often it allocates. Returns the exit code: 0 where there is
/// no GPU too, which is said instead.
int measureLaunchCost();

} // namespace tilewright

#endif // TILEWRIGHT_TESTS_BENCH_LAUNCHCOST_H
