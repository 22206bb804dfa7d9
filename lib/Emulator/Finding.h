//===- Finding.h - What the emulator has to say -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_LIB_EMULATOR_FINDING_H
#define TILEWRIGHT_LIB_EMULATOR_FINDING_H

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::emulator {

enum class FindingKind : uint8_t {
  Race,              ///< Two accesses, or an arrival and a phase, that nothing orders.
  MissingProxyFence, ///< Ordered, but without the fence between ordinary and async accesses.
  InFlightRegister,  ///< A register of a wgmma that was not waited for.
  MissingWgmmaFence, ///< A register touched after the last wgmma.fence enters a wgmma.
  Unwritten,         ///< A byte is read that nobody wrote.
  OutOfBounds,       ///< An address outside of every tensor, or of the block's memory.
  ReadOnly,          ///< A write to a tensor that the launch declares as an input.
  Misaligned,
  Mbarrier,     ///< Misuse of an mbarrier: counts, phases, lifetime.
  NamedBarrier, ///< Misuse of a named barrier.
  NonUniform,   ///< Lanes or warps that must agree do not.
  Descriptor,   ///< A matrix descriptor that the hardware would misread.
  TensorMap,    ///< A tensor map or coordinate that the hardware refuses.
  Registers,    ///< Misuse of setmaxnreg.
  Deadlock,     ///< No warp can go on.
  Unfinished,   ///< A block ends while its asynchronous work is in flight.
  Trap,         ///< trap was executed.
  Budget,       ///< The instruction budget is used up.
  Unsupported,  ///< Legal, but not modelled.
};

std::string_view nameOf(FindingKind kind);

/// A line of the PTX with its text, and the source line that its `.loc` names, if any.
struct CodeLine {
  uint32_t line = 0;
  std::string text;
  std::string source;
};

/// Where a warp stands in a deadlock.
struct WaitingWarp {
  std::array<uint32_t, 3> block{};
  uint32_t warp = 0;
  CodeLine at;
  std::string reason;
};

struct Finding {
  FindingKind kind = FindingKind::Race;
  std::string message;
  CodeLine at;
  std::optional<CodeLine> other; ///< The access, arrival or initialisation that conflicts.
  std::array<uint32_t, 3> block{};
  std::optional<uint32_t> warp;
  uint64_t seed = 0;
  /// "shared", "global", ... and the address in that space; empty where no address is involved.
  std::string space;
  uint64_t address = 0;
  /// "byte 512 of stage 1 of ring keys", "byte 0 of query"; empty where the launch has no name for
  /// the address.
  std::string place;
  std::vector<WaitingWarp> waiting; ///< Of a deadlock.
};

/// Several lines for a reader, without a trailing newline.
std::string toText(const Finding &finding);

/// One JSON object.
std::string toJson(const Finding &finding);

/// `text` as a JSON string with its quotes.
std::string jsonString(std::string_view text);

} // namespace tilewright::emulator

#endif // TILEWRIGHT_LIB_EMULATOR_FINDING_H
