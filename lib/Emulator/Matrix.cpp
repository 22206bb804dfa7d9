//===- Matrix.cpp - wgmma and mma.sync ------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each warp's 16 rows are an operation of their own: it is issued when the warp
// issues, checked then, executed when the scheduler says so, and complete when
// the warp waits. The four warps of a warpgroup must issue the same sequence.
//
//===----------------------------------------------------------------------===//

#include "lib/Emulator/Executors.h"
#include "lib/Emulator/Fragments.h"
#include "lib/Emulator/Machine.h"
#include "lib/Emulator/MatrixProduct.h"
#include "lib/Emulator/Numbers.h"

#include <algorithm>
#include <array>
#include <cstring>

using namespace tilewright;
using namespace tilewright::emulator;

namespace {

constexpr uint32_t rowsOfWarp = 16, stepBytes = 32;

uint32_t aType(const Op &op) {
  return op.variant & 3;
}
uint32_t bType(const Op &op) {
  return op.variant >> 2 & 3;
}
uint32_t columnsOf(const Op &op) {
  return static_cast<uint32_t>(op.immediate);
}
bool isHalf(uint32_t type) {
  return type == MatrixBF16 || type == MatrixF16;
}
uint32_t depthOf(uint32_t type) {
  return isHalf(type) ? 16 : 32;
}

const std::array<float, 256> &table8(uint32_t type) {
  static const auto tables = [] {
    std::array<std::array<float, 256>, 2> result;
    for (uint32_t bits = 0; bits < 256; ++bits) {
      result[0][bits] = fromE4M3(bits);
      result[1][bits] = fromE5M2(bits);
    }
    return result;
  }();
  return tables[type == MatrixE5M2];
}

/// Converts `count` elements of a type.
void toFloats(const uint8_t *source, uint32_t type, uint32_t count, float *result) {
  uint16_t halves[stepBytes / 2];
  if (isHalf(type))
    std::memcpy(halves, source, 2 * count);
  for (uint32_t i = 0; i < count; ++i)
    result[i] = type == MatrixBF16  ? fromBF16(halves[i])
                : type == MatrixF16 ? fromF16(halves[i])
                                    : table8(type)[source[i]];
}

bool checkDescriptor(Warp &warp, const Op &op, const MatrixDescriptor &descriptor, uint64_t bits) {
  if (descriptor.reservedBits)
    return warp.reject(op, FindingKind::Descriptor, {},
                       "reserved bits are set in the matrix descriptor 0x{:016x}", bits);
  if (descriptor.baseOffset)
    return warp.reject(op, FindingKind::Unsupported, {},
                       "the matrix descriptor 0x{:016x} has a base offset", bits);
  if (!descriptor.startsOnRowZero() && !warp.block->machine.options.allowUnalignedDescriptors)
    return warp.reject(op, FindingKind::Descriptor, {0, "shared", descriptor.start},
                       "start address {} is not on row 0 of its swizzle pattern of {}-byte rows "
                       "and the base offset is 0",
                       descriptor.start, descriptor.rowBytes);
  return true;
}

bool checkBounds(Warp &warp, const Op &op, std::span<const uint32_t> addresses,
                 const char *operand) {
  const uint64_t first = warp.block->firstShared();
  const uint64_t last = warp.block->shared.size() - Shadow::granuleBytes;
  for (uint32_t address : addresses)
    if (address < first || address > last)
      return warp.reject(op, FindingKind::OutOfBounds, {0, "shared", address},
                         "wgmma reads {} at shared address {}", operand, address);
  return true;
}

uint32_t tileKey(const Op &op) {
  return columnsOf(op) << 8 | bType(op) << 1 | ((op.variant & WgmmaTransposeB) != 0);
}

/// The cached tile of B; its addresses are filled in when it is new.
MatrixTile &findTile(Block &block, const Op &op, uint64_t bits) {
  const size_t hash = ((bits ^ bits >> 7) * 0x9E3779B1u >> 8) % block.tiles.size();
  MatrixTile &tile = block.tiles[hash];
  if (tile.descriptor == bits && tile.key == tileKey(op))
    return tile;
  tile = MatrixTile();
  tile.descriptor = bits;
  tile.key = tileKey(op);
  const MatrixDescriptor descriptor(bits);
  const uint32_t columns = columnsOf(op);
  if (op.variant & WgmmaTransposeB)
    for (uint32_t k = 0; k < depthOf(bType(op)); ++k)
      for (uint32_t n = 0; n < columns; n += 8)
        tile.addresses.push_back(descriptor.mnMajor(n, k));
  else
    for (uint32_t n = 0; n < columns; ++n)
      for (uint32_t byte = 0; byte < stepBytes; byte += 16)
        tile.addresses.push_back(descriptor.kMajor(n, byte));
  const auto [first, last] = std::minmax_element(tile.addresses.begin(), tile.addresses.end());
  tile.firstPage = *first >> 10;
  tile.lastPage = *last >> 10;
  return tile;
}

/// The granules of a warp's rows of A: [row][half], or [k][row half] when transposed.
std::array<uint32_t, 32> aAddresses(const Warp &warp, const Op &op, uint64_t bits) {
  const MatrixDescriptor descriptor(bits);
  const uint32_t firstRow = warp.id % 4 * rowsOfWarp;
  std::array<uint32_t, 32> result;
  for (uint32_t i = 0; i < 32; ++i)
    result[i] = op.variant & WgmmaTransposeA ? descriptor.mnMajor(firstRow + 8 * (i & 1), i / 2)
                                             : descriptor.kMajor(firstRow + i / 2, 16 * (i & 1));
  return result;
}

void convertTile(const Block &block, const Op &op, MatrixTile &tile) {
  const uint32_t columns = columnsOf(op), type = bType(op), depth = depthOf(type);
  tile.values.resize(static_cast<size_t>(columns) * depth);
  const uint32_t *address = tile.addresses.data();
  float converted[16];
  if (op.variant & WgmmaTransposeB) {
    for (uint32_t k = 0; k < depth; ++k)
      for (uint32_t n = 0; n < columns; n += 8) {
        toFloats(&block.shared[*address++], type, 8, converted);
        for (uint32_t i = 0; i < 8; ++i)
          tile.values[tileIndex(n + i, k, depth)] = converted[i];
      }
    return;
  }
  for (uint32_t n = 0; n < columns; ++n)
    for (uint32_t half = 0; half < 2; ++half) {
      toFloats(&block.shared[*address++], type, depth / 2, converted);
      for (uint32_t i = 0; i < depth / 2; ++i)
        tile.values[tileIndex(n, half * depth / 2 + i, depth)] = converted[i];
    }
}

/// Gathers a warp's 16 rows of A as bytes, k-major, from registers or shared memory.
void gatherRows(Warp &warp, const Op &op, uint64_t descriptor,
                uint8_t (&rows)[rowsOfWarp][stepBytes]) {
  if (op.aRegisters.count) {
    const uint32_t *slots = warp.list(op.aRegisters);
    for (uint32_t index = 0; index < 4; ++index)
      for (uint32_t lane = 0; lane < warpSize; ++lane) {
        const MatrixElement place = aRegisterBytes(lane, index);
        std::memcpy(&rows[place.row][place.column], &warp.lanes<uint32_t>(slots[index])[lane], 4);
      }
    return;
  }
  const Block &block = *warp.block;
  const std::array<uint32_t, 32> addresses = aAddresses(warp, op, descriptor);
  for (uint32_t i = 0; i < 32; ++i) {
    const uint8_t *source = &block.shared[addresses[i]];
    if (op.variant & WgmmaTransposeA)
      for (uint32_t element = 0; element < 8; ++element)
        std::memcpy(&rows[8 * (i & 1) + element][2 * (i / 2)], source + 2 * element, 2);
    else
      std::memcpy(&rows[i / 2][16 * (i & 1)], source, 16);
  }
}

/// All four warps of the warpgroup run the same sequence of wgmmas.
bool checkSequence(Warp &warp, const Op &op, const MatrixIssue &issue) {
  std::vector<MatrixIssue> &log = warp.block->matrixLog[warp.id / 4];
  const uint32_t place = warp.matrixIssued++;
  if (place == log.size()) {
    log.push_back(issue);
    return true;
  }
  const MatrixIssue &other = log[place];
  if (other.op == &op && other.a == issue.a && other.b == issue.b &&
      other.accumulate == issue.accumulate && other.group == issue.group)
    return true;
  return warp.reject(op, FindingKind::NonUniform, {other.op->line},
                     "warp {} ran another wgmma at this place of the warpgroup's sequence",
                     other.warp);
}

/// Registers that enter a wgmma: none is in flight in another role, none was touched since the
/// last wgmma.fence.
bool enterRegisters(Warp &warp, const Op &op) {
  const Module &module = warp.block->machine.module;
  for (const bool accumulator : {true, false}) {
    const Range range = accumulator ? op.operands : op.aRegisters;
    const uint32_t *slots = warp.list(range);
    for (uint32_t i = 0; i < range.count; ++i) {
      Warp::TrackedRegister &reg = warp.tracked[module.trackedIndex[slots[i]] - 1];
      const uint32_t role = accumulator ? columnsOf(op) * 256 + i + 1 : 0;
      const bool inFlight = reg.group > warp.matrixDone;
      if (inFlight && accumulator && reg.role != role)
        return warp.reject(op, FindingKind::InFlightRegister, {},
                           "accumulator {} is in flight in a wgmma of another shape or as an A "
                           "register",
                           i);
      if (inFlight && !accumulator && reg.role)
        return warp.reject(op, FindingKind::InFlightRegister, {},
                           "A register {} is the accumulator of a wgmma in flight", i);
      if (reg.lastAccess == warp.matrixFence)
        return warp.reject(op, FindingKind::MissingWgmmaFence, {},
                           "{} register {} was accessed after the last wgmma.fence",
                           accumulator ? "accumulator" : "A", i);
      reg.group = warp.matrixGroup;
      reg.role = role;
    }
  }
  return true;
}

} // namespace

