//===- AmxEmitter.cpp - The recurrence on AMX -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/TileToVector/AmxEmitter.h"
#include "compiler/Conversion/TileToVector/Avx512Math.h"

#include <limits>

using namespace mlir;
using namespace tilewright;

/// How far the maximum may rise above the reference, which is then e^8 times.
static constexpr double slack = 8;

void AmxEmitter::packQueries(tile::LoadOp load) {
  const auto usesIt = [&](const auto &entry) { return entry.second.query == load; };
  if (llvm::none_of(program.loops, usesIt))
    return;
  Value home = homes.bufferOf(load.getResult());
  const int64_t queries = cast<MemRefType>(home.getType()).getDimSize(1);
  Value paired = homes.acquire(pairedType(b, program.headDim, queries));
  emitPairedTiles(b, home, program.headDim, paired);
  packedQueries[load.getResult()] = paired;
}

void AmxEmitter::beginLoop(AmxLoop loop) {
  Value sum = homes.bufferOf(loop.step.getSum());
  if (!roundedSum)
    roundedSum = homes.acquire(cast<MemRefType>(sum.getType()));
  b.loop(b.index(0), b.index(cast<MemRefType>(sum.getType()).getDimSize(1)), b.shape.lanes,
         [&](Value lane) { b.store(b.load(sum, b.index(0), lane), roundedSum, b.index(0), lane); });
}

SmallVector<Value> AmxEmitter::positionOf(tile::LoadOp load) {
  SmallVector<Value> position =
      llvm::map_to_vector(load.getIndices(), [&](Value index) { return scalars.lookup(index); });
  position.back() = arith::DivUIOp::create(b, position.back(), b.index(program.blockKV));
  return position;
}

/// The keys of a block as rows of whole tiles.
Value AmxEmitter::keysOf(AmxLoop loop) {
  if (program.packsKeys())
    return packedBlock(b, scalars.lookup(program.packedKey), positionOf(loop.key));
  const auto indices = llvm::map_to_vector(loop.key.getIndices(),
                                           [&](Value index) { return scalars.lookup(index); });
  View view = emitView(b, scalars.lookup(program.key), indices, loop.key.getResult().getType());
  // A block that reaches past the last key is read from a copy that ends in zeros.
  Value copy = homes.acquire(MemRefType::get({program.blockKV, program.headDim}, b.getBF16Type()));
  Value isWhole =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, view.count, b.index(program.blockKV));
  b.branch(isWhole, [] {}, [&] { emitPaddedCopy(b, view, copy); });
  Value rows = memref::CastOp::create(b, view.rows.getType(), copy);
  return arith::SelectOp::create(b, isWhole, view.rows, rows);
}

void AmxEmitter::emitBlock(AmxLoop loop) {
  for (Operation &op : loop.step->getBlock()->without_terminator())
    if (llvm::none_of(op.getResultTypes(), llvm::IsaPred<RankedTensorType>))
      b.clone(op, scalars);

  const auto scoresType = cast<RankedTensorType>(loop.scores.getResult().getType());
  const int64_t queries = b.shape.padded(scoresType.getDimSize(0));
  Value scores = homes.acquire(homes.bufferType(scoresType, b.getF32Type()));
  Value weights = homes.acquire(pairedType(b, program.blockKV, queries));
  const int64_t columns = queries / amxRows;

  Value keys = keysOf(loop);
  emitTileProduct(b,
                  {.a = keys,
                   .b = packedQueries.lookup(loop.query.getResult()),
                   .c = scores,
                   .rows = program.blockKV / amxRows,
                   .columns = columns,
                   .depth = program.depthTiles(),
                   .accumulates = false},
                  [&](Value i, int64_t k) {
                    Value row = arith::MulIOp::create(b, i, b.index(amxRows));
                    return std::pair(row, b.index(k * amxDepth));
                  });

  b.forEachGroup(queries, [&](QueryGroup group) {
    emitSoftmax(loop, scores, weights, group.lane, group.vectors);
  });

  Value values = packedBlock(b, scalars.lookup(program.packedValue), positionOf(loop.value));
  emitTileProduct(b,
                  {.a = values,
                   .b = weights,
                   .c = homes.bufferOf(loop.accumulator),
                   .rows = program.valueTiles(),
                   .columns = columns,
                   .depth = program.blockKV / amxDepth,
                   .accumulates = true},
                  [&](Value i, int64_t k) {
                    Value row = arith::MulIOp::create(b, i, b.index(amxRows));
                    row = b.offset(row, k * program.valueTiles() * amxRows);
                    return std::pair(row, b.index(0));
                  });
}

