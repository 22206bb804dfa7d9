//===- SharedTiles.h - Tiles in shared memory and their products -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one place that knows how a tile lies in shared memory and how a wgmma
// descriptor says so. A tile of R rows of 2-byte elements is ceil(columns / 64)
// chunks of R rows of 128 bytes; within 1024 bytes, 8 rows, the copy engine and
// the tensor cores exclusive-or the 16-byte units with the row (the "128-byte
// swizzle"), so tiles begin at multiples of 1024.
//
// A descriptor is 64 bits: 0-13 the start / 16, 16-29 the leading and 32-45 the
// stride byte offset / 16, 62-63 = 1 the 128-byte swizzle (PTX ISA 8.7, "Matrix
// Descriptor Format" of wgmma). With rows by depth ("K-major": queries, and keys)
// the stride is from 8 rows to the next 8, the leading offset is not used, and a
// step of 16 in depth is 32 bytes within a chunk. With depth by columns
// ("MN-major": values) the leading offset is from a chunk to the next, the stride
// from 8 rows of depth to the next 8, and a step of 16 in depth is 16 rows.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_CONVERSION_SMTONVVM_SHAREDTILES_H
#define TILEWRIGHT_COMPILER_CONVERSION_SMTONVVM_SHAREDTILES_H

#include "compiler/Conversion/SMToNVVM/Instructions.h"
#include "dialect/SM/SM.h"

namespace tilewright::sm90 {

inline constexpr int64_t chunkColumns = 64; // of 2 bytes
inline constexpr int64_t patternRows = 8;   // after which the swizzle repeats

/// Starts the copies that fill a tile, and tells the barrier how many bytes will come.
/// `coordinates`: the first row and then the outer indices, innermost first, i32.
void fillTile(LocBuilder &b, sm::SharedType tile, Value address, Value tensorMap, Value barrier,
              ValueRange coordinates);

/// Where the `chunk`-th 64 columns (i32) of a tile begin.
Value chunkOf(LocBuilder &b, sm::SharedType tile, Value address, Value chunk);

/// Where a chunk keeps the columns `pair` and `pair` + 1 of a row: `pair` is an even i32 below 64,
/// the row is `first` (i32, a multiple of 8) + `next` (0 to 7).
Value elementPair(LocBuilder &b, Value chunkAddress, Value first, int64_t next, Value pair);

/// A left operand: rows of a tile in shared memory, or registers.
struct LeftOperand {
  sm::SharedType tile; // null for registers
  Value address;       // of the tile
  Value row;           // i32, first row of the tile that takes part
  llvm::SmallVector<Value> registers;
  int64_t depth;
};

/// Issues the wgmmas of a product; returns its registers, in flight.
llvm::SmallVector<Value> issueProduct(LocBuilder &b, const LeftOperand &lhs, sm::SharedType rhs,
                                      Value rhsAddress, bool rhsIsColumnsByDepth,
                                      ValueRange accumulator);

} // namespace tilewright::sm90

#endif // TILEWRIGHT_COMPILER_CONVERSION_SMTONVVM_SHAREDTILES_H
