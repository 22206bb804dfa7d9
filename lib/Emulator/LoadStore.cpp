//===- LoadStore.cpp - Ordinary accesses to memory ------------------------===//
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

namespace {

uint64_t addressOf(Warp &warp, const Op &op, uint32_t lane) {
  const uint64_t base = op.wideAddress ? warp.lanes<uint64_t>(op.slots[2])[lane]
                                       : warp.lanes<uint32_t>(op.slots[2])[lane];
  return base + static_cast<uint64_t>(op.immediate);
}

struct Place {
  MemorySpace space;
  uint64_t address; ///< In its space.
};

/// Generic addresses to the space they point at.
Place resolveSpace(MemorySpace space, uint64_t address) {
  const uint64_t window = address & windowMask;
  if (space == MemorySpace::Shared && window == sharedWindow)
    return {space, address - sharedWindow};
  if (space == MemorySpace::Parameter)
    return {space, address - parameterWindow};
  if (space != MemorySpace::Generic)
    return {space, address};
  if (window == sharedWindow)
    return {MemorySpace::Shared, address - sharedWindow};
  if (window == localWindow)
    return {MemorySpace::Local, address - localWindow};
  if (window == parameterWindow)
    return {MemorySpace::Parameter, address - parameterWindow};
  return {MemorySpace::Global, address};
}

const char *nameOf(MemorySpace space) {
  return space == MemorySpace::Shared      ? "shared"
         : space == MemorySpace::Local     ? "local"
         : space == MemorySpace::Parameter ? "parameter"
                                           : "global";
}

/// The host bytes behind one lane's access, or null and a finding.
uint8_t *resolve(Warp &warp, const Op &op, uint32_t lane, uint64_t address, uint32_t bytes,
                 Access access) {
  Block &block = *warp.block;
  Machine &machine = block.machine;
  const Place place = resolveSpace(op.space, address);
  if (place.space == MemorySpace::Global)
    return machine.memory.access(warp, op, place.address, bytes, access);
  const Evidence evidence = {0, nameOf(place.space), place.address};
  uint64_t first = 0, end = 0;
  uint8_t *memory = nullptr;
  switch (place.space) {
  case MemorySpace::Shared:
    first = block.firstShared();
    end = block.shared.size();
    memory = block.shared.data();
    break;
  case MemorySpace::Local:
    end = machine.module.localBytes;
    memory = warp.local.data() + static_cast<uint64_t>(lane) * end;
    break;
  default:
    end = machine.parameters.size();
    memory = machine.parameters.data();
    if (access != Access::Read) {
      warp.record(op, FindingKind::ReadOnly, evidence, "write to a kernel parameter");
      return nullptr;
    }
    break;
  }
  if (place.address < first || place.address >= end || bytes > end - place.address) {
    warp.record(op, FindingKind::OutOfBounds, evidence,
                fmt::format("{} of {} bytes at {} address {}; the range is {} to {}",
                            access == Access::Read ? "read" : "write", bytes, nameOf(place.space),
                            place.address, first, end));
    return nullptr;
  }
  if (place.address % bytes) {
    warp.record(op, FindingKind::Misaligned, evidence,
                fmt::format("access of {} bytes at {} address {}", bytes, nameOf(place.space),
                            place.address));
    return nullptr;
  }
  if (place.space == MemorySpace::Shared &&
      !block.shadow.ordinary(warp, op, static_cast<uint32_t>(place.address), bytes, lane, access))
    return nullptr;
  return memory + place.address;
}

uint64_t signExtend(uint64_t value, uint32_t bytes) {
  const uint32_t shift = 64 - 8 * bytes;
  return static_cast<uint64_t>(static_cast<int64_t>(value << shift) >> shift);
}

} // namespace

// variant: 1 for a signed type narrower than its register. discard: the register has 64 bits, the
// element at most 32.
Flow emulator::executeLoad(Warp &warp, const Op &op, uint32_t mask) {
  const uint32_t *slots = warp.list(op.operands);
  const uint32_t bytes = op.elementBytes * op.operands.count;
  const bool wide = op.discard || op.elementBytes == 8;
  for (uint32_t lane = 0; lane < warpSize; ++lane) {
    if (!(mask >> lane & 1))
      continue;
    const uint8_t *source = resolve(warp, op, lane, addressOf(warp, op, lane), bytes, Access::Read);
    if (!source)
      return Flow::Fault;
    for (uint32_t i = 0; i < op.operands.count; ++i, source += op.elementBytes) {
      if (slots[i] == noSlot)
        continue;
      uint64_t value = 0;
      std::memcpy(&value, source, op.elementBytes);
      if (op.variant)
        value = signExtend(value, op.elementBytes);
      if (wide)
        warp.lanes<uint64_t>(slots[i])[lane] = value;
      else
        warp.lanes<uint32_t>(slots[i])[lane] = static_cast<uint32_t>(value);
    }
  }
  return Flow::Next;
}

Flow emulator::executeStore(Warp &warp, const Op &op, uint32_t mask) {
  const uint32_t *slots = warp.list(op.operands);
  const uint32_t bytes = op.elementBytes * op.operands.count;
  const bool wide = op.discard || op.elementBytes == 8;
  for (uint32_t lane = 0; lane < warpSize; ++lane) {
    if (!(mask >> lane & 1))
      continue;
    uint8_t *target = resolve(warp, op, lane, addressOf(warp, op, lane), bytes, Access::Write);
    if (!target)
      return Flow::Fault;
    for (uint32_t i = 0; i < op.operands.count; ++i, target += op.elementBytes) {
      const uint64_t value =
          wide ? warp.lanes<uint64_t>(slots[i])[lane] : warp.lanes<uint32_t>(slots[i])[lane];
      std::memcpy(target, &value, op.elementBytes);
    }
  }
  return Flow::Next;
}