void AmxEmitter::emitSoftmax(AmxLoop loop, Value scores, Value weights, Value lane,
                             int64_t vectors) {
  tile::SoftmaxStepOp step = loop.step;
  const Type type = b.vectorOf(b.getF32Type());
  const Value first = b.index(0), none = b.real(type, -std::numeric_limits<double>::infinity());
  Value reference = homes.bufferOf(step.getReference()), sum = homes.bufferOf(step.getSum());
  SmallVector<LaneCode> columns;
  SmallVector<Value> lanes, old;
  for (int64_t j = 0; j < vectors; ++j) {
    lanes.push_back(b.offset(lane, j * b.shape.lanes));
    columns.emplace_back(b, homes, scalars, lanes[j]).hoist(step.getScores());
    old.push_back(b.load(reference, first, lanes[j]));
  }

  // Scores and their maximum.
  const bool isProduct = step.getScores() == loop.scores.getResult();
  const SmallVector<Value> maximum =
      b.loop(first, b.index(program.blockKV), 1, old, [&](Value key, ValueRange maxima) {
        SmallVector<Value> result;
        for (auto [j, column] : llvm::enumerate(columns)) {
          column.moveTo(key);
          column.define(loop.scores.getResult(), b.load(scores, key, lanes[j]));
          Value score = column.vector(step.getScores());
          if (!isProduct)
            b.store(score, scores, key, lanes[j]);
          result.push_back(b.maximum(score, maxima[j]));
        }
        return result;
      });

  SmallVector<Value> grown;
  Value anyGrown;
  for (int64_t j = 0; j < vectors; ++j) {
    grown.push_back(arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, maximum[j],
                                          b.add(old[j], b.real(type, slack))));
    anyGrown = j == 0 ? grown[0] : arith::OrIOp::create(b, anyGrown, grown[j]).getResult();
  }
  const auto shiftOf = [&](Value reference) {
    // A row without a visible key has no reference: subtracting 0 leaves its scores -inf.
    return b.choose(arith::CmpFPredicate::OEQ, reference, none, b.real(type, 0), reference);
  };
  b.branch(vector::ReductionOp::create(b, vector::CombiningKind::OR, anyGrown), [&] {
    SmallVector<Value> alpha;
    for (int64_t j = 0; j < vectors; ++j) {
      Value raised = arith::SelectOp::create(b, grown[j], maximum[j], old[j]);
      b.store(raised, reference, first, lanes[j]);
      alpha.push_back(avx512ExponentialOfDifference(b, old[j], shiftOf(raised)));
    }
    for (Value buffer : {sum, roundedSum, homes.bufferOf(loop.accumulator)})
      scale(buffer, lanes, alpha);
  });

  SmallVector<Value> shifts;
  for (Value lane : lanes)
    shifts.push_back(shiftOf(b.load(reference, first, lane)));
  emitWeights(scores, weights, lanes, shifts, sum);
}

