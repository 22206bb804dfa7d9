//===- GlobalShadow.h - Who touched which byte of global memory -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The race rules of the PTX memory model for buffers that a kernel may write, by
// words and the bytes in them: two accesses to a byte, one of them a write, are
// ordered, or both are strong: atomics and .relaxed, .acquire, .release or
// .volatile accesses, whose scope holds both.
//
// Order inside a block is that of its clocks. Between blocks it comes from a
// release or a fence before a strong write, read by an acquire or by a strong read
// with a fence behind it. Lanes of one warp are not told apart. Asynchronous
// copies count when they are issued; what bulk loads read is remembered only in
// kernels whose blocks do not interact, where every conflict is a race.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_LIB_EMULATOR_GLOBALSHADOW_H
#define TILEWRIGHT_LIB_EMULATOR_GLOBALSHADOW_H

#include "lib/Emulator/GridClock.h"
#include "lib/Emulator/Shadow.h"

#include <array>
#include <atomic>
#include <mutex>
#include <string>
#include <unordered_map>

namespace tilewright::emulator {

/// Accesses and clocks of all blocks of a run.
class GlobalShadow {
public:
  /// Bytes of memory that the shadow may take; it stops checking there, with a remark.
  static constexpr uint64_t memoryLimit = uint64_t(1) << 30;

  /// `address` to `address + bytes` will be checked.
  void watch(uint64_t address, uint64_t bytes, std::string name);

  /// Checks and records an access of at most 16 bytes inside region `region`, in the order of the
  /// calls to `watch`. False: a finding was recorded.
  bool access(Warp &warp, const Op &op, size_t region, uint64_t offset, uint32_t bytes,
              Access access, bool async);

  /// A fence of this warp: later strong writes release, earlier strong reads acquire.
  void fence(Warp &warp);

private:
  static constexpr uint8_t wholeWord = 15;
  static constexpr size_t maxOtherReads = 8; ///< Of one word.
  static constexpr uint32_t wordsOfPage = 256;
  static constexpr uint64_t nodeBytes = 64; ///< About what an entry of `published` takes.

  struct Record {
    uint32_t block = 0, epoch = 0, line = 0;
    uint8_t warp = 0, bytes = 0; ///< A bit per byte of the word; 0: nothing.
    uint8_t strength = 0;
    bool async = false;
  };
  struct Word {
    Record write, read;
  };
  struct Page {
    std::array<Word, wordsOfPage> words;
    /// By word: writes to bytes that the last one left alone, and reads besides the last one.
    std::unordered_map<uint32_t, std::vector<Record>> parts, otherReads;
  };
  struct Region {
    uint64_t address;
    std::string name;
    std::vector<std::unique_ptr<Page>> pages;
  };

  std::vector<Region> regions;
  std::array<std::mutex, 64> locks; ///< Of pages: blocks may run on several threads.
  std::atomic<uint64_t> memoryUsed = 0;
  std::atomic<bool> full = false;
  std::unordered_map<uint64_t, GridClock::Shared> published; ///< By address: what was released.

  bool spend(Warp &warp, uint64_t bytes);
  bool checkWord(Warp &warp, const Op &op, Region &region, Page &page, uint32_t word,
                 const Record &now, Access access);
  bool isOrdered(const Warp &warp, const Record &earlier) const;
  void synchronize(Warp &warp, const Op &op, uint64_t address, Access access);
};

} // namespace tilewright::emulator

#endif // TILEWRIGHT_LIB_EMULATOR_GLOBALSHADOW_H
