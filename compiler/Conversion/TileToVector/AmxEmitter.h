//===- AmxEmitter.h - The recurrence on AMX ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Accumulator, reference and sum of a loop have the homes that they have without AMX, so that what
// comes before and after the loop does not change. Within it:
//
// - The reference follows the maximum only when that is more than 8 above it, so that the
//   accumulator is seldom rescaled. Weights are then up to e^8, which costs no accuracy.
// - Products get the weights rounded to bf16, towards 0. Rows are divided by the sum of the rounded
//   ones, without which their errors would not cancel where few keys have all the weight; LSE has
//   the exact sum. Only one sum leaves the loop, the exact one: the accumulator is multiplied by
//   the ratio of the two at the end.
//
// A block is emitted in one of two ways. *Serial*: its scores, their maximum, its weights, its part
// of the output, one after another. *Woven*: weights of this block, while the unit for tiles
// multiplies the values of the block before and the first keys of what comes next. That does not
// wait for the block's maximum: weights refer to the reference from before, at first to the maximum
// of the first keys. Where their sum shows that this was too low, or where there is no reference
// yet, scores and weights of the block are computed again, serially.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_CONVERSION_TILETOVECTOR_AMXEMITTER_H
#define TILEWRIGHT_COMPILER_CONVERSION_TILETOVECTOR_AMXEMITTER_H

#include "compiler/Conversion/TileToVector/AmxStream.h"

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
  /// Weights are rounded towards 0, which loses 0.72 of half a unit in their last place on average,
  /// and the division by the sum of what is left makes good for that. A weight of 1 would lose
  /// nothing, and be worth too much beside others. So a reference is not the maximum itself: the
  /// weight there is 1.390625 and a half unit, which loses the average.
  static constexpr double logOfLargestWeight = 0.33255834;

  VectorBuilder &b;
  Homes &homes;
  mlir::IRMapping &scalars;
  const AmxProgram &program;
  llvm::DenseMap<mlir::Value, mlir::Value> packedQueries;
  /// Sums of rounded weights.
  mlir::Value roundedSum;

  /// A block of keys, by its number, for some of the queries.
  struct Unit {
    mlir::Value block, lane;
    int64_t queries;
  };

  int64_t queries(AmxLoop loop) const;
  mlir::Value packedAt(mlir::Value packed, tile::LoadOp load, mlir::Value block);
  mlir::Value queriesOf(AmxLoop loop, Unit unit);
  void emitScores(AmxLoop loop, Unit unit, mlir::Value scores);
  void emitOutput(AmxLoop loop, Unit unit, mlir::Value weights);
  void emitScoresAndWeights(AmxLoop loop, Unit unit, mlir::Value weights);
  void emitSoftmax(AmxLoop loop, Unit unit, mlir::Value scores, mlir::Value weights,
                   mlir::Value lane, int64_t vectors);
  void emitWeights(mlir::Value scores, mlir::Value weights, llvm::ArrayRef<mlir::Value> columnLanes,
                   llvm::ArrayRef<mlir::Value> lanes, llvm::ArrayRef<mlir::Value> shifts,
                   mlir::Value sum);
  /// A pair of keys' weights for one vector of queries, to a row of a paired tile; adds to the sum
  /// of the exact ones and to that of the rounded ones.
  void emitPair(llvm::ArrayRef<mlir::Value> weights, mlir::Value buffer, mlir::Value row,
                mlir::Value &exact, mlir::Value &rounded);
  void scale(mlir::Value buffer, llvm::ArrayRef<mlir::Value> lanes,
             llvm::ArrayRef<mlir::Value> factors);

  // AmxWeave.cpp. Each ring has two halves, which successive groups or units use in turns.

  /// Scores of two groups of keys, and weights of two units.
  mlir::Value scoreRing, weightRing;

  llvm::StringRef whyNotWoven(AmxLoop loop) const;
  bool isWoven(AmxLoop loop) const { return whyNotWoven(loop).empty(); }
  int64_t unitQueries(AmxLoop loop) const;
  int64_t groups() const;
  Unit unitAt(AmxLoop loop, mlir::Value number);
  std::pair<mlir::Value, mlir::Value> unitBounds(AmxLoop loop);
  mlir::Value halfOf(mlir::Value &ring, mlir::MemRefType half, mlir::Value number);
  mlir::Value weightsOf(AmxLoop loop, mlir::Value unit);
  mlir::Value scoresOf(AmxLoop loop, mlir::Value group);
  void beginWovenLoop(AmxLoop loop);
  void emitWovenBlock(AmxLoop loop);
  void emitWovenUnit(AmxLoop loop, mlir::Value number);
  void endWovenLoop(AmxLoop loop);
  mlir::Value isReady(AmxLoop loop, Unit unit);
  void emitFirstReference(AmxLoop loop, Unit unit, mlir::Value scores);
  mlir::Value emitWovenWeights(AmxLoop loop, mlir::Value number, Unit unit, Unit previous,
                               Unit next);
  void appendScores(AmxStream &stream, AmxLoop loop, Unit unit, mlir::Value first,
                    mlir::Value scores);
};

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_CONVERSION_TILETOVECTOR_AMXEMITTER_H
