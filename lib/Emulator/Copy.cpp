//===- Copy.cpp - Asynchronous copies -------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A copy is checked when it is issued and moves its bytes when the scheduler
// finishes it. Until then its destination holds NaNs.
//
//===----------------------------------------------------------------------===//

#include "lib/Emulator/Copy.h"

#include "lib/Emulator/Executors.h"
#include "lib/Emulator/Fragments.h"
#include "lib/Emulator/Machine.h"

#include <algorithm>
#include <cstring>

using namespace tilewright;
using namespace tilewright::emulator;

namespace {

constexpr uint8_t poison = 0xff;
constexpr uint32_t spanOf(Swizzle swizzle) {
  constexpr uint32_t spans[] = {0, 32, 64, 128};
  return spans[static_cast<size_t>(swizzle)];
}

uint32_t elementBytes(const TensorMap &map) {
  return static_cast<uint32_t>(sizeOf(map.dtype));
}

} // namespace

uint64_t emulator::boxBytes(const TensorMap &map) {
  uint64_t bytes = elementBytes(map);
  for (uint32_t i = 0; i < map.rank; ++i)
    bytes *= map.box[i];
  return bytes;
}

namespace {
/// Distance of rows in shared memory. Measured on an H200: the swizzle's span.
uint32_t rowPitch(const TensorMap &map) {
  return std::max(map.box[0] * elementBytes(map), spanOf(map.swizzle));
}
} // namespace

uint64_t emulator::boxFootprint(const TensorMap &map) {
  // The XOR may move the last row's chunks anywhere inside its pitch.
  return boxBytes(map) / (map.box[0] * elementBytes(map)) * rowPitch(map);
}

std::vector<Piece> emulator::piecesOf(const TensorMap &map, uint8_t *base, const Box &box) {
  const uint32_t element = elementBytes(map), inner = map.box[0] * element;
  const uint32_t rows = static_cast<uint32_t>(boxBytes(map) / inner);
  const uint32_t span = spanOf(map.swizzle), mask = span ? span / 16 - 1 : 0;
  std::vector<Piece> pieces;
  pieces.reserve(static_cast<size_t>(rows) * (inner / Shadow::granuleBytes));
  std::array<uint32_t, 5> index{};
  for (uint32_t row = 0; row < rows; ++row) {
    bool inside = true;
    uint8_t *source = base;
    for (uint32_t i = 1; i < map.rank; ++i) {
      const int64_t at = box.start[i] + index[i];
      inside &= at >= 0 && static_cast<uint64_t>(at) < map.dims[i];
      if (inside)
        source += static_cast<uint64_t>(at) * map.strides[i];
    }
    for (uint32_t chunk = 0; chunk < inner; chunk += Shadow::granuleBytes) {
      const uint32_t shared = swizzled(box.shared + row * rowPitch(map) + chunk, mask);
      const uint32_t count = Shadow::granuleBytes / element;
      const int64_t first = box.start[0] + chunk / element;
      // A granule that crosses an edge of the tensor is cut; its elements outside are zeros.
      const int64_t from = std::clamp<int64_t>(-first, 0, count);
      const int64_t until =
          std::clamp<int64_t>(static_cast<int64_t>(map.dims[0]) - first, from, count);
      if (!inside || from == until) {
        pieces.push_back({nullptr, shared, 0, Shadow::granuleBytes});
        continue;
      }
      if (from > 0)
        pieces.push_back({nullptr, shared, 0, static_cast<uint32_t>(from) * element});
      pieces.push_back({source + (first + from) * element,
                        shared + static_cast<uint32_t>(from) * element,
                        static_cast<uint32_t>(until - from) * element,
                        static_cast<uint32_t>(count - until) * element});
    }
    for (uint32_t i = 1; i < map.rank; ++i) {
      if (++index[i] < map.box[i])
        break;
      index[i] = 0;
    }
  }
  return pieces;
}

