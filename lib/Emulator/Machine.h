//===- Machine.h - Warps, blocks and what they share ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_LIB_EMULATOR_MACHINE_H
#define TILEWRIGHT_LIB_EMULATOR_MACHINE_H

#include "lib/Emulator/Clocks.h"
#include "lib/Emulator/Copy.h"
#include "lib/Emulator/Device.h"
#include "lib/Emulator/Mbarrier.h"
#include "lib/Emulator/Memory.h"
#include "lib/Emulator/Module.h"
#include "lib/Emulator/Random.h"
#include "lib/Emulator/Shadow.h"

#include <fmt/format.h>

#include <array>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace tilewright::emulator {

/// A part of a warp on its way to `reconvergence`.
struct Path {
  uint32_t pc = 0, reconvergence = noOp;
  uint32_t mask = fullMask;
};

/// How the seed lets asynchronous work and warps proceed.
struct Temper {
  uint32_t copyChance = 0, matrixChance = 0; ///< Of 65536, each turn.
  uint32_t quantum = 1;                      ///< At most so many instructions a turn.
  bool earlyGiveUp = false;                  ///< try_wait may return false for no reason.

  explicit Temper(uint64_t seed);
};

/// What all blocks of a run share; constant while they run, except for global memory.
struct Machine {
  const Module &module;
  const Launch &launch;
  const RunOptions &options;
  GlobalMemory memory;
  std::vector<uint8_t> parameters;
  Temper temper;
};

/// A wgmma that was issued and not executed.
struct PendingMatrix {
  const Op *op = nullptr;
  uint64_t a = 0, b = 0; ///< Descriptors.
  bool accumulate = false;
  uint32_t group = 0;
};

/// A group that was committed by some lanes of a warp (cp.async, bulk stores).
struct LaneGroups {
  struct Group {
    uint32_t number, lanes;
  };
  uint32_t open = 1;           ///< The group that the next copy joins.
  uint32_t openLanes = 0;      ///< Lanes with copies in it.
  std::deque<Group> committed; ///< Not yet waited for.
};

enum class WarpState : uint8_t { Ready, OnMbarrier, OnNamedBarrier, OnRegisters, Done };

/// Where else a finding points.
struct Evidence {
  uint32_t otherLine = 0;
  const char *space = "";
  uint64_t address = 0;
};

struct Warp {
  Block *block = nullptr;
  uint32_t id = 0;
  uint32_t *registers = nullptr; ///< Slots of 32 lanes.
  uint32_t *predicates = nullptr;
  std::vector<Path> paths; ///< The last one runs.
  WarpState state = WarpState::Ready;
  uint32_t waitsFor = 0, waitParity = 0;

  Clocks clocks;
  uint32_t syncEpoch = 0;      ///< Accesses of all lanes up to here are ordered within the warp.
  uint32_t unsyncedLanes = 0;  ///< Lanes with shared accesses since then.
  uint32_t initFenceEpoch = 0; ///< Of the last fence.mbarrier_init.
  GridClock::Shared fenced;    ///< What the last fence lets strong writes release.
  GridClock::Shared heard;     ///< What strong reads have seen, for the next fence to acquire.

  std::deque<PendingMatrix> matrixQueue;
  uint32_t matrixGroup = 1;     ///< The open group.
  uint32_t matrixDone = 0;      ///< All groups up to this one were waited for.
  uint32_t lastMatrixGroup = 0; ///< Of the latest wgmma.
  uint32_t matrixIssued = 0;
  uint32_t matrixFence = 1; ///< Counts wgmma.fence.
  struct TrackedRegister {
    uint32_t group = 0;      ///< In flight until this group was waited for.
    uint32_t role = 0;       ///< Place and shape as an accumulator; 0: an A register.
    uint32_t lastAccess = 1; ///< Value of matrixFence at the last ordinary access.
  };
  std::vector<TrackedRegister> tracked;

  LaneGroups asyncCopies, stores;
  uint32_t registersPerThread = 0; ///< What setmaxnreg knows.
  bool slow = false;               ///< Runs only when no other warp can, nearly.

  std::vector<uint32_t> registerFile, predicateFile;
  std::vector<uint8_t> local; ///< Lane after lane.

  template <typename T> T *lanes(uint32_t slot) {
    return reinterpret_cast<T *>(registers + warpSize * slot);
  }
  const uint32_t *list(Range range) const;

  uint32_t pc() const { return paths.back().pc; }
  /// A lane's shared address out of a register; a generic one loses its window.
  uint32_t sharedAddress(uint32_t slot, bool wide, uint32_t lane, int64_t offset = 0) {
    const uint64_t base = wide ? lanes<uint64_t>(slot)[lane] : lanes<uint32_t>(slot)[lane];
    const bool generic = (base & windowMask) == sharedWindow;
    return static_cast<uint32_t>(base - (generic ? sharedWindow : 0) +
                                 static_cast<uint64_t>(offset));
  }
  /// Runs at most `quantum` instructions. False: it waits, is done, or there is a finding.
  bool run(uint32_t quantum);
  bool checkTracked(const Op &op);