namespace {

template <typename Unsigned>
Unsigned atomicResult(uint32_t variant, Unsigned old, Unsigned value, Unsigned swap) {
  using Signed = std::make_signed_t<Unsigned>;
  const bool less =
      variant & AtomicSigned ? static_cast<Signed>(value) < static_cast<Signed>(old) : value < old;
  switch (variant & AtomicOperationMask) {
  case AtomicAdd:
    return old + value;
  case AtomicMin:
    return less ? value : old;
  case AtomicMax:
    return less ? old : value;
  case AtomicExchange:
    return value;
  case AtomicCompareSwap:
    return old == value ? swap : old;
  case AtomicIncrement:
    return old >= value ? 0 : old + 1;
  case AtomicDecrement:
    return old == 0 || old > value ? value : old - 1;
  case AtomicAnd:
    return old & value;
  case AtomicOr:
    return old | value;
  default:
    return old ^ value;
  }
}

template <typename Unsigned>
void applyAtomic(Warp &warp, const Op &op, uint32_t lane, uint8_t *target) {
  Unsigned old;
  std::memcpy(&old, target, sizeof old);
  const Unsigned value = warp.lanes<Unsigned>(op.slots[3])[lane];
  const Unsigned swap = (op.variant & AtomicOperationMask) == AtomicCompareSwap
                            ? warp.lanes<Unsigned>(op.slots[4])[lane]
                            : 0;
  Unsigned result;
  if (op.variant & AtomicFloat) {
    using Float = std::conditional_t<sizeof(Unsigned) == 8, double, float>;
    result = std::bit_cast<Unsigned>(std::bit_cast<Float>(old) + std::bit_cast<Float>(value));
  } else
    result = atomicResult(op.variant, old, value, swap);
  std::memcpy(target, &result, sizeof result);
  if (!op.discard)
    warp.lanes<Unsigned>(op.slots[0])[lane] = old;
}

} // namespace

Flow emulator::executeAtomic(Warp &warp, const Op &op, uint32_t mask) {
  for (uint32_t lane = 0; lane < warpSize; ++lane) {
    if (!(mask >> lane & 1))
      continue;
    const uint64_t address = addressOf(warp, op, lane);
    uint8_t *target = resolve(warp, op, lane, address, op.elementBytes, Access::Atomic);
    if (!target)
      return Flow::Fault;
    if (op.elementBytes == 8)
      applyAtomic<uint64_t>(warp, op, lane, target);
    else
      applyAtomic<uint32_t>(warp, op, lane, target);
  }
  return Flow::Next;
}

Flow emulator::executeVectorReduction(Warp &warp, const Op &op, uint32_t mask) {
  const uint32_t *slots = warp.list(op.operands);
  const uint32_t bytes = 4 * op.operands.count;
  for (uint32_t lane = 0; lane < warpSize; ++lane) {
    if (!(mask >> lane & 1))
      continue;
    uint8_t *target = resolve(warp, op, lane, addressOf(warp, op, lane), bytes, Access::Atomic);
    if (!target)
      return Flow::Fault;
    for (uint32_t i = 0; i < op.operands.count; ++i, target += 4) {
      float sum;
      std::memcpy(&sum, target, 4);
      sum += warp.lanes<float>(slots[i])[lane];
      std::memcpy(target, &sum, 4);
    }
  }
  return Flow::Next;
}

namespace {

/// ldmatrix and stmatrix: lane 8j + i names row i of matrix j.
Flow moveMatrices(Warp &warp, const Op &op, bool store) {
  const uint32_t *slots = warp.list(op.operands);
  const bool transpose = op.variant;
  for (uint32_t matrix = 0; matrix < op.operands.count; ++matrix) {
    uint8_t *rows[8];
    uint16_t elements[8][8];
    for (uint32_t row = 0; row < 8; ++row) {
      const uint32_t lane = 8 * matrix + row;
      rows[row] = resolve(warp, op, lane, addressOf(warp, op, lane), 16,
                          store ? Access::Write : Access::Read);
      if (!rows[row])
        return Flow::Fault;
      if (!store)
        std::memcpy(elements[row], rows[row], 16);
    }
    uint32_t *registers = warp.lanes<uint32_t>(slots[matrix]);
    for (uint32_t lane = 0; lane < warpSize; ++lane) {
      const uint32_t row = lane / 4, column = lane % 4 * 2;
      uint16_t &low = transpose ? elements[column][row] : elements[row][column];
      uint16_t &high = transpose ? elements[column + 1][row] : elements[row][column + 1];
      if (store) {
        low = static_cast<uint16_t>(registers[lane]);
        high = static_cast<uint16_t>(registers[lane] >> 16);
      } else
        registers[lane] = static_cast<uint32_t>(high) << 16 | low;
    }
    for (uint32_t row = 0; store && row < 8; ++row)
      std::memcpy(rows[row], elements[row], 16);
  }
  return Flow::Next;
}

} // namespace

Flow emulator::executeLoadMatrix(Warp &warp, const Op &op, uint32_t) {
  return moveMatrices(warp, op, false);
}

Flow emulator::executeStoreMatrix(Warp &warp, const Op &op, uint32_t) {
  return moveMatrices(warp, op, true);
}