namespace {

/// The tensor map behind a parameter's address, checked as the hardware and the driver do.
const TensorMap *findMap(Warp &warp, const Op &op, uint32_t lane) {
  const Machine &machine = warp.block->machine;
  const uint64_t address = warp.lanes<uint64_t>(op.slots[1])[lane] +
                           static_cast<uint64_t>(op.immediate) - parameterWindow;
  uint64_t words[2];
  if (address >= machine.parameters.size() || machine.parameters.size() - address < 128 ||
      address % 64) {
    warp.record(op, FindingKind::TensorMap, {},
                "the tensor map is not a kernel parameter of 128 bytes, aligned to 64");
    return nullptr;
  }
  std::memcpy(words, machine.parameters.data() + address, sizeof words);
  if (words[0] != mapTag || words[1] >= machine.launch.maps.size()) {
    warp.record(op, FindingKind::TensorMap, {}, "the kernel parameter is not a tensor map");
    return nullptr;
  }
  const TensorMap &map = machine.launch.maps[words[1]];
  if (map.rank != op.count) {
    warp.record(op, FindingKind::TensorMap, {},
                fmt::format("the tensor map has rank {}, the instruction {} coordinates", map.rank,
                            op.count));
    return nullptr;
  }
  return &map;
}

/// The race rules for the global side of a tensor copy.
bool checkGlobal(Warp &warp, const Op &op, const TensorMap &map, const std::vector<Piece> &pieces,
                 Access access) {
  for (const Piece &piece : pieces)
    if (piece.global && !warp.block->machine.memory.checkAsync(warp, op, map.buffer, piece.global,
                                                               piece.bytes, access))
      return false;
  return true;
}

/// Bytes of shared memory at `address` as one side of a bulk copy.
bool checkShared(Warp &warp, const Op &op, uint32_t address, uint64_t bytes, uint32_t alignment) {
  const Evidence evidence = {0, "shared", address};
  if (address % alignment)
    return warp.reject(op, FindingKind::Misaligned, evidence,
                       "bulk copy at shared address {}; it must be a multiple of {}", address,
                       alignment);
  if (!warp.block->ownsShared(address, bytes))
    return warp.reject(op, FindingKind::OutOfBounds, evidence,
                       "bulk copy of {} bytes at shared address {}; the block has {} to {}", bytes,
                       address, warp.block->firstShared(), warp.block->shared.size());
  return true;
}

Box boxAt(Warp &warp, const Op &op, uint32_t lane, uint32_t shared) {
  Box box;
  box.shared = shared;
  const uint32_t *coordinates = warp.list(op.operands);
  for (uint32_t i = 0; i < op.count; ++i)
    box.start[i] = warp.lanes<int32_t>(coordinates[i])[lane];
  return box;
}

bool checkInnerStart(Warp &warp, const Op &op, const TensorMap &map, const Box &box) {
  // Measured on an H200: such a copy is an illegal instruction, whatever the swizzle.
  if (box.start[0] * elementBytes(map) % 16)
    return warp.reject(op, FindingKind::TensorMap, {},
                       "the innermost coordinate {} is not at a multiple of 16 bytes",
                       box.start[0]);
  return true;
}

std::vector<uint32_t> granulesOf(const std::vector<Piece> &pieces) {
  std::vector<uint32_t> granules;
  granules.reserve(pieces.size());
  for (const Piece &piece : pieces)
    if (const uint32_t granule = piece.shared / Shadow::granuleBytes;
        granules.empty() || granules.back() != granule)
      granules.push_back(granule);
  return granules;
}

/// The common end of loads: the barrier, the race rules, the poison.
Flow issueLoad(Warp &warp, const Op &op, uint32_t lane, Transfer transfer) {
  Block &block = *warp.block;
  const uint32_t barrierAddress = warp.sharedAddress(op.slots[3], op.discard, lane);
  Mbarrier *barrier = block.mbarrier(warp, op, barrierAddress, "bulk copy");
  if (!barrier)
    return Flow::Fault;
  if (block.warps[barrier->initWarp]->initFenceEpoch < barrier->initEpoch &&
      !warp.clocks.proxy.knows(warpComponent(barrier->initWarp), barrier->initEpoch))
    return warp.fault(op, FindingKind::MissingProxyFence,
                      {barrier->initLine, "shared", barrierAddress},
                      "the mbarrier was initialised without fence.mbarrier_init or "
                      "fence.proxy.async");
  transfer.mbarrier = static_cast<uint32_t>(barrier - block.mbarriers.data());
  if (!block.shadow.bulkWrite(warp, op, granulesOf(transfer.pieces),
                              mbarrierComponent(transfer.mbarrier), barrier->phase + 1))
    return Flow::Fault;
  for (const Piece &piece : transfer.pieces) {
    const uint32_t bytes = piece.bytes + piece.zeroBytes;
    std::memset(&block.shared[piece.shared], poison, bytes);
    block.sharedWritten(piece.shared, bytes);
  }
  ++barrier->copiesInFlight;
  ++block.statistics.copies;
  block.transfers.push_back(std::move(transfer));
  return Flow::Next;
}

/// Stores of these lanes join the warp's open group.
void issueStore(Warp &warp, uint32_t lane, Transfer transfer) {
  transfer.group = warp.stores.open;
  transfer.lanes = 1u << lane;
  warp.stores.openLanes |= 1u << lane;
  ++warp.block->statistics.copies;
  warp.block->transfers.push_back(std::move(transfer));
}

void commit(LaneGroups &groups, uint32_t mask) {
  groups.committed.push_back({groups.open, groups.openLanes & mask});
  ++groups.open;
  groups.openLanes &= ~mask;
}

/// The newest group that a wait with `pending` groups left over covers, 0 for none. Groups that
/// other lanes committed are not covered: a thread waits for its own.
uint32_t coveredGroup(LaneGroups &groups, uint32_t mask, uint32_t pending) {
  uint32_t own = 0, covered = 0;
  for (const LaneGroups::Group &group : groups.committed)
    own += (group.lanes & ~mask) == 0;
  while (!groups.committed.empty() && own > pending &&
         (groups.committed.front().lanes & ~mask) == 0) {
    covered = groups.committed.front().number;
    groups.committed.pop_front();
    --own;
  }
  return covered;
}

} // namespace