/// Weights in paired tiles, and their two sums.
void AmxEmitter::emitWeights(Value scores, Value weights, ArrayRef<Value> lanes,
                             ArrayRef<Value> shifts, Value sum) {
  const Type type = b.vectorOf(b.getF32Type()), bits = b.vectorOf(b.getI32Type());
  const Value first = b.index(0);
  const int64_t queryTiles = cast<MemRefType>(scores.getType()).getDimSize(1) / amxRows;
  SmallVector<Value> sums;
  for (Value buffer : {sum, roundedSum})
    for (Value lane : lanes)
      sums.push_back(b.load(buffer, first, lane));

  // Halves are rounded up: weights are not negative, and ties are rare.
  const auto rounded = [&](Value weight) -> Value {
    Value word = arith::AddIOp::create(b, arith::BitcastOp::create(b, bits, weight),
                                       b.integer(bits, 0x8000));
    word = arith::AndIOp::create(b, word, b.integer(bits, -0x10000));
    return arith::BitcastOp::create(b, type, word);
  };
  const auto emitPair = [&](Value key, Value row, ValueRange carried) {
    SmallVector<Value> result(carried);
    for (auto [j, lane] : llvm::enumerate(lanes)) {
      Value weight[2], narrow[2];
      for (int64_t i = 0; i < 2; ++i) {
        weight[i] =
            avx512ExponentialOfDifference(b, b.load(scores, b.offset(key, i), lane), shifts[j]);
        narrow[i] = rounded(weight[i]);
      }
      const size_t exact = j, coarse = lanes.size() + j;
      result[exact] = b.add(result[exact], b.add(weight[0], weight[1]));
      result[coarse] = b.add(result[coarse], b.add(narrow[0], narrow[1]));
      Value tile = arith::AddIOp::create(b, row, lane);
      Value words = vector::BitCastOp::create(b, VectorType::get({amxDepth}, b.getBF16Type()),
                                              pair(b, narrow[0], narrow[1]));
      b.store(words, weights, tile, first);
    }
    return result;
  };
  sums = b.loop(first, b.index(program.blockKV), amxDepth, sums, [&](Value key, ValueRange sums) {
    // The paired tiles of these keys; those of a vector of queries start at its lane's number.
    Value row = arith::DivUIOp::create(b, key, b.index(amxDepth));
    row = arith::MulIOp::create(b, row, b.index(queryTiles * amxRows));
    return b.loop(first, b.index(amxRows), 1, sums, [&](Value number, ValueRange sums) {
      Value distance = arith::MulIOp::create(b, number, b.index(2));
      return emitPair(arith::AddIOp::create(b, key, distance),
                      arith::AddIOp::create(b, row, number), sums);
    });
  });
  for (auto [j, lane] : llvm::enumerate(lanes)) {
    b.store(sums[j], sum, first, lane);
    b.store(sums[lanes.size() + j], roundedSum, first, lane);
  }
}

/// Multiplies each row of a buffer.
void AmxEmitter::scale(Value buffer, ArrayRef<Value> lanes, ArrayRef<Value> factors) {
  b.loop(b.index(0), b.index(cast<MemRefType>(buffer.getType()).getDimSize(0)), 1, [&](Value row) {
    for (auto [lane, factor] : llvm::zip_equal(lanes, factors))
      b.store(b.multiply(b.load(buffer, row, lane), factor), buffer, row, lane);
  });
}

void AmxEmitter::endLoop(AmxLoop loop) {
  Value sum = homes.bufferOf(loop.step.getSum());
  const Type type = b.vectorOf(b.getF32Type());
  b.loop(b.index(0), b.index(cast<MemRefType>(sum.getType()).getDimSize(1)), b.shape.lanes,
         [&](Value lane) {
           Value exact = b.load(sum, b.index(0), lane),
                 rounded = b.load(roundedSum, b.index(0), lane);
           Value ratio = b.choose(arith::CmpFPredicate::OEQ, rounded, b.real(type, 0),
                                  b.real(type, 1), arith::DivFOp::create(b, exact, rounded));
           scale(homes.bufferOf(loop.accumulator), lane, ratio);
         });
}
