//===- Decode.h - Few queries against many keys -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where there are fewer queries than a tile has rows, the rows are filled with
// the queries of all heads that share their keys, and the keys are split into
// runs that are independent items of work ("Flash-Decoding", Dao, Haziza, Massa
// and Sizov, 2023, https://pytorch.org/blog/flash-decoding). What the runs of a
// row leave, accumulator, reference and sum, is combined afterwards; it rests in
// temporary tensors meanwhile. How the keys are split depends on their number
// alone, so that results do not depend on the number of threads.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_CONVERSION_ATTNTOTILE_DECODE_H
#define TILEWRIGHT_COMPILER_CONVERSION_ATTNTOTILE_DECODE_H

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tilewright {

/// How few queries are cut.
struct DecodeBlocks {
  int64_t rows;      ///< of a tile; 0 for no programs of their own
  int64_t below;     ///< so many queries, which are not few
  int64_t keys;      ///< of a block
  int64_t keyBlocks; ///< of an item
};

/// `rows` of a tile, for fewer than `below` queries, about `run` keys an item. Keys and values of a
/// block, of so many bits a row, fit half of a small L1 cache, since the next ones are fetched
/// meanwhile; a block has `mostKeys` at most.
DecodeBlocks decodeBlocks(int64_t rows, int64_t below, int64_t run, int64_t rowBits,
                          int64_t mostKeys);

/// The loop-carried tiles: the accumulator of the output and the state of the softmax.
struct State {
  mlir::Value accumulator, reference, sum;
  llvm::SmallVector<mlir::Value> values() const { return {accumulator, reference, sum}; }
  static State from(mlir::ValueRange values) { return {values[0], values[1], values[2]}; }
};

/// Makes of a tensor [b, h, t, ..] its view [b, hkv, t, group, ..], whose rows run over t and
/// group.
struct FoldedHeads {
  mlir::ImplicitLocOpBuilder &builder;
  mlir::Value keyHeads, group;

  mlir::Value operator()(mlir::Value tensor) const;
};

/// Temporary tensors for the states of rows: extents [b, hkv, split, row].
struct Partials {
  mlir::Value accumulator, reference, sum;

  static Partials allocate(mlir::ImplicitLocOpBuilder &builder, mlir::ValueRange extents,
                           int64_t valueDim, mlir::Type real);
  void store(mlir::ImplicitLocOpBuilder &builder, const State &state,
             mlir::ValueRange indices) const;
  State load(mlir::ImplicitLocOpBuilder &builder, int64_t rows, mlir::ValueRange indices) const;
};

/// The state of rows after the keys of both.
State combine(mlir::ImplicitLocOpBuilder &builder, const State &a, const State &b);

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_CONVERSION_ATTNTOTILE_DECODE_H
