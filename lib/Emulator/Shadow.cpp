//===- Shadow.cpp - Who touched which byte of shared memory ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Emulator/Shadow.h"

#include "lib/Emulator/Machine.h"

using namespace tilewright;
using namespace tilewright::emulator;

Shadow::Shadow(Block &block, uint32_t bytes, uint32_t warpgroups, bool checkRaces)
    : block(block), checkRaces(checkRaces) {
  const uint32_t granules = bytes / granuleBytes;
  written.assign(granules, 0);
  whole.resize(granules);
  words.resize(granules);
  split.resize(granules);
  matrixGroup.assign(warpgroups, std::vector<uint32_t>(granules));
  matrixLine = matrixGroup;
}

bool Shadow::isWritten(uint32_t address, uint32_t bytes) const {
  const uint32_t bits = ((1u << bytes) - 1) << address % granuleBytes;
  return (written[address / granuleBytes] & bits) == bits;
}

Shadow::Words &Shadow::splitGranule(uint32_t granule) {
  if (!words[granule])
    words[granule] = std::make_unique<Words>();
  Words &result = *words[granule];
  if (!split[granule]) {
    for (Write &write : result.write)
      write = whole[granule];
    for (std::vector<Write> &parts : result.parts)
      parts.clear();
    for (std::vector<Read> &reads : result.reads)
      reads.clear();
    split[granule] = true;
  }
  return result;
}

void Shadow::setWrite(Words &words, uint32_t word, const Write &write) {
  Write &last = words.write[word];
  std::vector<Write> &parts = words.parts[word];
  if (last.valid && last.bytes & ~write.bytes)
    parts.push_back(last);
  last = write;
  for (Write &part : parts)
    part.bytes &= static_cast<uint8_t>(~write.bytes);
  std::erase_if(parts, [](const Write &part) { return !part.bytes; });
}

std::string Shadow::writerOf(const Write &write) const {
  return block.describe(write.component);
}

bool Shadow::reportWrite(Warp &warp, const Op &op, const char *what, uint32_t address,
                         const Write &earlier) {
  return warp.reject(op, FindingKind::Race, {earlier.line, "shared", address},
                     "{} shared address {}, not ordered after the write by {}", what, address,
                     writerOf(earlier));
}

bool Shadow::ordered(const Warp &warp, Component component, uint32_t epoch, uint32_t lane,
                     uint32_t accessLane) const {
  if (component == warpComponent(warp.id))
    return lane == accessLane || epoch <= warp.syncEpoch;
  return warp.clocks.plain.knows(component, epoch);
}

bool Shadow::checkReads(Warp &warp, const Op &op, const char *what, uint32_t address,
                        const std::vector<Read> &reads, uint8_t bytes, uint32_t lane) {
  for (const Read &read : reads)
    if (read.bytes & bytes && !ordered(warp, read.component, read.epoch, read.lane, lane))
      return warp.reject(op, FindingKind::Race, {read.line, "shared", address},
                         "{} shared address {}, not ordered after the read by {}", what, address,
                         block.describe(read.component));
  return true;
}

bool Shadow::checkMatrixReaders(Warp &warp, const Op &op, uint32_t granule, const char *what) {
  for (uint32_t warpgroup = 0; warpgroup < matrixGroup.size(); ++warpgroup) {
    const uint32_t group = matrixGroup[warpgroup][granule];
    if (!group)
      continue;
    const uint32_t first = 4 * warpgroup;
    const uint32_t last = std::min<uint32_t>(first + 4, block.warps.size());
    for (uint32_t reader = first; reader < last; ++reader)
      if (!warp.clocks.plain.knows(matrixComponent(reader), group))
        return warp.reject(op, FindingKind::Race,
                           {matrixLine[warpgroup][granule], "shared", granule * granuleBytes},
                           "{} shared address {}, which a wgmma of warp {} may still read", what,
                           granule * granuleBytes, reader);
  }
  return true;
}

