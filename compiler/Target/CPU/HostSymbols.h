//===- HostSymbols.h - Functions that generated code may call ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TARGET_CPU_HOSTSYMBOLS_H
#define TILEWRIGHT_COMPILER_TARGET_CPU_HOSTSYMBOLS_H

#include <span>

namespace tilewright {

struct HostSymbol {
  const char *name;
  void *address;
};

/// All that code in memory can see of this process: memory and mathematical functions of the C
/// library, and conversions that the code generator calls where a processor has no instruction.
std::span<const HostSymbol> hostSymbols();

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_TARGET_CPU_HOSTSYMBOLS_H
