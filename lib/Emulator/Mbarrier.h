//===- Mbarrier.h - Barriers in shared memory -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier".
// A phase completes when no arrival is pending and the transaction count is
// zero. A wait for parity p passes when (phase & 1) != p.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_LIB_EMULATOR_MBARRIER_H
#define TILEWRIGHT_LIB_EMULATOR_MBARRIER_H

#include "lib/Emulator/Clocks.h"

#include <cstdint>
#include <vector>

namespace tilewright::emulator {

struct Mbarrier {
  uint32_t address = 0;
  bool live = true; ///< Not invalidated.
  uint32_t count = 0, pending = 0, phase = 0;
  int64_t transactions = 0;
  uint32_t copiesInFlight = 0;
  uint32_t initWarp = 0, initEpoch = 0, initLine = 0;
  Clocks arriving; ///< What the arrivals of this phase publish.
  Clocks complete; ///< What a passed wait acquires.
  uint32_t arrivedWarps = 0;
  std::vector<uint32_t> waiters;
};

} // namespace tilewright::emulator

#endif // TILEWRIGHT_LIB_EMULATOR_MBARRIER_H
