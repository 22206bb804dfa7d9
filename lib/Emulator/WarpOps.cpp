//===- WarpOps.cpp - Control flow and instructions of one warp ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Emulator/Executors.h"
#include "lib/Emulator/Machine.h"

#include <bit>
#include <cstring>

using namespace tilewright;
using namespace tilewright::emulator;

Flow emulator::executeBranch(Warp &warp, const Op &op, uint32_t mask) {
  Path &path = warp.paths.back();
  if (mask == path.mask) {
    path.pc = op.target;
    return Flow::Jumped;
  }
  Path rest = {path.pc + 1, op.reconvergence, path.mask & ~mask};
  Path taken = {op.target, op.reconvergence, mask};
  // A path that ends at the same place needs no entry of its own to come back to.
  if (path.reconvergence == op.reconvergence)
    warp.paths.pop_back();
  else
    path.pc = op.reconvergence;
  if (warp.block->random.next() & 1)
    std::swap(rest, taken);
  warp.paths.push_back(rest);
  warp.paths.push_back(taken);
  return Flow::Jumped;
}

Flow emulator::executeExit(Warp &warp, const Op &op, uint32_t mask) {
  if (warp.lastMatrixGroup > warp.matrixDone)
    return warp.fault(op, FindingKind::Unfinished, {}, "a thread ends with wgmmas in flight");
  for (Path &path : warp.paths)
    path.mask &= ~mask;
  const bool othersGoOn = warp.paths.back().mask != 0;
  while (!warp.paths.empty() && !warp.paths.back().mask)
    warp.paths.pop_back();
  if (warp.paths.empty())
    warp.state = WarpState::Done;
  else if (othersGoOn)
    ++warp.paths.back().pc;
  return Flow::Jumped;
}

Flow emulator::executeTrap(Warp &warp, const Op &op, uint32_t) {
  return warp.fault(op, FindingKind::Trap, {}, "trap was executed");
}

Flow emulator::executeNothing(Warp &, const Op &, uint32_t) {
  return Flow::Next;
}

namespace {

/// The lanes that execute must be exactly those that each of them names.
bool membersAgree(Warp &warp, const Op &op, uint32_t mask, uint32_t slot) {
  const uint32_t *named = warp.lanes<uint32_t>(slot);
  for (uint32_t lane = 0; lane < warpSize; ++lane)
    if (mask >> lane & 1 && named[lane] != mask)
      return warp.reject(op, FindingKind::NonUniform, {},
                         "lane {} names the members {:08x}, but the lanes {:08x} execute", lane,
                         named[lane], mask);
  return true;
}

void setLanes(Warp &warp, uint32_t slot, uint32_t mask, uint32_t value) {
  uint32_t *lanes = warp.lanes<uint32_t>(slot);
  for (uint32_t lane = 0; lane < warpSize; ++lane)
    if (mask >> lane & 1)
      lanes[lane] = value;
}

void setPredicate(Warp &warp, uint32_t predicate, uint32_t mask, uint32_t value) {
  uint32_t &bits = warp.predicates[predicate];
  bits = (bits & ~mask) | (value & mask);
}

} // namespace

