//===- GlobalShadow.cpp - Who touched which byte of global memory ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Emulator/GlobalShadow.h"

#include "lib/Emulator/Machine.h"

#include <algorithm>

using namespace tilewright;
using namespace tilewright::emulator;

const GridClock::Epochs *GridClock::find(uint32_t block) const {
  const auto at = std::ranges::lower_bound(blocks, block, {}, &std::pair<uint32_t, Epochs>::first);
  return at != blocks.end() && at->first == block ? &at->second : nullptr;
}

bool GridClock::includes(const GridClock &other) const {
  return std::ranges::all_of(other.blocks, [&](const auto &entry) {
    const Epochs *own = find(entry.first);
    return own && std::ranges::equal(*own, entry.second, std::ranges::greater_equal());
  });
}

void GridClock::learn(uint32_t block, const Epochs &epochs) {
  auto at = std::ranges::lower_bound(blocks, block, {}, &std::pair<uint32_t, Epochs>::first);
  if (at == blocks.end() || at->first != block)
    at = blocks.insert(at, {block, Epochs()});
  for (uint32_t warp = 0; warp < maxWarps; ++warp)
    at->second[warp] = std::max(at->second[warp], epochs[warp]);
}

GridClock::Shared GridClock::joined(const Shared &a, const Shared &b) {
  if (!b || a == b || (a && a->includes(*b)))
    return a;
  if (!a)
    return b;
  auto result = std::make_shared<GridClock>(*a);
  for (const auto &[block, epochs] : b->blocks)
    result->learn(block, epochs);
  return result;
}

GridClock::Shared GridClock::with(const Shared &clock, uint32_t block, const Epochs &epochs) {
  auto result = clock ? std::make_shared<GridClock>(*clock) : std::make_shared<GridClock>();
  result->learn(block, epochs);
  return result;
}

namespace {

std::string placeOf(const Block &block, uint32_t index, uint32_t warp) {
  const std::array<uint32_t, 3> &grid = block.machine.launch.grid;
  return fmt::format("block ({}, {}, {}), warp {}", index % grid[0], index / grid[0] % grid[1],
                     index / grid[0] / grid[1], warp);
}

/// What a release of this warp publishes now.
GridClock::Shared knowledge(const Warp &warp) {
  GridClock::Epochs epochs;
  std::copy_n(warp.clocks.plain.epochs.begin(), maxWarps, epochs.begin());
  return GridClock::with(warp.clocks.grid, warp.block->index, epochs);
}

void acquire(Warp &warp, const GridClock::Shared &clock) {
  if (!clock)
    return;
  warp.clocks.grid = GridClock::joined(warp.clocks.grid, clock);
  // Warps of one block may meet in global memory, too.
  if (const GridClock::Epochs *own = clock->find(warp.block->index))
    for (uint32_t other = 0; other < maxWarps; ++other)
      if (other != warp.id)
        warp.clocks.plain[warpComponent(other)] =
            std::max(warp.clocks.plain[warpComponent(other)], (*own)[other]);
}

} // namespace

void GlobalShadow::watch(uint64_t address, uint64_t bytes, std::string name) {
  constexpr uint64_t pageBytes = wordsOfPage * 4;
  regions.push_back({address, std::move(name), {}});
  regions.back().pages.resize((bytes + pageBytes - 1) / pageBytes);
}

bool GlobalShadow::spend(Warp &warp, uint64_t bytes) {
  if (full)
    return false;
  if ((memoryUsed += bytes) <= memoryLimit)
    return true;
  full = true;
  warp.block->remarks.insert(
      fmt::format("the shadow of global memory has reached {} bytes: from there on races in global "
                  "memory are not looked for",
                  memoryLimit));
  return false;
}

bool GlobalShadow::isOrdered(const Warp &warp, const Record &earlier) const {
  if (earlier.block != warp.block->index)
    return warp.clocks.grid && warp.clocks.grid->knows(earlier.block, earlier.warp, earlier.epoch);
  // A bulk load ends with its mbarrier, which the epoch of the warp does not tell.
  return earlier.async || earlier.warp == warp.id ||
         warp.clocks.plain.knows(warpComponent(earlier.warp), earlier.epoch);
}

