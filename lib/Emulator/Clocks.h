//===- Clocks.h - Vector clocks ---------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Happens-before inside one block, and of other blocks in GridClock.h. A component counts
//   - for a warp's ordinary accesses: its releases;
//   - for its wgmmas, its cp.asyncs and its bulk stores: the groups waited for;
//   - for an mbarrier: its completed phases. A bulk copy belongs to the phase it
//     signals, so that no copy needs a component of its own.
//
// An access is ordered before whatever knows its (component, epoch).
//
// Two clocks travel together. `plain` is happens-before. `proxy` holds what a
// fence.proxy.async has made visible to asynchronous accesses, which do not see
// ordinary writes without one.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_LIB_EMULATOR_CLOCKS_H
#define TILEWRIGHT_LIB_EMULATOR_CLOCKS_H

#include "lib/Emulator/GridClock.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace tilewright::emulator {

constexpr uint32_t maxMbarriers = 128;

using Component = uint16_t;

constexpr Component warpComponent(uint32_t warp) {
  return static_cast<Component>(warp);
}
constexpr Component matrixComponent(uint32_t warp) {
  return static_cast<Component>(maxWarps + warp);
}
constexpr Component asyncCopyComponent(uint32_t warp) {
  return static_cast<Component>(2 * maxWarps + warp);
}
constexpr Component storeComponent(uint32_t warp) {
  return static_cast<Component>(3 * maxWarps + warp);
}
constexpr Component mbarrierComponent(uint32_t index) {
  return static_cast<Component>(4 * maxWarps + index);
}
constexpr uint32_t componentCount = 4 * maxWarps + maxMbarriers;

struct Clock {
  alignas(32) std::array<uint32_t, componentCount> epochs{};

  void join(const Clock &other) {
    for (uint32_t i = 0; i < componentCount; ++i)
      epochs[i] = std::max(epochs[i], other.epochs[i]);
  }
  uint32_t &operator[](Component component) { return epochs[component]; }
  uint32_t operator[](Component component) const { return epochs[component]; }
  bool knows(Component component, uint32_t epoch) const { return epochs[component] >= epoch; }
};

struct Clocks {
  Clock plain, proxy;
  GridClock::Shared grid; ///< Of other blocks.

  void join(const Clocks &other) {
    plain.join(other.plain);
    proxy.join(other.proxy);
    grid = GridClock::joined(grid, other.grid);
  }
  /// Both clocks learn that `component` has reached `epoch`.
  void learn(Component component, uint32_t epoch) {
    plain[component] = std::max(plain[component], epoch);
    proxy[component] = std::max(proxy[component], epoch);
  }
};

} // namespace tilewright::emulator

#endif // TILEWRIGHT_LIB_EMULATOR_CLOCKS_H