// slots: 0 descriptor of A (unless in registers), 1 descriptor of B, 2 scale-d; immediate: N.
Flow emulator::executeWgmma(Warp &warp, const Op &op, uint32_t) {
  Block &block = *warp.block;
  const uint64_t *a = op.aRegisters.count ? nullptr : warp.lanes<uint64_t>(op.slots[0]);
  const uint64_t *b = warp.lanes<uint64_t>(op.slots[1]);
  const uint32_t scale = warp.predicates[op.slots[2]];
  for (uint32_t lane = 1; lane < warpSize; ++lane)
    if (b[lane] != b[0] || (a && a[lane] != a[0]))
      return warp.fault(op, FindingKind::NonUniform, {},
                        "matrix descriptors differ between lanes 0 and {}", lane);
  if (scale != 0 && scale != fullMask)
    return warp.fault(op, FindingKind::NonUniform, {}, "scale-d differs between lanes");
  if (warp.id / 4 * 4 + 4 > block.warps.size())
    return warp.fault(op, FindingKind::NonUniform, {},
                      "the warpgroup of warp {} has fewer than four warps", warp.id);
  PendingMatrix pending = {&op, a ? a[0] : 0, b[0], scale != 0, warp.matrixGroup};
  if (!checkSequence(warp, op,
                     {&op, pending.a, pending.b, pending.accumulate, warp.id, pending.group}) ||
      !enterRegisters(warp, op) ||
      !checkDescriptor(warp, op, MatrixDescriptor(pending.b), pending.b))
    return Flow::Fault;
  const MatrixTile &tile = findTile(block, op, pending.b);
  if (!checkBounds(warp, op, tile.addresses, "B") ||
      !block.shadow.matrixRead(warp, op, tile.addresses, "B", warp.matrixGroup))
    return Flow::Fault;
  if (a) {
    if (!checkDescriptor(warp, op, MatrixDescriptor(pending.a), pending.a))
      return Flow::Fault;
    const std::array<uint32_t, 32> addresses = aAddresses(warp, op, pending.a);
    if (!checkBounds(warp, op, addresses, "A") ||
        !block.shadow.matrixRead(warp, op, addresses, "A", warp.matrixGroup))
      return Flow::Fault;
  }
  warp.matrixQueue.push_back(pending);
  warp.lastMatrixGroup = warp.matrixGroup;
  ++block.statistics.matrixInstructions;
  return Flow::Next;
}

