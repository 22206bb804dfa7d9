//===- BlockOps.cpp - Named barriers, fences, setmaxnreg ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Emulator/Executors.h"
#include "lib/Emulator/Machine.h"

#include <algorithm>

using namespace tilewright;
using namespace tilewright::emulator;

namespace {

Flow arriveAtNamedBarrier(Warp &warp, const Op &op, bool wait) {
  Block &block = *warp.block;
  const uint32_t id = warp.lanes<uint32_t>(op.slots[0])[0];
  const uint32_t allThreads = static_cast<uint32_t>(block.warps.size()) * warpSize;
  const uint32_t threads = op.count > 1 ? warp.lanes<uint32_t>(op.slots[1])[0] : allThreads;
  for (uint32_t lane = 1; lane < warpSize; ++lane)
    if (warp.lanes<uint32_t>(op.slots[0])[lane] != id)
      return warp.fault(op, FindingKind::NonUniform, {}, "lanes name different barriers");
  if (id >= block.namedBarriers.size())
    return warp.fault(op, FindingKind::NamedBarrier, {}, "named barrier {}; there are {}", id,
                      block.namedBarriers.size());
  if (threads % warpSize || threads == 0 || threads > allThreads)
    return warp.fault(op, FindingKind::NamedBarrier, {},
                      "named barrier {} with {} threads; the block has {}", id, threads,
                      allThreads);
  NamedBarrier &barrier = block.namedBarriers[id];
  if (barrier.arrived && barrier.expected != threads)
    return warp.fault(op, FindingKind::NamedBarrier, {barrier.line},
                      "named barrier {} with {} threads here and {} at an earlier arrival", id,
                      threads, barrier.expected);
  if (std::find(barrier.present.begin(), barrier.present.end(), warp.id) != barrier.present.end())
    return warp.fault(op, FindingKind::NamedBarrier, {barrier.line},
                      "warp {} arrives twice in one round of named barrier {}", warp.id, id);
  barrier.expected = threads;
  barrier.line = op.line;
  barrier.arrived += warpSize;
  barrier.present.push_back(warp.id);
  warp.synchronizeLanes();
  barrier.arriving.join(warp.release(fullMask));
  if (wait)
    barrier.waiters.push_back(warp.id);
  if (barrier.arrived < threads) {
    if (!wait)
      return Flow::Next;
    warp.state = WarpState::OnNamedBarrier;
    warp.waitsFor = id;
    return Flow::Blocked;
  }
  for (uint32_t waiter : barrier.waiters) {
    Warp &other = *block.warps[waiter];
    other.clocks.join(barrier.arriving);
    if (waiter == warp.id)
      continue;
    ++other.paths.back().pc;
    block.wake(waiter);
  }
  barrier = NamedBarrier();
  return Flow::Next;
}

} // namespace

Flow emulator::executeBarrierSync(Warp &warp, const Op &op, uint32_t) {
  return arriveAtNamedBarrier(warp, op, true);
}

Flow emulator::executeBarrierArrive(Warp &warp, const Op &op, uint32_t) {
  return arriveAtNamedBarrier(warp, op, false);
}

Flow emulator::executeFence(Warp &warp, const Op &op, uint32_t) {
  if (op.variant == FenceOrdinary && warp.block->machine.module.blocksInteract)
    warp.block->machine.memory.fence(warp);
  if (op.variant == FenceProxyAsync)
    warp.clocks.proxy.join(warp.clocks.plain);
  if (op.variant == FenceMbarrierInit)
    warp.initFenceEpoch = warp.clocks.plain[warpComponent(warp.id)];
  return Flow::Next;
}

Flow emulator::executeSetRegisters(Warp &warp, const Op &op, uint32_t) {
  Block &block = *warp.block;
  const bool increase = op.variant;
  const uint32_t wanted = static_cast<uint32_t>(op.immediate);
  const Architecture &architecture = *block.machine.module.architecture;
  const uint32_t most = architecture.maxRegistersPerThread + 8; // setmaxnreg itself goes to 256
  if (wanted < architecture.minRegistersPerThread || wanted > most || wanted % 8)
    return warp.fault(op, FindingKind::Registers, {},
                      "{} registers; the count is a multiple of 8 from {} to {}", wanted,
                      architecture.minRegistersPerThread, most);
  if (increase ? wanted < warp.registersPerThread : wanted > warp.registersPerThread)
    return warp.fault(op, FindingKind::Registers, {}, "{} to {} with {} registers",
                      increase ? "inc" : "dec", wanted, warp.registersPerThread);
  const int64_t change = static_cast<int64_t>(wanted) - warp.registersPerThread;
  if (increase && block.registerPool < change) {
    warp.state = WarpState::OnRegisters;
    return Flow::Blocked;
  }
  block.registerPool -= change;
  warp.registersPerThread = wanted;
  for (const std::unique_ptr<Warp> &other : block.warps)
    if (other->state == WarpState::OnRegisters)
      block.wake(other->id);
  return Flow::Next;
}
