//===- Memory.cpp - Global memory -----------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Emulator/Memory.h"

#include "lib/Emulator/Machine.h"

#include <atomic>

using namespace tilewright;
using namespace tilewright::emulator;

namespace {
constexpr uint64_t firstAddress = 0x10'0000'0000;
/// Buffers begin at multiples of this and are at least this far apart, so that an access behind
/// the end of one never falls into the next.
constexpr uint64_t spacing = 1 << 20;

// Blocks may run on several threads; they write the marks of different bytes, or the same mark.
void mark(uint8_t &byte) {
  std::atomic_ref(byte).store(1, std::memory_order_relaxed);
}
bool isMarked(uint8_t &byte) {
  return std::atomic_ref(byte).load(std::memory_order_relaxed);
}
} // namespace

GlobalMemory::GlobalMemory(std::span<const Buffer> buffers, bool checkRaces) {
  uint64_t next = firstAddress;
  size_t watched = 0;
  for (const Buffer &buffer : buffers) {
    Region region;
    region.base = next;
    region.bytes = buffer.bytes;
    region.host = static_cast<uint8_t *>(buffer.data);
    region.name = buffer.name;
    region.writable = buffer.writable;
    if (!buffer.initialized)
      region.written = std::make_unique<uint8_t[]>(buffer.bytes);
    if (checkRaces && buffer.writable) { // others cannot race
      shadow.watch(region.base, region.bytes, region.name);
      region.watched = watched++;
    }
    next += (buffer.bytes / spacing + 2) * spacing;
    regions.push_back(std::move(region));
  }
}

uint8_t *GlobalMemory::access(Warp &warp, const Op &op, uint64_t address, uint32_t bytes,
                              Access access, bool async) {
  const bool write = access != Access::Read;
  for (const Region &region : regions) {
    const uint64_t offset = address - region.base;
    if (address < region.base || offset >= region.bytes || bytes > region.bytes - offset)
      continue;
    const Evidence evidence = {0, "global", address};
    if (address % bytes) {
      warp.record(op, FindingKind::Misaligned, evidence,
                  fmt::format("access of {} bytes at byte {} of '{}'", bytes, offset, region.name));
      return nullptr;
    }
    if (write && !region.writable) {
      warp.record(op, FindingKind::ReadOnly, evidence,
                  fmt::format("write at byte {} of '{}', which is an input", offset, region.name));
      return nullptr;
    }
    for (uint64_t i = 0; region.written && i < bytes; ++i) {
      if (access == Access::Write)
        mark(region.written[offset + i]);
      // An atomic reads as well: whoever has not written the bytes has not set them to zero.
      else if (!isMarked(region.written[offset + i])) {
        warp.record(op, FindingKind::Unwritten, evidence,
                    fmt::format("read of byte {} of '{}', which was never written", offset + i,
                                region.name));
        return nullptr;
      }
    }
    if (region.watched && !shadow.access(warp, op, *region.watched, offset, bytes, access, async))
      return nullptr;
    return region.host + offset;
  }
  std::string nearest = "is in no buffer";
  for (const Region &region : regions)
    if (address >= region.base && address - region.base < region.bytes + spacing)
      nearest = fmt::format("is at byte {} of '{}', which has {}", address - region.base,
                            region.name, region.bytes);
    else if (address < region.base && region.base - address <= spacing / 2)
      nearest = fmt::format("is {} bytes before '{}'", region.base - address, region.name);
  warp.record(op, FindingKind::OutOfBounds, {0, "global", address},
              fmt::format("{} of {} bytes at global address 0x{:x}, which {}",
                          write ? "write" : "read", bytes, address, nearest));
  return nullptr;
}

std::string GlobalMemory::placeOf(uint64_t address) const {
  for (const Region &region : regions)
    if (address >= region.base && address - region.base < region.bytes)
      return fmt::format("byte {} of {}", address - region.base, region.name);
  return "";
}

bool GlobalMemory::checkAsync(Warp &warp, const Op &op, size_t buffer, const uint8_t *host,
                              uint32_t bytes, Access access) {
  const Region &region = regions[buffer];
  return !region.watched ||
         shadow.access(warp, op, *region.watched, static_cast<uint64_t>(host - region.host), bytes,
                       access, true);
}

void GlobalMemory::markWritten(const uint8_t *host, size_t bytes) {
  for (const Region &region : regions)
    if (region.written && host >= region.host && host < region.host + region.bytes)
      for (size_t i = 0; i < bytes; ++i)
        mark(region.written[static_cast<size_t>(host - region.host) + i]);
}