void Block::executeMatrix(Warp &warp) {
  const PendingMatrix pending = warp.matrixQueue.front();
  warp.matrixQueue.pop_front();
  const Op &op = *pending.op;
  MatrixTile &tile = findTile(*this, op, pending.b);
  const uint64_t version = versionOf(tile.firstPage, tile.lastPage) + 1;
  if (tile.version != version) {
    tile.version = version;
    convertTile(*this, op, tile);
  }
  const uint32_t depth = depthOf(aType(op));
  uint8_t rows[rowsOfWarp][stepBytes];
  gatherRows(warp, op, pending.a, rows);
  const bool negate = ((op.variant & WgmmaNegateA) != 0) != ((op.variant & WgmmaNegateB) != 0);
  MatrixRows spread;
  for (uint32_t row = 0; row < rowsOfWarp; ++row) {
    float values[maxMatrixDepth];
    toFloats(rows[row], aType(op), depth, values);
    for (uint32_t k = 0; k < depth; ++k) {
      const float value = negate ? -values[k] : values[k];
      for (uint32_t t = 0; t < 4; ++t)
        spread.values[row / 8][k][4 * (row % 8) + t] = value;
    }
  }
  multiplyTile(spread, tile.values.data(), depth, columnsOf(op), pending.accumulate, warp.registers,
               warp.list(op.operands));
}

