//===- Shadow.h - Who touched which byte of shared memory -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The race rules. For every 16-byte granule of shared memory: the last write,
// the reads since then, and which bytes were ever written.
//
//   access                      must be ordered after
//   ordinary read               the last write
//   ordinary write              the last write and all reads
//   read by wgmma, bulk store   the last write; ordinary writes by the proxy clock
//   write by a bulk copy        all writes and reads; ordinary writes by the proxy clock
//
// Between lanes of one warp, order comes from bar.warp.sync and block barriers
// only. wgmma and copies work on whole granules; a granule that ordinary
// accesses touch is split into words, because barriers and small variables share
// granules, and an access to a part of a word concerns its bytes alone.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_LIB_EMULATOR_SHADOW_H
#define TILEWRIGHT_LIB_EMULATOR_SHADOW_H

#include "lib/Emulator/Clocks.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tilewright::emulator {

struct Block;
struct Op;
struct Warp;

enum class Access : uint8_t { Read, Write, Atomic };

class Shadow {
public:
  static constexpr uint32_t granuleBytes = 16;

  Shadow(Block &block, uint32_t bytes, uint32_t warpgroups, bool checkRaces);

  // Each check records the access, too. False: a finding was recorded.

  /// ld, st, atom of one lane. The range lies inside one aligned 16 bytes.
  bool ordinary(Warp &warp, const Op &op, uint32_t address, uint32_t bytes, uint32_t lane,
                Access access);
  /// The granules of a bulk copy whose completion is the end of phase `epoch - 1` of the barrier
  /// `component`.
  bool bulkWrite(Warp &warp, const Op &op, std::span<const uint32_t> granules, Component component,
                 uint32_t epoch);
  /// Granules that a wgmma of group `group` reads.
  bool matrixRead(Warp &warp, const Op &op, std::span<const uint32_t> addresses,
                  const char *operand, uint32_t group);
  /// The granules of a bulk store of group `group`.
  bool bulkRead(Warp &warp, const Op &op, std::span<const uint32_t> granules, uint32_t group);
  /// One lane's cp.async of group `group`.
  bool asyncWrite(Warp &warp, const Op &op, uint32_t address, uint32_t bytes, uint32_t group);

  bool isWritten(uint32_t address, uint32_t bytes) const;

private:
  static constexpr uint8_t wholeWord = 15;
  struct Write {
    uint32_t epoch = 0;
    uint32_t line = 0;
    Component component = 0;
    uint8_t lane = 0;
    bool valid = false;
    bool async = false; ///< Through the async proxy.
    bool atomic = false;
    uint8_t bytes = wholeWord; ///< A bit per byte of the word.
  };
  struct Read {
    uint32_t epoch, line;
    Component component;
    uint8_t lane;
    uint8_t bytes = wholeWord;
  };
  struct Words {
    Write write[4];
    /// Earlier writes of bytes that the last one left alone.
    std::vector<Write> parts[4];
    std::vector<Read> reads[4];
  };

  Block &block;
  bool checkRaces;
  std::vector<uint16_t> written;             ///< A bit per byte.
  std::vector<Write> whole;                  ///< Last write of granules that are not split.
  std::vector<std::unique_ptr<Words>> words; ///< Split granules.
  std::vector<bool> split;
  /// Per warpgroup and granule: the last wgmma group that reads it, and that wgmma's line.
  std::vector<std::vector<uint32_t>> matrixGroup, matrixLine;

  Words &splitGranule(uint32_t granule);
  /// Whether `check` accepts every write of these bytes of a word.
  template <typename Check>
  static bool allWrites(const Words &words, uint32_t word, uint8_t bytes, Check check) {
    const Write &last = words.write[word];
    if (last.valid && last.bytes & bytes && !check(last))
      return false;
    for (const Write &earlier : words.parts[word])
      if (earlier.bytes & bytes && !check(earlier))
        return false;
    return true;
  }
  static void setWrite(Words &words, uint32_t word, const Write &write);
  std::string writerOf(const Write &write) const;
  bool reportWrite(Warp &warp, const Op &op, const char *what, uint32_t address,
                   const Write &earlier);
  bool ordered(const Warp &warp, Component component, uint32_t epoch, uint32_t lane,
               uint32_t accessLane) const;
  bool checkMatrixReaders(Warp &warp, const Op &op, uint32_t granule, const char *what);
  bool checkReads(Warp &warp, const Op &op, const char *what, uint32_t address,
                  const std::vector<Read> &reads, uint8_t bytes, uint32_t lane);
  bool asyncReadGranule(Warp &warp, const Op &op, uint32_t granule, const char *what);
};

} // namespace tilewright::emulator

#endif // TILEWRIGHT_LIB_EMULATOR_SHADOW_H
