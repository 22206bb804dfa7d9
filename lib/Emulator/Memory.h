//===- Memory.h - Global memory ---------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_LIB_EMULATOR_MEMORY_H
#define TILEWRIGHT_LIB_EMULATOR_MEMORY_H

#include "lib/Emulator/GlobalShadow.h"
#include "lib/Emulator/Launch.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tilewright::emulator {

struct Op;
struct Warp;

/// The buffers of a launch at device addresses of our choice.
class GlobalMemory {
public:
  GlobalMemory(std::span<const Buffer> buffers, bool checkRaces);

  uint64_t addressOf(size_t buffer) const { return regions[buffer].base; }
  uint8_t *hostOf(size_t buffer) const { return regions[buffer].host; }

  /// The host bytes behind an access, or null and a finding: outside of every buffer, misaligned,
  /// a write to an input, a read of what was never written, a race. At most 16 bytes.
  uint8_t *access(Warp &warp, const Op &op, uint64_t address, uint32_t bytes, Access access,
                  bool async = false);

  /// The race rules for bytes of a buffer that an asynchronous copy touches. False: a finding.
  bool checkAsync(Warp &warp, const Op &op, size_t buffer, const uint8_t *host, uint32_t bytes,
                  Access access);

  /// "byte 512 of query"; empty for an address outside of every buffer.
  std::string placeOf(uint64_t address) const;

  void fence(Warp &warp) { shadow.fence(warp); }

  /// Marks bytes as written that lie behind a host pointer (asynchronous stores).
  void markWritten(const uint8_t *host, size_t bytes);

private:
  struct Region {
    uint64_t base = 0, bytes = 0;
    uint8_t *host = nullptr;
    std::string name;
    bool writable = false;
    std::unique_ptr<uint8_t[]> written; ///< Null: all of it counts as written.
    std::optional<size_t> watched;      ///< Its place in the shadow.
  };
  std::vector<Region> regions;
  GlobalShadow shadow;
};

} // namespace tilewright::emulator

#endif // TILEWRIGHT_LIB_EMULATOR_MEMORY_H