Flow emulator::executeWgmmaFence(Warp &warp, const Op &, uint32_t) {
  ++warp.matrixFence;
  return Flow::Next;
}

Flow emulator::executeWgmmaCommit(Warp &warp, const Op &, uint32_t) {
  ++warp.matrixGroup;
  return Flow::Next;
}

// immediate: groups that may stay pending.
Flow emulator::executeWgmmaWait(Warp &warp, const Op &op, uint32_t) {
  const uint32_t committed = warp.matrixGroup - 1, pending = static_cast<uint32_t>(op.immediate);
  const uint32_t done = committed > pending ? committed - pending : 0;
  while (!warp.matrixQueue.empty() && warp.matrixQueue.front().group <= done)
    warp.block->executeMatrix(warp);
  if (done > warp.matrixDone) {
    warp.matrixDone = done;
    warp.clocks.learn(matrixComponent(warp.id), done);
  }
  return Flow::Next;
}

// operands: 4 of D, 4 of A, 2 of B, 4 of C; variant: MatrixType.
Flow emulator::executeMmaSync(Warp &warp, const Op &op, uint32_t) {
  constexpr uint32_t depth = 16, columns = 8;
  const uint32_t *slots = warp.list(op.operands);
  float a[rowsOfWarp][depth], b[depth][columns], result[4][warpSize];
  for (uint32_t lane = 0; lane < warpSize; ++lane) {
    float pair[2];
    auto convert = [&](uint32_t slot) {
      uint8_t bytes[4];
      std::memcpy(bytes, &warp.lanes<uint32_t>(slot)[lane], 4);
      toFloats(bytes, op.variant, 2, pair);
    };
    for (uint32_t index = 0; index < 4; ++index) {
      convert(slots[4 + index]);
      const MatrixElement place = aRegisterBytes(lane, index);
      a[place.row][place.column / 2] = pair[0];
      a[place.row][place.column / 2 + 1] = pair[1];
    }
    for (uint32_t index = 0; index < 2; ++index) {
      convert(slots[8 + index]);
      const MatrixElement place = bRegisterElement(lane, index);
      b[place.row][place.column] = pair[0];
      b[place.row + 1][place.column] = pair[1];
    }
  }
  for (uint32_t lane = 0; lane < warpSize; ++lane)
    for (uint32_t index = 0; index < 4; ++index) {
      const MatrixElement place = accumulatorElement(lane, index);
      float sum = warp.lanes<float>(slots[10 + index])[lane];
      for (uint32_t k = 0; k < depth; ++k)
        sum += a[place.row][k] * b[k][place.column];
      result[index][lane] = sum;
    }
  for (uint32_t index = 0; index < 4; ++index)
    std::memcpy(warp.lanes<float>(slots[index]), result[index], sizeof result[index]);
  return Flow::Next;
}