  /// What an arrival of these lanes publishes; begins a new epoch.
  Clocks release(uint32_t mask);
  void synchronizeLanes();

  /// Records a finding of the block.
  void record(const Op &op, FindingKind kind, const Evidence &evidence, std::string message);
  template <typename... Args>
  Flow fault(const Op &op, FindingKind kind, const Evidence &evidence,
             fmt::format_string<Args...> format, Args &&...args) {
    record(op, kind, evidence, fmt::format(format, std::forward<Args>(args)...));
    return Flow::Fault;
  }
  template <typename... Args>
  bool reject(const Op &op, FindingKind kind, const Evidence &evidence,
              fmt::format_string<Args...> format, Args &&...args) {
    record(op, kind, evidence, fmt::format(format, std::forward<Args>(args)...));
    return false;
  }
};

struct NamedBarrier {
  uint32_t arrived = 0, expected = 0, line = 0; ///< Threads.
  Clocks arriving;
  std::vector<uint32_t> waiters, present; ///< Warps.
};

/// B of a wgmma in the order that the product wants, kept while its bytes do not change.
struct MatrixTile {
  uint64_t descriptor = 0;
  uint32_t key = ~0u; ///< Type, major and columns.
  uint64_t version = 0;
  uint32_t firstPage = 0, lastPage = 0;
  std::vector<uint32_t> addresses; ///< Of its granules.
  std::vector<float> values;
};

/// One wgmma of the sequence that all four warps of a warpgroup must run.
struct MatrixIssue {
  const Op *op;
  uint64_t a, b;
  bool accumulate;
  uint32_t warp, group;
};

struct Block {
  Machine &machine;
  uint32_t index = 0; ///< Linear.
  std::array<uint32_t, 3> position{};
  Random random;
  std::vector<uint8_t> shared;
  Shadow shadow;
  std::vector<std::unique_ptr<Warp>> warps;
  std::vector<Mbarrier> mbarriers;
  std::vector<int16_t> mbarrierAt; ///< By address / 8; -1: none.
  std::vector<NamedBarrier> namedBarriers;
  std::vector<Transfer> transfers;
  std::vector<uint32_t> pageVersions; ///< Writes to every KiB of shared memory.
  std::vector<MatrixTile> tiles;
  std::vector<std::vector<MatrixIssue>> matrixLog; ///< By warpgroup.
  int64_t registerPool = 0;
  uint32_t readyWarps = 0, aliveWarps = 0; ///< A bit each; a count.
  Statistics statistics;
  std::vector<uint8_t> executed;
  std::set<std::string> remarks;
  std::optional<Finding> finding;
  bool stopped = false;

  Block(Machine &machine, uint32_t index);

  /// One turn of the scheduler. False: nothing in this block can move.
  bool step();
  bool finished() const { return aliveWarps == 0 || finding || stopped; }
  /// Checks that nothing is left in flight.
  void end();
  std::vector<WaitingWarp> waitingWarps() const;
  void wake(uint32_t warp);

  uint32_t firstShared() const;
  CodeLine codeLine(uint32_t line, const Op *op = nullptr) const;
  std::string describe(Component component) const;
  /// What the launch calls a shared address, empty if nothing.
  std::string placeOf(uint64_t address) const;
  /// "the mbarrier at 3072 (the full barrier of stage 0 of ring keys)".
  std::string describe(const Mbarrier &barrier) const;

  void sharedWritten(uint32_t address, uint32_t bytes);
  uint64_t versionOf(uint32_t firstPage, uint32_t lastPage) const;

  /// The initialised barrier at `address`, or nothing and a finding.
  Mbarrier *mbarrier(Warp &warp, const Op &op, uint32_t address, const char *what);
  bool liveMbarrierAt(uint32_t address) const {
    const int16_t at = mbarrierAt[address / 8];
    return at >= 0 && mbarriers[static_cast<size_t>(at)].live;
  }
  /// Whether [address, address + bytes) belongs to the block.
  bool ownsShared(uint64_t address, uint64_t bytes) const {
    return address >= firstShared() && address <= shared.size() && bytes <= shared.size() - address;
  }
  /// Ends the phase if it is complete. False: a finding.
  bool completePhase(Mbarrier &barrier, Warp &warp, const Op &op);

  bool advanceTransfer(size_t index);
  /// Completes the cp.asyncs (or stores, up to their reads) of a warp's groups.
  bool finishTransfers(Transfer::Kind kind, uint32_t warp, uint32_t upToGroup, uint32_t lanes,
                       bool readsOnly);
  void executeMatrix(Warp &warp);

private:
  void makeWarp(uint32_t id);
};

} // namespace tilewright::emulator

#endif // TILEWRIGHT_LIB_EMULATOR_MACHINE_H
