//===- AmxStream.h - Tile instructions to be spread out ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The unit for tiles and the vector units run side by side only where their instructions alternate:
// a scheduler that is full of waiting products sees no exponential behind them. A stream is the
// unrolled instructions of some products, which its user emits a few at a time between others.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_CONVERSION_TILETOVECTOR_AMXSTREAM_H
#define TILEWRIGHT_COMPILER_CONVERSION_TILETOVECTOR_AMXSTREAM_H

#include "compiler/Conversion/TileToVector/AmxTiles.h"

#include <functional>

namespace tilewright {

class AmxStream {
public:
  explicit AmxStream(VectorBuilder &builder) : b(builder) {}

  /// The row and the column of the A tile that has row tile `i` and depth tile `k`.
  using Position = llvm::function_ref<std::pair<mlir::Value, mlir::Value>(int64_t i, int64_t k)>;
  void append(const TileProduct &product, Position position);

  /// Emits the next instructions, up to `numerator / denominator` of all.
  void advance(int64_t numerator, int64_t denominator);

private:
  using Instruction = std::function<void()>;

  VectorBuilder &b;
  llvm::SmallVector<Instruction> instructions, stores;
  size_t emitted = 0;

  void flushStores();
};

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_CONVERSION_TILETOVECTOR_AMXSTREAM_H