bool GlobalShadow::checkWord(Warp &warp, const Op &op, Region &region, Page &page, uint32_t word,
                             const Record &now, Access access) {
  const bool writes = access != Access::Read;
  const auto check = [&](const Record &earlier, const char *did, uint64_t address) {
    const uint8_t needed = earlier.block == now.block ? ScopeBlock : ScopeDevice;
    if (!(earlier.bytes & now.bytes) || (earlier.strength >= needed && now.strength >= needed) ||
        isOrdered(warp, earlier))
      return true;
    return warp.reject(op, FindingKind::Race, {earlier.line, "global", address},
                       "{} byte {} of '{}', not ordered after the {} by {}",
                       writes ? "write of" : "read of", address - region.address, region.name, did,
                       placeOf(*warp.block, earlier.block, earlier.warp));
  };
  Word &entry = page.words[word % wordsOfPage];
  const uint64_t address = region.address + uint64_t(word) * 4;
  if (!check(entry.write, "write", address))
    return false;
  const auto parts = page.parts.find(word);
  if (parts != page.parts.end())
    for (const Record &part : parts->second)
      if (!check(part, "write", address))
        return false;
  if (!writes) {
    Record &last = entry.read;
    if (now.async && warp.block->machine.module.blocksInteract)
      return true;
    const bool same = last.block == now.block && last.warp == now.warp && last.bytes == now.bytes &&
                      last.strength == now.strength;
    if (last.bytes && !same && !(last.block == now.block && isOrdered(warp, last))) {
      std::vector<Record> &others = page.otherReads[word];
      if (others.size() < maxOtherReads && spend(warp, sizeof(Record)))
        others.push_back(last);
    }
    last = now;
    return true;
  }
  if (!check(entry.read, "read", address))
    return false;
  if (const auto others = page.otherReads.find(word); others != page.otherReads.end()) {
    for (const Record &other : others->second)
      if (!check(other, "read", address))
        return false;
    page.otherReads.erase(others);
  }
  entry.read.bytes &= static_cast<uint8_t>(~now.bytes);
  if (entry.write.bytes & ~now.bytes && spend(warp, sizeof(Record)))
    page.parts[word].push_back(entry.write);
  entry.write = now;
  if (const auto kept = page.parts.find(word); kept != page.parts.end()) {
    for (Record &part : kept->second)
      part.bytes &= static_cast<uint8_t>(~now.bytes);
    std::erase_if(kept->second, [](const Record &part) { return !part.bytes; });
    if (kept->second.empty())
      page.parts.erase(kept);
  }
  return true;
}

void GlobalShadow::synchronize(Warp &warp, const Op &op, uint64_t address, Access access) {
  const auto known = published.find(address);
  if (access != Access::Write && known != published.end()) {
    if (op.order & OrderAcquire)
      acquire(warp, known->second);
    else
      warp.heard = GridClock::joined(warp.heard, known->second);
  }
  if (access == Access::Read)
    return;
  GridClock::Shared released = warp.fenced;
  if (op.order & OrderRelease) {
    released = knowledge(warp);
    ++warp.clocks.plain[warpComponent(warp.id)];
  }
  // An atomic goes on with the releases before it; a store begins anew.
  if (access == Access::Atomic && known != published.end())
    released = GridClock::joined(known->second, released);
  if (!released) {
    if (known != published.end())
      published.erase(known);
    return;
  }
  const bool isNew =
      released != warp.fenced && (known == published.end() || released != known->second);
  if (spend(warp, (isNew ? released->bytes() : 0) + (known == published.end() ? nodeBytes : 0)))
    published[address] = std::move(released);
}

void GlobalShadow::fence(Warp &warp) {
  if (full)
    return;
  acquire(warp, warp.heard);
  warp.heard = nullptr;
  warp.fenced = knowledge(warp);
  spend(warp, warp.fenced->bytes());
  ++warp.clocks.plain[warpComponent(warp.id)];
}

bool GlobalShadow::access(Warp &warp, const Op &op, size_t index, uint64_t offset, uint32_t bytes,
                          Access access, bool async) {
  if (full)
    return true;
  Region &region = regions[index];
  Record now;
  now.block = warp.block->index;
  now.warp = static_cast<uint8_t>(warp.id);
  now.epoch = warp.clocks.plain[warpComponent(warp.id)];
  now.line = op.line;
  now.strength = op.strength;
  now.async = async && access == Access::Read;
  for (uint64_t at = offset; at < offset + bytes;) {
    const uint64_t word = at / 4, end = std::min(offset + bytes, 4 * (word + 1));
    now.bytes = static_cast<uint8_t>(((1u << (end - at)) - 1) << at % 4);
    const size_t pageIndex = word / wordsOfPage;
    {
      const std::lock_guard guard(locks[pageIndex % locks.size()]);
      std::unique_ptr<Page> &page = region.pages[pageIndex];
      if (!page) {
        if (!spend(warp, sizeof(Page)))
          return true;
        page = std::make_unique<Page>();
      }
      if (!checkWord(warp, op, region, *page, static_cast<uint32_t>(word), now, access))
        return false;
    }
    at = end;
  }
  if (op.strength && !async)
    synchronize(warp, op, region.address + offset, access);
  return true;
}