// slots: 0 destination, 1 map, 3 mbarrier (discard: in a 64-bit register). operands: coordinates.
Flow emulator::executeTensorLoad(Warp &warp, const Op &op, uint32_t mask) {
  Block &block = *warp.block;
  for (uint32_t lane = 0; lane < warpSize; ++lane) {
    if (!(mask >> lane & 1))
      continue;
    const TensorMap *map = findMap(warp, op, lane);
    if (!map)
      return Flow::Fault;
    const Box box = boxAt(warp, op, lane, warp.sharedAddress(op.slots[0], op.wideAddress, lane));
    const uint64_t bytes = boxBytes(*map);
    if (!checkShared(warp, op, box.shared, boxFootprint(*map), 128) ||
        !checkInnerStart(warp, op, *map, box))
      return Flow::Fault;
    Transfer transfer;
    transfer.op = &op;
    transfer.warp = warp.id;
    transfer.bytes = static_cast<uint32_t>(bytes);
    transfer.pieces = piecesOf(*map, block.machine.memory.hostOf(map->buffer) + map->offset, box);
    if (!checkGlobal(warp, op, *map, transfer.pieces, Access::Read) ||
        issueLoad(warp, op, lane, std::move(transfer)) == Flow::Fault)
      return Flow::Fault;
  }
  return Flow::Next;
}

