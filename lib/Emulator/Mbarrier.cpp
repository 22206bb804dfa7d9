//===- Mbarrier.cpp - Barriers in shared memory ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Three rules beyond counting, because happens-before alone depends on the phase
// into which an arrival happens to fall:
//   1. An arrival is ordered after the end of the phase before it. Otherwise it
//      would, in another schedule, count for that phase.
//   2. A wait lags at most one phase behind; beyond, its parity is ambiguous.
//   3. A single thread does not arrive twice in one phase: the count would not be
//      the number of arrivers.
//
//===----------------------------------------------------------------------===//

#include "lib/Emulator/Mbarrier.h"

#include "lib/Emulator/Executors.h"
#include "lib/Emulator/Machine.h"

#include <bit>

using namespace tilewright;
using namespace tilewright::emulator;

namespace {
/// The limit of pending counts and of transaction counts.
constexpr uint32_t countLimit = 1 << 20;

Component componentOf(const Block &block, const Mbarrier &barrier) {
  return mbarrierComponent(static_cast<uint32_t>(&barrier - block.mbarriers.data()));
}

bool checkAddress(Warp &warp, const Op &op, uint32_t address) {
  const Evidence evidence = {0, "shared", address};
  if (address % 8)
    return warp.reject(op, FindingKind::Misaligned, evidence, "mbarrier at shared address {}",
                       address);
  if (!warp.block->ownsShared(address, 8))
    return warp.reject(op, FindingKind::OutOfBounds, evidence, "mbarrier at shared address {}",
                       address);
  return true;
}
} // namespace

Mbarrier *Block::mbarrier(Warp &warp, const Op &op, uint32_t address, const char *what) {
  if (!checkAddress(warp, op, address))
    return nullptr;
  const Evidence evidence = {0, "shared", address};
  if (!liveMbarrierAt(address)) {
    warp.record(op, FindingKind::Mbarrier, evidence,
                fmt::format("{}: no mbarrier was initialised at shared address {}", what, address));
    return nullptr;
  }
  Mbarrier &barrier = mbarriers[static_cast<size_t>(mbarrierAt[address / 8])];
  if (barrier.initWarp != warp.id &&
      !warp.clocks.plain.knows(warpComponent(barrier.initWarp), barrier.initEpoch)) {
    warp.record(op, FindingKind::Race, {barrier.initLine, "shared", address},
                fmt::format("{}: not ordered after the mbarrier's initialisation", what));
    return nullptr;
  }
  return &barrier;
}

bool Block::completePhase(Mbarrier &barrier, Warp &warp, const Op &op) {
  if (barrier.pending || barrier.transactions)
    return true;
  if (barrier.copiesInFlight)
    return warp.reject(op, FindingKind::Mbarrier, {barrier.initLine, "shared", barrier.address},
                       "phase {} of the mbarrier at {} completes while a bulk copy that signals it "
                       "is in flight: too few bytes were expected",
                       barrier.phase, barrier.address);
  ++barrier.phase;
  barrier.pending = barrier.count;
  barrier.arriving.learn(componentOf(*this, barrier), barrier.phase);
  barrier.complete.join(barrier.arriving);
  barrier.arriving = Clocks();
  barrier.arrivedWarps = 0;
  for (uint32_t waiter : barrier.waiters)
    wake(waiter);
  barrier.waiters.clear();
  return true;
}

Flow emulator::executeMbarrierInit(Warp &warp, const Op &op, uint32_t mask) {
  Block &block = *warp.block;
  const uint32_t lane = static_cast<uint32_t>(std::countr_zero(mask));
  const uint32_t address = warp.sharedAddress(op.slots[2], op.wideAddress, lane, op.immediate);
  const uint32_t count = warp.lanes<uint32_t>(op.slots[1])[lane];
  const Evidence evidence = {0, "shared", address};
  if (!checkAddress(warp, op, address))
    return Flow::Fault;
  if (!std::has_single_bit(mask))
    return warp.fault(op, FindingKind::Mbarrier, evidence,
                      "several threads initialise one mbarrier");
  if (!count || count >= countLimit)
    return warp.fault(op, FindingKind::Mbarrier, evidence, "count {}; it is from 1 to {}", count,
                      countLimit - 1);
  if (block.liveMbarrierAt(address))
    return warp.fault(op, FindingKind::Mbarrier, evidence,
                      "the mbarrier at {} is initialised twice", address);
  if (block.mbarriers.size() == maxMbarriers)
    return warp.fault(op, FindingKind::Unsupported, evidence, "more than {} mbarriers in a block",
                      maxMbarriers);
  Mbarrier barrier;
  barrier.address = address;
  barrier.count = barrier.pending = count;
  barrier.initWarp = warp.id;
  barrier.initEpoch = warp.clocks.plain[warpComponent(warp.id)];
  barrier.initLine = op.line;
  block.mbarrierAt[address / 8] = static_cast<int16_t>(block.mbarriers.size());
  block.mbarriers.push_back(std::move(barrier));
  return Flow::Next;
}

Flow emulator::executeMbarrierInvalidate(Warp &warp, const Op &op, uint32_t mask) {
  const uint32_t lane = static_cast<uint32_t>(std::countr_zero(mask));
  const uint32_t address = warp.sharedAddress(op.slots[2], op.wideAddress, lane, op.immediate);
  Mbarrier *barrier = warp.block->mbarrier(warp, op, address, "inval");
  if (!barrier)
    return Flow::Fault;
  barrier->live = false;
  return Flow::Next;
}