Flow emulator::executeShuffle(Warp &warp, const Op &op, uint32_t mask) {
  if (!membersAgree(warp, op, mask, op.slots[4]))
    return Flow::Fault;
  uint32_t source[warpSize], result[warpSize], inRange = 0;
  std::memcpy(source, warp.lanes<uint32_t>(op.slots[1]), sizeof source);
  const uint32_t *b = warp.lanes<uint32_t>(op.slots[2]), *c = warp.lanes<uint32_t>(op.slots[3]);
  for (uint32_t lane = 0; lane < warpSize; ++lane) {
    if (!(mask >> lane & 1))
      continue;
    const int offset = b[lane] & 31, clamp = c[lane] & 31, segment = c[lane] >> 8 & 31;
    const int self = static_cast<int>(lane);
    const int last = (self & segment) | (clamp & ~segment), first = self & segment;
    int from = self;
    bool valid = false;
    switch (op.variant) {
    case ShuffleUp:
      from = self - offset;
      valid = from >= last;
      break;
    case ShuffleDown:
      from = self + offset;
      valid = from <= last;
      break;
    case ShuffleButterfly:
      from = self ^ offset;
      valid = from <= last;
      break;
    default:
      from = first | (offset & ~segment);
      valid = from <= last;
      break;
    }
    if (!valid)
      from = self;
    if (!(mask >> from & 1))
      return warp.fault(op, FindingKind::NonUniform, {},
                        "lane {} reads lane {}, which does not take part", lane, from);
    result[lane] = source[from];
    inRange |= static_cast<uint32_t>(valid) << lane;
  }
  uint32_t *destination = warp.lanes<uint32_t>(op.slots[0]);
  for (uint32_t lane = 0; lane < warpSize; ++lane)
    if (mask >> lane & 1)
      destination[lane] = result[lane];
  if (op.count)
    setPredicate(warp, op.slots[5], mask, inRange);
  return Flow::Next;
}

Flow emulator::executeVote(Warp &warp, const Op &op, uint32_t mask) {
  if (!membersAgree(warp, op, mask, op.slots[2]))
    return Flow::Fault;
  uint32_t votes = warp.predicates[op.slots[1]];
  if (op.variant & VoteNegate)
    votes = ~votes;
  votes &= mask;
  switch (op.variant & ~VoteNegate) {
  case VoteBallot:
    setLanes(warp, op.slots[0], mask, votes);
    return Flow::Next;
  case VoteAny:
    setPredicate(warp, op.slots[0], mask, votes ? fullMask : 0);
    return Flow::Next;
  case VoteAll:
    setPredicate(warp, op.slots[0], mask, votes == mask ? fullMask : 0);
    return Flow::Next;
  default:
    setPredicate(warp, op.slots[0], mask, votes == mask || !votes ? fullMask : 0);
    return Flow::Next;
  }
}

Flow emulator::executeActiveMask(Warp &warp, const Op &op, uint32_t mask) {
  setLanes(warp, op.slots[0], mask, mask);
  return Flow::Next;
}

Flow emulator::executeReduce(Warp &warp, const Op &op, uint32_t mask) {
  if (!membersAgree(warp, op, mask, op.slots[2]))
    return Flow::Fault;
  const uint32_t *source = warp.lanes<uint32_t>(op.slots[1]);
  const bool isSigned = op.variant & AtomicSigned;
  uint32_t result = source[std::countr_zero(mask)];
  for (uint32_t lane = static_cast<uint32_t>(std::countr_zero(mask)) + 1; lane < warpSize; ++lane) {
    if (!(mask >> lane & 1))
      continue;
    const uint32_t value = source[lane];
    const bool less =
        isSigned ? static_cast<int32_t>(value) < static_cast<int32_t>(result) : value < result;
    switch (op.variant & AtomicOperationMask) {
    case AtomicAdd:
      result += value;
      break;
    case AtomicMin:
      result = less ? value : result;
      break;
    case AtomicMax:
      result = less ? result : value;
      break;
    case AtomicAnd:
      result &= value;
      break;
    case AtomicOr:
      result |= value;
      break;
    default:
      result ^= value;
      break;
    }
  }
  setLanes(warp, op.slots[0], mask, result);
  return Flow::Next;
}

Flow emulator::executeElect(Warp &warp, const Op &op, uint32_t mask) {
  if (!membersAgree(warp, op, mask, op.slots[1]))
    return Flow::Fault;
  const uint32_t leader = static_cast<uint32_t>(std::countr_zero(mask));
  setPredicate(warp, op.slots[5], mask, 1u << leader);
  if (!op.discard)
    setLanes(warp, op.slots[0], mask, leader);
  return Flow::Next;
}

Flow emulator::executeWarpSync(Warp &warp, const Op &op, uint32_t mask) {
  if (!membersAgree(warp, op, mask, op.slots[0]))
    return Flow::Fault;
  if (mask == fullMask)
    warp.synchronizeLanes();
  return Flow::Next;
}