// slots: 0 destination, 1 source, 2 bytes, 3 mbarrier.
Flow emulator::executeBulkLoad(Warp &warp, const Op &op, uint32_t mask) {
  Block &block = *warp.block;
  for (uint32_t lane = 0; lane < warpSize; ++lane) {
    if (!(mask >> lane & 1))
      continue;
    const uint32_t destination =
        warp.sharedAddress(op.slots[0], op.wideAddress, lane, op.immediate);
    const uint64_t source = warp.lanes<uint64_t>(op.slots[1])[lane];
    const uint32_t bytes = warp.lanes<uint32_t>(op.slots[2])[lane];
    if (bytes % 16 || source % 16)
      return warp.fault(op, FindingKind::Misaligned, {0, "global", source},
                        "bulk copy of {} bytes from 0x{:x}; both must be multiples of 16", bytes,
                        source);
    if (!bytes)
      continue;
    if (!checkShared(warp, op, destination, bytes, 16))
      return Flow::Fault;
    Transfer transfer;
    transfer.op = &op;
    transfer.warp = warp.id;
    transfer.bytes = bytes;
    for (uint32_t at = 0; at < bytes; at += 16) {
      uint8_t *host = block.machine.memory.access(warp, op, source + at, 16, Access::Read, true);
      if (!host)
        return Flow::Fault;
      transfer.pieces.push_back({host, destination + at, 16, 0});
    }
    if (issueLoad(warp, op, lane, std::move(transfer)) == Flow::Fault)
      return Flow::Fault;
  }
  return Flow::Next;
}

// slots: 0 source, 1 map; variant 1: add. operands: coordinates.
Flow emulator::executeTensorStore(Warp &warp, const Op &op, uint32_t mask) {
  Block &block = *warp.block;
  for (uint32_t lane = 0; lane < warpSize; ++lane) {
    if (!(mask >> lane & 1))
      continue;
    const TensorMap *map = findMap(warp, op, lane);
    if (!map)
      return Flow::Fault;
    const Box box = boxAt(warp, op, lane, warp.sharedAddress(op.slots[0], op.wideAddress, lane));
    if (!block.machine.launch.buffers[map->buffer].writable)
      return warp.fault(op, FindingKind::ReadOnly, {}, "bulk store to '{}', which is an input",
                        block.machine.launch.buffers[map->buffer].name);
    if (op.variant && map->dtype != DType::F32)
      return warp.fault(op, FindingKind::Unsupported, {}, "a bulk reduction of {}",
                        nameOf(map->dtype));
    if (!checkShared(warp, op, box.shared, boxFootprint(*map), 128) ||
        !checkInnerStart(warp, op, *map, box))
      return Flow::Fault;
    Transfer transfer;
    transfer.kind = Transfer::Kind::BulkStore;
    transfer.op = &op;
    transfer.warp = warp.id;
    transfer.add = op.variant;
    transfer.pieces = piecesOf(*map, block.machine.memory.hostOf(map->buffer) + map->offset, box);
    if (!checkGlobal(warp, op, *map, transfer.pieces,
                     op.variant ? Access::Atomic : Access::Write) ||
        !block.shadow.bulkRead(warp, op, granulesOf(transfer.pieces), warp.stores.open))
      return Flow::Fault;
    issueStore(warp, lane, std::move(transfer));
  }
  return Flow::Next;
}

