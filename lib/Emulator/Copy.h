//===- Copy.h - Asynchronous copies in flight -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_LIB_EMULATOR_COPY_H
#define TILEWRIGHT_LIB_EMULATOR_COPY_H

#include "lib/Emulator/Launch.h"
#include "lib/Emulator/Module.h"

#include <array>
#include <cstdint>
#include <vector>

namespace tilewright::emulator {

struct Block;

/// The first bytes of a kernel parameter that stands for a tensor map; its index follows.
constexpr uint64_t mapTag = 0x70616d726f736e74;

/// A contiguous piece of a copy: `bytes` between global and shared memory.
struct Piece {
  uint8_t *global = nullptr; ///< Null: outside of the tensor; reads zeros, is not written.
  uint32_t shared = 0;
  uint32_t bytes = 0;
  uint32_t zeroBytes = 0; ///< Zeros behind them.
};

/// A copy that was issued and is not complete. The scheduler may advance it at any time that the
/// kernel's own waits allow.
struct Transfer {
  enum class Kind : uint8_t {
    BulkLoad,  ///< Completes on an mbarrier.
    AsyncCopy, ///< cp.async: completes with its warp's group.
    BulkStore, ///< Reads shared memory, later writes global memory; a group of its warp's.
  };
  Kind kind = Kind::BulkLoad;
  const Op *op = nullptr;
  std::vector<Piece> pieces;
  uint32_t bytes = 0;    ///< What it takes off the mbarrier's transaction count.
  uint32_t mbarrier = 0; ///< Of a load: index in the block.
  uint32_t warp = 0, group = 0, lanes = 0;
  bool add = false;          ///< A reduction: f32 addition to global memory.
  bool read = false;         ///< Of a store: shared memory was read into `data`.
  std::vector<uint8_t> data; ///< Of a store.
};

/// The shape of a bulk tensor copy, as the hardware checks it when the instruction is executed.
struct Box {
  std::array<int64_t, 5> start{};
  uint32_t shared = 0;
};

/// Bytes of the whole box, parts outside of the tensor included.
uint64_t boxBytes(const TensorMap &map);

/// Bytes of shared memory that a box spans: where the inner box is narrower than
/// the span of its swizzle, rows still lie a span apart.
uint64_t boxFootprint(const TensorMap &map);

/// The pieces of a box whose first element goes to shared address `box.shared`. `base` is the
/// host address of the tensor's first element.
std::vector<Piece> piecesOf(const TensorMap &map, uint8_t *base, const Box &box);

} // namespace tilewright::emulator

#endif // TILEWRIGHT_LIB_EMULATOR_COPY_H