bool Shadow::ordinary(Warp &warp, const Op &op, uint32_t address, uint32_t bytes, uint32_t lane,
                      Access access) {
  const bool reads = access != Access::Write, writes = access != Access::Read;
  const uint32_t granule = address / granuleBytes;
  const uint16_t bits = static_cast<uint16_t>(((1u << bytes) - 1) << address % granuleBytes);
  if (block.liveMbarrierAt(address) || block.liveMbarrierAt(address + bytes - 1))
    return warp.reject(op, FindingKind::Mbarrier, {0, "shared", address},
                       "ordinary access to shared address {}, where an mbarrier lives", address);
  if (reads && (written[granule] & bits) != bits)
    return warp.reject(op, FindingKind::Unwritten, {0, "shared", address},
                       "read of shared address {}, which was never written", address);
  if (writes) {
    written[granule] |= bits;
    block.sharedWritten(address, bytes);
  }
  if (!checkRaces)
    return true;
  warp.unsyncedLanes |= 1u << lane;
  const uint32_t epoch = warp.clocks.plain[warpComponent(warp.id)];
  const char *what = writes ? "write of" : "read of";
  Words &granuleWords = splitGranule(granule);
  const uint32_t firstWord = address / 4 % 4, lastWord = (address + bytes - 1) / 4 % 4;
  for (uint32_t word = firstWord; word <= lastWord; ++word) {
    const auto touched =
        static_cast<uint8_t>(bits >> 4 * word & wholeWord); // the bytes of this word
    std::vector<Read> &readers = granuleWords.reads[word];
    const uint32_t wordAddress = granule * granuleBytes + 4 * word;
    const auto isOrdered = [&](const Write &write) {
      return (access == Access::Atomic && write.atomic) ||
             ordered(warp, write.component, write.epoch, write.lane, lane) ||
             reportWrite(warp, op, what, wordAddress, write);
    };
    if (!allWrites(granuleWords, word, touched, isOrdered))
      return false;
    if (writes) {
      if (!checkReads(warp, op, what, wordAddress, readers, touched, lane) ||
          !checkMatrixReaders(warp, op, granule, what))
        return false;
      if (touched == wholeWord)
        readers.clear();
      else
        std::erase_if(readers,
                      [&](Read &read) { return !(read.bytes &= static_cast<uint8_t>(~touched)); });
      setWrite(granuleWords, word,
               {epoch, op.line, warpComponent(warp.id), static_cast<uint8_t>(lane), true, false,
                access == Access::Atomic, touched});
      continue;
    }
    auto mine = std::find_if(readers.begin(), readers.end(), [&](const Read &read) {
      return read.component == warpComponent(warp.id) && read.lane == lane && read.bytes == touched;
    });
    if (mine == readers.end())
      readers.push_back(
          {epoch, op.line, warpComponent(warp.id), static_cast<uint8_t>(lane), touched});
    else
      mine->epoch = epoch, mine->line = op.line;
  }
  return true;
}

bool Shadow::asyncWrite(Warp &warp, const Op &op, uint32_t address, uint32_t bytes,
                        uint32_t group) {
  const uint32_t granule = address / granuleBytes;
  if (block.liveMbarrierAt(address) || block.liveMbarrierAt(address + bytes - 1))
    return warp.reject(op, FindingKind::Mbarrier, {0, "shared", address},
                       "cp.async to shared address {}, where an mbarrier lives", address);
  written[granule] |= static_cast<uint16_t>(((1u << bytes) - 1) << address % granuleBytes);
  if (!checkRaces)
    return true;
  Words &granuleWords = splitGranule(granule);
  for (uint32_t word = address / 4 % 4; word <= (address + bytes - 1) / 4 % 4; ++word) {
    const uint32_t wordAddress = granule * granuleBytes + 4 * word;
    // Which lane issues does not matter: the copy runs beside all of them.
    const auto isOrdered = [&](const Write &write) {
      return ordered(warp, write.component, write.epoch, warpSize, 0) ||
             reportWrite(warp, op, "cp.async into", wordAddress, write);
    };
    if (!allWrites(granuleWords, word, wholeWord, isOrdered) ||
        !checkReads(warp, op, "cp.async into", wordAddress, granuleWords.reads[word], wholeWord,
                    warpSize))
      return false;
    granuleWords.reads[word].clear();
    setWrite(granuleWords, word,
             {group, op.line, asyncCopyComponent(warp.id), 0, true, false, false});
  }
  return checkMatrixReaders(warp, op, granule, "cp.async into");
}

