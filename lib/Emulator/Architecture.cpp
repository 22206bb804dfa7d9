//===- Architecture.cpp - What a GPU generation offers --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Emulator/Architecture.h"

#include "lib/Support/MakeError.h"

using namespace tilewright;
using namespace tilewright::emulator;

namespace {
constexpr Architecture architectures[] = {
    {"sm_80", InstructionSet::Ampere, 1024, 163 * 1024, 1024, 65536, 24, 248, 16},
    {"sm_90", InstructionSet::Hopper, 1024, 227 * 1024, 1024, 65536, 24, 248, 16},
    {"sm_90a", InstructionSet::HopperSpecific, 1024, 227 * 1024, 1024, 65536, 24, 248, 16},
};
} // namespace

Result<const Architecture *> emulator::findArchitecture(std::string_view name) {
  for (const Architecture &architecture : architectures)
    if (architecture.name == name)
      return &architecture;
  if (name.starts_with("sm_10") || name.starts_with("sm_11") || name.starts_with("sm_12"))
    return unsupported("target '{}': tensor memory and tcgen05 are not modelled; "
                       "the emulator knows sm_80, sm_90 and sm_90a",
                       name);
  return unsupported("target '{}': the emulator knows sm_80, sm_90 and sm_90a", name);
}
