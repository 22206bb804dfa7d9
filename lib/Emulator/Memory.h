//===- Memory.h - Global memory ---------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_LIB_EMULATOR_MEMORY_H
#define TILEWRIGHT_LIB_EMULATOR_MEMORY_H

#include "lib/Emulator/Launch.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tilewright::emulator {

struct Op;
struct Warp;

/// The buffers of a launch at device addresses of our choice.
class GlobalMemory {
public:
  explicit GlobalMemory(std::span<const Buffer> buffers);

  uint64_t addressOf(size_t buffer) const { return regions[buffer].base; }
  uint8_t *hostOf(size_t buffer) const { return regions[buffer].host; }

  /// The host bytes behind an access, or null and a finding: outside of every buffer, misaligned,
  /// a write to an input, a read of what was never written.
  uint8_t *access(Warp &warp, const Op &op, uint64_t address, uint32_t bytes, bool write);

  /// Marks bytes as written that lie behind a host pointer (asynchronous stores).
  void markWritten(const uint8_t *host, size_t bytes);

private:
  struct Region {
    uint64_t base = 0, bytes = 0;
    uint8_t *host = nullptr;
    std::string name;
    bool writable = false;
    std::unique_ptr<uint8_t[]> written; ///< Null: all of it counts as written.
  };
  std::vector<Region> regions;
};

} // namespace tilewright::emulator

#endif // TILEWRIGHT_LIB_EMULATOR_MEMORY_H