// slots: 0 destination, 1 source, 2 bytes; variant 1: add.
Flow emulator::executeBulkStore(Warp &warp, const Op &op, uint32_t mask) {
  Block &block = *warp.block;
  for (uint32_t lane = 0; lane < warpSize; ++lane) {
    if (!(mask >> lane & 1))
      continue;
    const uint64_t destination =
        warp.lanes<uint64_t>(op.slots[0])[lane] + static_cast<uint64_t>(op.immediate);
    const uint32_t source = warp.sharedAddress(op.slots[1], op.discard, lane);
    const uint32_t bytes = warp.lanes<uint32_t>(op.slots[2])[lane];
    if (bytes % 16 || destination % 16)
      return warp.fault(op, FindingKind::Misaligned, {0, "global", destination},
                        "bulk store of {} bytes to 0x{:x}; both must be multiples of 16", bytes,
                        destination);
    if (!bytes)
      continue;
    if (!checkShared(warp, op, source, bytes, 16))
      return Flow::Fault;
    Transfer transfer;
    transfer.kind = Transfer::Kind::BulkStore;
    transfer.op = &op;
    transfer.warp = warp.id;
    transfer.add = op.variant;
    for (uint32_t at = 0; at < bytes; at += 16) {
      uint8_t *host = block.machine.memory.access(
          warp, op, destination + at, 16, op.variant ? Access::Atomic : Access::Write, true);
      if (!host)
        return Flow::Fault;
      transfer.pieces.push_back({host, source + at, 16, 0});
    }
    if (!block.shadow.bulkRead(warp, op, granulesOf(transfer.pieces), warp.stores.open))
      return Flow::Fault;
    issueStore(warp, lane, std::move(transfer));
  }
  return Flow::Next;
}

Flow emulator::executeStoreCommit(Warp &warp, const Op &, uint32_t mask) {
  commit(warp.stores, mask);
  return Flow::Next;
}

// immediate: groups that may stay pending; variant 1: only their reads must be done.
Flow emulator::executeStoreWait(Warp &warp, const Op &op, uint32_t mask) {
  const uint32_t group = coveredGroup(warp.stores, mask, static_cast<uint32_t>(op.immediate));
  if (!group)
    return Flow::Next;
  if (!warp.block->finishTransfers(Transfer::Kind::BulkStore, warp.id, group, mask, op.variant))
    return Flow::Fault;
  warp.clocks.learn(storeComponent(warp.id), group);
  return Flow::Next;
}

// slots: 0 destination, 1 source, 3 source bytes where count is 2; elementBytes: size.
Flow emulator::executeAsyncCopy(Warp &warp, const Op &op, uint32_t mask) {
  Block &block = *warp.block;
  Transfer transfer;
  transfer.kind = Transfer::Kind::AsyncCopy;
  transfer.op = &op;
  transfer.warp = warp.id;
  transfer.group = warp.asyncCopies.open;
  transfer.lanes = mask;
  const uint32_t size = op.elementBytes;
  for (uint32_t lane = 0; lane < warpSize; ++lane) {
    if (!(mask >> lane & 1))
      continue;
    const uint32_t destination =
        warp.sharedAddress(op.slots[0], op.wideAddress, lane, op.immediate);
    const uint64_t source = warp.lanes<uint64_t>(op.slots[1])[lane] +
                            static_cast<uint64_t>(static_cast<int64_t>(op.variant));
    const uint32_t wanted = op.count == 2 ? warp.lanes<uint32_t>(op.slots[3])[lane] : size;
    const Evidence evidence = {0, "shared", destination};
    if (wanted > size)
      return warp.fault(op, FindingKind::Misaligned, evidence,
                        "cp.async of {} source bytes into {}", wanted, size);
    if (destination % size)
      return warp.fault(op, FindingKind::Misaligned, evidence,
                        "cp.async of {} bytes to shared address {}", size, destination);
    if (!block.ownsShared(destination, size))
      return warp.fault(op, FindingKind::OutOfBounds, evidence,
                        "cp.async of {} bytes to shared address {}; the block has {} to {}", size,
                        destination, block.firstShared(), block.shared.size());
    uint8_t *host = nullptr;
    if (wanted) {
      if (source % size)
        return warp.fault(op, FindingKind::Misaligned, {0, "global", source},
                          "cp.async of {} bytes from global address 0x{:x}", size, source);
      const uint32_t step = wanted == size ? size : 1;
      for (uint32_t at = 0; at < wanted; at += step) {
        uint8_t *bytes =
            block.machine.memory.access(warp, op, source + at, step, Access::Read, true);
        if (!bytes)
          return Flow::Fault;
        host = at ? host : bytes;
      }
    }
    if (!block.shadow.asyncWrite(warp, op, destination, size, warp.asyncCopies.open))
      return Flow::Fault;
    std::memset(&block.shared[destination], poison, size);
    transfer.pieces.push_back({host, destination, wanted, size - wanted});
    block.sharedWritten(destination, size);
  }
  warp.asyncCopies.openLanes |= mask;
  block.transfers.push_back(std::move(transfer));
  return Flow::Next;
}

