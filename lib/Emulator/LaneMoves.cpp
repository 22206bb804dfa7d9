//===- LaneMoves.cpp - Moves, packing, selection --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Emulator/Executors.h"
#include "lib/Emulator/Machine.h"

#include <algorithm>
#include <cstring>

using namespace tilewright;
using namespace tilewright::emulator;

namespace {

template <typename Body> void forLanes(uint32_t mask, Body body) {
  for (uint32_t lane = 0; lane < warpSize; ++lane)
    if (mask >> lane & 1)
      body(lane);
}

template <typename T> Flow move(Warp &warp, const Op &op, uint32_t mask) {
  T *destination = warp.lanes<T>(op.slots[0]);
  const T *source = warp.lanes<T>(op.slots[1]);
  if (mask == fullMask)
    std::memmove(destination, source, warpSize * sizeof(T));
  else
    forLanes(mask, [&](uint32_t lane) { destination[lane] = source[lane]; });
  return Flow::Next;
}

template <typename T> Flow select(Warp &warp, const Op &op, uint32_t mask) {
  T *destination = warp.lanes<T>(op.slots[0]);
  const T *a = warp.lanes<T>(op.slots[1]), *b = warp.lanes<T>(op.slots[2]);
  const uint32_t chosen = warp.predicates[op.slots[3]];
  for (uint32_t lane = 0; lane < warpSize; ++lane) {
    const T value = chosen >> lane & 1 ? a[lane] : b[lane];
    destination[lane] = mask >> lane & 1 ? value : destination[lane];
  }
  return Flow::Next;
}

void setPredicate(Warp &warp, uint32_t predicate, uint32_t mask, uint32_t value) {
  uint32_t &bits = warp.predicates[predicate];
  bits = (bits & ~mask) | (value & mask);
}

} // namespace

Flow emulator::executeMoveNarrow(Warp &warp, const Op &op, uint32_t mask) {
  return move<uint32_t>(warp, op, mask);
}

Flow emulator::executeMoveWide(Warp &warp, const Op &op, uint32_t mask) {
  return move<uint64_t>(warp, op, mask);
}

Flow emulator::executeMovePredicate(Warp &warp, const Op &op, uint32_t mask) {
  setPredicate(warp, op.slots[0], mask, warp.predicates[op.slots[1]]);
  return Flow::Next;
}

/// cvta: a null pointer stays one.
Flow emulator::executeAddWindow(Warp &warp, const Op &op, uint32_t mask) {
  uint64_t *destination = warp.lanes<uint64_t>(op.slots[0]);
  const uint64_t *source = warp.lanes<uint64_t>(op.slots[1]);
  forLanes(mask, [&](uint32_t lane) {
    const uint64_t address = source[lane];
    destination[lane] = address ? address + static_cast<uint64_t>(op.immediate) : 0;
  });
  return Flow::Next;
}

Flow emulator::executeSelectNarrow(Warp &warp, const Op &op, uint32_t mask) {
  return select<uint32_t>(warp, op, mask);
}

Flow emulator::executeSelectWide(Warp &warp, const Op &op, uint32_t mask) {
  return select<uint64_t>(warp, op, mask);
}

Flow emulator::executePackWide(Warp &warp, const Op &op, uint32_t mask) {
  const uint32_t *parts = warp.list(op.operands);
  uint64_t *destination = warp.lanes<uint64_t>(op.slots[0]);
  const uint32_t *low = warp.lanes<uint32_t>(parts[0]), *high = warp.lanes<uint32_t>(parts[1]);
  forLanes(mask, [&](uint32_t lane) {
    destination[lane] = static_cast<uint64_t>(high[lane]) << 32 | low[lane];
  });
  return Flow::Next;
}

Flow emulator::executePackNarrow(Warp &warp, const Op &op, uint32_t mask) {
  const uint32_t *parts = warp.list(op.operands);
  uint32_t *destination = warp.lanes<uint32_t>(op.slots[0]);
  const uint32_t *low = warp.lanes<uint32_t>(parts[0]), *high = warp.lanes<uint32_t>(parts[1]);
  forLanes(mask,
           [&](uint32_t lane) { destination[lane] = high[lane] << 16 | (low[lane] & 0xffff); });
  return Flow::Next;
}

