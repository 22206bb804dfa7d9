//===- AmxEmitter.h - The recurrence on AMX ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Accumulator, reference and sum of a loop have the homes that they have without AMX, so that what
// comes before and after the loop does not change. Within it:
//
// - The reference follows the maximum only when that has grown by more than 8, so that the
//   accumulator is seldom rescaled. Weights are then up to e^8, which costs no accuracy.
// - Products get the weights rounded to bf16. Rows are divided by the sum of the rounded ones,
//   without which their errors would not cancel where few keys have all the weight; LSE has the
//   exact sum. Only one sum leaves the loop, the exact one: the accumulator is multiplied by the
//   ratio of the two at the end.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_CONVERSION_TILETOVECTOR_AMXEMITTER_H
#define TILEWRIGHT_COMPILER_CONVERSION_TILETOVECTOR_AMXEMITTER_H

#include "compiler/Conversion/TileToVector/AmxTiles.h"

namespace tilewright {

class AmxEmitter {
public:
  /// `scalars` maps the program's scalars, arguments and packed tensors.
  AmxEmitter(VectorBuilder &builder, Homes &homes, mlir::IRMapping &scalars,
             const AmxProgram &program)
      : b(builder), homes(homes), scalars(scalars), program(program) {}

  /// Packs the queries if a loop multiplies with them; they have a home already.
  void packQueries(tile::LoadOp load);

  // The loop itself is the caller's.
  void beginLoop(AmxLoop loop);
  /// One block of keys.
  void emitBlock(AmxLoop loop);
  void endLoop(AmxLoop loop);

private:
  VectorBuilder &b;
  Homes &homes;
  mlir::IRMapping &scalars;
  const AmxProgram &program;
  llvm::DenseMap<mlir::Value, mlir::Value> packedQueries;
  /// Sums of rounded weights.
  mlir::Value roundedSum;

  llvm::SmallVector<mlir::Value> positionOf(tile::LoadOp load);
  mlir::Value keysOf(AmxLoop loop);
  void emitSoftmax(AmxLoop loop, mlir::Value scores, mlir::Value weights, mlir::Value lane,
                   int64_t vectors);
  void emitWeights(mlir::Value scores, mlir::Value weights, llvm::ArrayRef<mlir::Value> lanes,
                   llvm::ArrayRef<mlir::Value> shifts, mlir::Value sum);
  void scale(mlir::Value buffer, llvm::ArrayRef<mlir::Value> lanes,
             llvm::ArrayRef<mlir::Value> factors);
};

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_CONVERSION_TILETOVECTOR_AMXEMITTER_H