bool Shadow::bulkWrite(Warp &warp, const Op &op, std::span<const uint32_t> granules,
                       Component component, uint32_t epoch) {
  const char *what = "bulk copy into";
  const Clock &plain = warp.clocks.plain, &proxy = warp.clocks.proxy;
  for (uint32_t granule : granules) {
    const uint32_t at = granule * granuleBytes;
    if (block.liveMbarrierAt(at) || block.liveMbarrierAt(at + 8))
      return warp.reject(op, FindingKind::Mbarrier, {0, "shared", at},
                         "bulk copy over an mbarrier at shared address {}", at);
    written[granule] = 0xffff;
    if (!checkRaces)
      continue;
    if (!checkMatrixReaders(warp, op, granule, what))
      return false;
    Write &single = whole[granule];
    if (!split[granule]) {
      if (single.valid && !plain.knows(single.component, single.epoch))
        return reportWrite(warp, op, what, at, single);
    } else {
      Words &granuleWords = *words[granule];
      for (uint32_t word = 0; word < 4; ++word) {
        const auto isOrdered = [&](const Write &write) {
          if (!plain.knows(write.component, write.epoch))
            return reportWrite(warp, op, what, at + 4 * word, write);
          return write.async || proxy.knows(write.component, write.epoch) ||
                 warp.reject(op, FindingKind::MissingProxyFence,
                             {write.line, "shared", at + 4 * word},
                             "bulk copy into shared address {} after an ordinary write by {}",
                             at + 4 * word, writerOf(write));
        };
        if (!allWrites(granuleWords, word, wholeWord, isOrdered))
          return false;
        for (const Read &read : granuleWords.reads[word])
          if (!plain.knows(read.component, read.epoch))
            return warp.reject(op, FindingKind::Race, {read.line, "shared", at + 4 * word},
                               "{} shared address {}, not ordered after the read by {}", what,
                               at + 4 * word, block.describe(read.component));
      }
      split[granule] = false;
    }
    single = {epoch, op.line, component, 0, true, true, false};
  }
  return true;
}

bool Shadow::asyncReadGranule(Warp &warp, const Op &op, uint32_t granule, const char *what) {
  const uint32_t at = granule * granuleBytes;
  if (written[granule] != 0xffff)
    return warp.reject(op, FindingKind::Unwritten, {0, "shared", at},
                       "{} shared address {}, which was never written", what, at);
  if (!checkRaces)
    return true;
  auto check = [&](const Write &write, uint32_t address) {
    if (!write.valid)
      return true;
    if (!warp.clocks.plain.knows(write.component, write.epoch))
      return reportWrite(warp, op, what, address, write);
    if (!write.async && !warp.clocks.proxy.knows(write.component, write.epoch))
      return warp.reject(op, FindingKind::MissingProxyFence, {write.line, "shared", address},
                         "{} shared address {} after an ordinary write by {}", what, address,
                         writerOf(write));
    return true;
  };
  if (!split[granule])
    return check(whole[granule], at);
  for (uint32_t word = 0; word < 4; ++word)
    if (!allWrites(*words[granule], word, wholeWord,
                   [&](const Write &write) { return check(write, at + 4 * word); }))
      return false;
  return true;
}

bool Shadow::matrixRead(Warp &warp, const Op &op, std::span<const uint32_t> addresses,
                        const char *operand, uint32_t group) {
  std::vector<uint32_t> &groups = matrixGroup[warp.id / 4], &lines = matrixLine[warp.id / 4];
  const char *what = *operand == 'A' ? "wgmma reads A at" : "wgmma reads B at";
  for (uint32_t address : addresses) {
    const uint32_t granule = address / granuleBytes;
    // Nearly always the last write is that of a copy which the warp has waited for.
    const Write &write = whole[granule];
    const bool known = written[granule] == 0xffff && !split[granule] && write.async &&
                       warp.clocks.plain.knows(write.component, write.epoch);
    if (!known && !asyncReadGranule(warp, op, granule, what))
      return false;
    groups[granule] = group;
    lines[granule] = op.line;
  }
  return true;
}

bool Shadow::bulkRead(Warp &warp, const Op &op, std::span<const uint32_t> granules,
                      uint32_t group) {
  const Component component = storeComponent(warp.id);
  for (uint32_t granule : granules) {
    if (!asyncReadGranule(warp, op, granule, "bulk store reads"))
      return false;
    if (!checkRaces)
      continue;
    for (std::vector<Read> &reads : splitGranule(granule).reads) {
      auto mine = std::find_if(reads.begin(), reads.end(),
                               [&](const Read &read) { return read.component == component; });
      if (mine == reads.end())
        reads.push_back({group, op.line, component, 0});
      else
        mine->epoch = group, mine->line = op.line;
    }
  }
  return true;
}