Flow emulator::executeAsyncCommit(Warp &warp, const Op &, uint32_t mask) {
  commit(warp.asyncCopies, mask);
  return Flow::Next;
}

// immediate: groups that may stay pending, -1 for wait_all, which commits first.
Flow emulator::executeAsyncWait(Warp &warp, const Op &op, uint32_t mask) {
  if (op.immediate < 0)
    commit(warp.asyncCopies, mask);
  const uint32_t pending = op.immediate < 0 ? 0 : static_cast<uint32_t>(op.immediate);
  const uint32_t group = coveredGroup(warp.asyncCopies, mask, pending);
  if (!group)
    return Flow::Next;
  if (!warp.block->finishTransfers(Transfer::Kind::AsyncCopy, warp.id, group, mask, false))
    return Flow::Fault;
  // Unlike a bulk copy, a finished cp.async is an ordinary write: the proxy clock learns nothing.
  Clock &plain = warp.clocks.plain;
  const Component component = asyncCopyComponent(warp.id);
  plain[component] = std::max(plain[component], group);
  return Flow::Next;
}

bool Block::advanceTransfer(size_t index) {
  Transfer &transfer = transfers[index];
  Warp &warp = *warps[transfer.warp];
  if (transfer.kind == Transfer::Kind::BulkStore && !transfer.read) {
    for (const Piece &piece : transfer.pieces)
      transfer.data.insert(transfer.data.end(), &shared[piece.shared],
                           &shared[piece.shared] + piece.bytes);
    transfer.read = true;
    return true;
  }
  const Transfer done = std::move(transfer);
  transfers.erase(transfers.begin() + static_cast<std::ptrdiff_t>(index));
  if (done.kind == Transfer::Kind::BulkStore) {
    const uint8_t *data = done.data.data();
    for (const Piece &piece : done.pieces) {
      if (!piece.global)
        continue;
      machine.memory.markWritten(piece.global, piece.bytes);
      for (uint32_t at = 0; done.add && at < piece.bytes; at += 4) {
        float sum, value;
        std::memcpy(&sum, piece.global + at, 4);
        std::memcpy(&value, data + at, 4);
        sum += value;
        std::memcpy(piece.global + at, &sum, 4);
      }
      if (!done.add)
        std::memcpy(piece.global, data, piece.bytes);
      data += piece.bytes;
    }
    return true;
  }
  for (const Piece &piece : done.pieces) {
    if (piece.bytes)
      std::memcpy(&shared[piece.shared], piece.global, piece.bytes);
    std::memset(&shared[piece.shared + piece.bytes], 0, piece.zeroBytes);
    sharedWritten(piece.shared, piece.bytes + piece.zeroBytes);
  }
  if (done.kind == Transfer::Kind::AsyncCopy)
    return true;
  Mbarrier &barrier = mbarriers[done.mbarrier];
  --barrier.copiesInFlight;
  barrier.transactions -= done.bytes;
  return completePhase(barrier, warp, *done.op);
}

bool Block::finishTransfers(Transfer::Kind kind, uint32_t warp, uint32_t upToGroup, uint32_t lanes,
                            bool readsOnly) {
  for (size_t i = 0; i < transfers.size();) {
    const Transfer &transfer = transfers[i];
    const bool covered = transfer.kind == kind && transfer.warp == warp &&
                         transfer.group <= upToGroup && (transfer.lanes & ~lanes) == 0;
    if (!covered || (readsOnly && transfer.read)) {
      ++i;
      continue;
    }
    if (!advanceTransfer(i))
      return false;
  }
  return true;
}