Flow emulator::executeUnpackWide(Warp &warp, const Op &op, uint32_t mask) {
  const uint32_t *parts = warp.list(op.operands);
  const uint64_t *source = warp.lanes<uint64_t>(op.slots[1]);
  for (uint32_t part = 0; part < 2; ++part)
    if (parts[part] != noSlot) {
      uint32_t *destination = warp.lanes<uint32_t>(parts[part]);
      forLanes(mask, [&](uint32_t lane) {
        destination[lane] = static_cast<uint32_t>(source[lane] >> 32 * part);
      });
    }
  return Flow::Next;
}

Flow emulator::executeUnpackNarrow(Warp &warp, const Op &op, uint32_t mask) {
  const uint32_t *parts = warp.list(op.operands);
  uint32_t source[warpSize]; // a destination may be the source itself
  std::memcpy(source, warp.lanes<uint32_t>(op.slots[1]), sizeof source);
  for (uint32_t part = 0; part < 2; ++part)
    if (parts[part] != noSlot) {
      uint32_t *destination = warp.lanes<uint32_t>(parts[part]);
      forLanes(mask,
               [&](uint32_t lane) { destination[lane] = source[lane] >> 16 * part & 0xffff; });
    }
  return Flow::Next;
}

/// Clocks count instructions: there is no time here.
Flow emulator::executeClockNarrow(Warp &warp, const Op &op, uint32_t mask) {
  uint32_t *destination = warp.lanes<uint32_t>(op.slots[0]);
  const uint64_t now = warp.block->statistics.warpInstructions;
  forLanes(mask, [&](uint32_t lane) { destination[lane] = static_cast<uint32_t>(now); });
  return Flow::Next;
}

Flow emulator::executeClockWide(Warp &warp, const Op &op, uint32_t mask) {
  uint64_t *destination = warp.lanes<uint64_t>(op.slots[0]);
  const uint64_t now = warp.block->statistics.warpInstructions;
  forLanes(mask, [&](uint32_t lane) { destination[lane] = now; });
  return Flow::Next;
}

Flow emulator::executeBitFieldInsert(Warp &warp, const Op &op, uint32_t mask) {
  uint32_t *destination = warp.lanes<uint32_t>(op.slots[0]);
  const uint32_t *field = warp.lanes<uint32_t>(op.slots[1]);
  const uint32_t *into = warp.lanes<uint32_t>(op.slots[2]);
  const uint32_t *position = warp.lanes<uint32_t>(op.slots[3]);
  const uint32_t *length = warp.lanes<uint32_t>(op.slots[4]);
  forLanes(mask, [&](uint32_t lane) {
    const uint32_t at = std::min(position[lane] & 255, 32u);
    const uint32_t bits = std::min(length[lane] & 255, 32u);
    const uint32_t window = static_cast<uint32_t>(((uint64_t(1) << bits) - 1) << at);
    const uint32_t moved = static_cast<uint32_t>(uint64_t(field[lane]) << at);
    destination[lane] = (into[lane] & ~window) | (moved & window);
  });
  return Flow::Next;
}

/// lop3: the immediate is the truth table.
Flow emulator::executeLogic3(Warp &warp, const Op &op, uint32_t mask) {
  uint32_t *destination = warp.lanes<uint32_t>(op.slots[0]);
  const uint32_t *a = warp.lanes<uint32_t>(op.slots[1]);
  const uint32_t *b = warp.lanes<uint32_t>(op.slots[2]);
  const uint32_t *c = warp.lanes<uint32_t>(op.slots[3]);
  forLanes(mask, [&](uint32_t lane) {
    uint32_t result = 0;
    for (uint32_t row = 0; row < 8; ++row)
      if (op.immediate >> row & 1)
        result |= (row & 4 ? a[lane] : ~a[lane]) & (row & 2 ? b[lane] : ~b[lane]) &
                  (row & 1 ? c[lane] : ~c[lane]);
    destination[lane] = result;
  });
  return Flow::Next;
}

/// Combines two predicates: variant 0 and, 1 or, 2 xor; 4 negates the second operand.
Flow emulator::executePredicateLogic(Warp &warp, const Op &op, uint32_t mask) {
  const uint32_t a = warp.predicates[op.slots[1]];
  const uint32_t b = op.variant & 4 ? ~warp.predicates[op.slots[2]] : warp.predicates[op.slots[2]];
  const uint32_t operation = op.variant & 3;
  setPredicate(warp, op.slots[0], mask, operation == 0 ? a & b : operation == 1 ? a | b : a ^ b);
  return Flow::Next;
}
