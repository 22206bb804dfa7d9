//===- Mutations.h - Faults planted into PTX --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_TESTS_EMULATOR_MUTATIONS_H
#define TILEWRIGHT_TESTS_EMULATOR_MUTATIONS_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::emulator::test {

/// One instruction of a kernel, dropped or changed.
struct Mutant {
  std::string kind; ///< "drop wgmma.wait_group", ...
  uint32_t line;    ///< From 1.
  std::string replacement;
};

/// All faults for the protocol instructions of a kernel whose K stages have `stageBytes`. Of the
/// operands of wgmma, which are hundreds, one in `sample`.
std::vector<Mutant> mutate(std::string_view ptx, uint32_t stageBytes, uint32_t sample);

std::string plant(std::string_view ptx, const Mutant &mutant);

} // namespace tilewright::emulator::test

#endif // TILEWRIGHT_TESTS_EMULATOR_MUTATIONS_H