Flow emulator::executeMbarrierArrive(Warp &warp, const Op &op, uint32_t mask) {
  Block &block = *warp.block;
  // What the warp knew before this instruction: its own lanes' arrivals may end phases.
  const Clock known = warp.clocks.plain;
  const Clocks published = op.variant & MbarrierRelaxed ? Clocks() : warp.release(mask);
  for (uint32_t lane = 0; lane < warpSize; ++lane) {
    if (!(mask >> lane & 1))
      continue;
    const uint32_t address = warp.sharedAddress(op.slots[2], op.wideAddress, lane, op.immediate);
    Mbarrier *barrier = block.mbarrier(warp, op, address, "arrive");
    if (!barrier)
      return Flow::Fault;
    const Evidence evidence = {barrier->initLine, "shared", address};
    uint32_t arrivals = 1;
    if (op.variant & MbarrierExpect)
      barrier->transactions += warp.lanes<uint32_t>(op.slots[1])[lane];
    else if (op.count)
      arrivals = warp.lanes<uint32_t>(op.slots[1])[lane];
    if (barrier->transactions >= countLimit)
      return warp.fault(op, FindingKind::Mbarrier, evidence,
                        "transaction count {} of the mbarrier at {}; the limit is {}",
                        barrier->transactions, address, countLimit - 1);
    if (!arrivals || arrivals > barrier->pending)
      return warp.fault(op, FindingKind::Mbarrier, evidence,
                        "arrival of {} at the mbarrier at {}, which expects {} more of {} in this "
                        "phase",
                        arrivals, address, barrier->pending, barrier->count);
    if (!known.knows(componentOf(block, *barrier), barrier->phase))
      return warp.fault(op, FindingKind::Race, evidence,
                        "arrival in phase {} of the mbarrier at {} is not ordered after the end of "
                        "phase {}",
                        barrier->phase, address, barrier->phase - 1);
    if (std::has_single_bit(mask) && barrier->arrivedWarps >> warp.id & 1)
      return warp.fault(op, FindingKind::Mbarrier, evidence,
                        "warp {} arrives twice in one phase of the mbarrier at {}, whose count is "
                        "{}",
                        warp.id, address, barrier->count);
    barrier->arrivedWarps |= 1u << warp.id;
    if (!op.discard)
      warp.lanes<uint64_t>(op.slots[0])[lane] = barrier->phase;
    barrier->pending -= arrivals;
    barrier->arriving.join(published);
    if (!block.completePhase(*barrier, warp, op))
      return Flow::Fault;
  }
  return Flow::Next;
}

Flow emulator::executeMbarrierExpect(Warp &warp, const Op &op, uint32_t mask) {
  for (uint32_t lane = 0; lane < warpSize; ++lane) {
    if (!(mask >> lane & 1))
      continue;
    const uint32_t address = warp.sharedAddress(op.slots[2], op.wideAddress, lane, op.immediate);
    Mbarrier *barrier = warp.block->mbarrier(warp, op, address, "expect_tx");
    if (!barrier)
      return Flow::Fault;
    barrier->transactions += warp.lanes<uint32_t>(op.slots[1])[lane];
    if (barrier->transactions >= countLimit)
      return warp.fault(op, FindingKind::Mbarrier, {barrier->initLine, "shared", address},
                        "transaction count {} of the mbarrier at {}; the limit is {}",
                        barrier->transactions, address, countLimit - 1);
  }
  return Flow::Next;
}

Flow emulator::executeMbarrierWait(Warp &warp, const Op &op, uint32_t mask) {
  Block &block = *warp.block;
  const uint32_t first = static_cast<uint32_t>(std::countr_zero(mask));
  const uint32_t address = warp.sharedAddress(op.slots[2], op.wideAddress, first, op.immediate);
  const uint32_t parity = warp.lanes<uint32_t>(op.slots[1])[first];
  for (uint32_t lane = first; lane < warpSize; ++lane)
    if (mask >> lane & 1 &&
        (warp.sharedAddress(op.slots[2], op.wideAddress, lane, op.immediate) != address ||
         warp.lanes<uint32_t>(op.slots[1])[lane] != parity))
      return warp.fault(op, FindingKind::Unsupported, {},
                        "lanes of a warp wait for different mbarriers or parities");
  if (parity > 1)
    return warp.fault(op, FindingKind::Mbarrier, {0, "shared", address}, "parity {}", parity);
  Mbarrier *barrier = block.mbarrier(warp, op, address, "wait");
  if (!barrier)
    return Flow::Fault;
  uint32_t &result = warp.predicates[op.slots[0]];
  if ((barrier->phase & 1) != parity) {
    const uint32_t known = warp.clocks.plain[componentOf(block, *barrier)];
    if (known + 1 < barrier->phase)
      return warp.fault(op, FindingKind::Mbarrier, {barrier->initLine, "shared", address},
                        "the wait lags: phase {} of the mbarrier at {} is over and the warp knows "
                        "of {}; the parity is ambiguous",
                        barrier->phase - 1, address, known);
    if (!(op.variant & MbarrierRelaxed))
      warp.clocks.join(barrier->complete);
    result |= mask;
    return Flow::Next;
  }
  const bool giveUp = block.machine.temper.earlyGiveUp && block.random.below(8) == 0;
  if (op.variant & MbarrierTest || giveUp) {
    result &= ~mask;
    return Flow::Next;
  }
  barrier->waiters.push_back(warp.id);
  warp.state = WarpState::OnMbarrier;
  warp.waitsFor = static_cast<uint32_t>(barrier - block.mbarriers.data());
  warp.waitParity = parity;
  return Flow::Blocked;
}
