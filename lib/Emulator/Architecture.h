//===- Architecture.h - What a GPU generation offers ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One description per architecture: how large a block may be and which families
// of instructions exist. A new generation is a row here plus the files that
// execute its new instructions.
//
// The sizes are those of the CUDA programming guide, "Compute Capabilities".
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_LIB_EMULATOR_ARCHITECTURE_H
#define TILEWRIGHT_LIB_EMULATOR_ARCHITECTURE_H

#include "tilewright/result.h"

#include <cstdint>
#include <string_view>

namespace tilewright::emulator {

/// Families of instructions; each generation has the families before it, too.
enum class InstructionSet : uint8_t {
  /// Integer, floating point, memory, named barriers, warp-wide instructions.
  Base,
  /// mma.sync, ldmatrix, cp.async, mbarrier.
  Ampere,
  /// Bulk copies, transaction counts, stmatrix, elect, fences between proxies.
  Hopper,
  /// wgmma and setmaxnreg: sm_90a alone.
  HopperSpecific,
};

struct Architecture {
  std::string_view name;
  InstructionSet instructions;
  uint32_t maxThreadsPerBlock;
  /// Shared memory of one block, static and dynamic together, in bytes.
  uint32_t maxSharedBytes;
  /// Bytes at the start of shared memory that the system keeps: a block's own begin behind them.
  uint32_t reservedSharedBytes;
  /// 32-bit registers of one block.
  uint32_t registersPerBlock;
  /// Limits of setmaxnreg and of what a launch gives to a thread.
  uint32_t minRegistersPerThread, maxRegistersPerThread;
  uint32_t namedBarriers;
};

/// The description behind a `.target` name; an error for names that nobody knows and for
/// generations whose instructions are not modelled.
Result<const Architecture *> findArchitecture(std::string_view name);

} // namespace tilewright::emulator

#endif // TILEWRIGHT_LIB_EMULATOR_ARCHITECTURE_H
