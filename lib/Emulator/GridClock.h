//===- GridClock.h - What a warp knows of other blocks ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The vector clock across blocks: for each block that was heard of, the epochs of
// its warps. It only changes at an acquire, so copies share one.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_LIB_EMULATOR_GRIDCLOCK_H
#define TILEWRIGHT_LIB_EMULATOR_GRIDCLOCK_H

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace tilewright::emulator {

constexpr uint32_t maxWarps = 32;

class GridClock {
public:
  using Shared = std::shared_ptr<const GridClock>;
  using Epochs = std::array<uint32_t, maxWarps>;

  /// The epochs of a block, or null.
  const Epochs *find(uint32_t block) const;
  bool knows(uint32_t block, uint32_t warp, uint32_t epoch) const {
    const Epochs *epochs = find(block);
    return epochs && (*epochs)[warp] >= epoch;
  }
  bool includes(const GridClock &other) const;
  size_t bytes() const { return sizeof *this + blocks.size() * sizeof blocks[0]; }

  /// What both know; null knows nothing.
  static Shared joined(const Shared &a, const Shared &b);
  /// `clock` and the epochs of one block.
  static Shared with(const Shared &clock, uint32_t block, const Epochs &epochs);

private:
  void learn(uint32_t block, const Epochs &epochs);

  std::vector<std::pair<uint32_t, Epochs>> blocks; ///< Sorted.
};

} // namespace tilewright::emulator

#endif // TILEWRIGHT_LIB_EMULATOR_GRIDCLOCK_H
