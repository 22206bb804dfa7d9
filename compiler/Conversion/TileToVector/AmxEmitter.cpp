//===- AmxEmitter.cpp - The recurrence on AMX -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/TileToVector/AmxEmitter.h"
#include "compiler/Conversion/TileToVector/Avx512Math.h"

#include "mlir/IR/Remarks.h"

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
  if (isWoven(loop))
    beginWovenLoop(loop);
  else
    remark::missed(loop.step.getLoc(),
                   remark::RemarkOpts::name("not-woven").category("convert-tile-to-vector"))
        << remark::add("exponentials wait for products and products for exponentials: {0}",
                       whyNotWoven(loop));
}

int64_t AmxEmitter::queries(AmxLoop loop) const {
  return b.shape.padded(loop.step.getScores().getType().getDimSize(0));
}

/// The block of that number of the head that `load` reads.
Value AmxEmitter::packedAt(Value packed, tile::LoadOp load, Value block) {
  SmallVector<Value> position = llvm::map_to_vector(
      load.getIndices().drop_back(), [&](Value index) { return scalars.lookup(index); });
  position.push_back(block);
  return packedBlock(b, scalars.lookup(packed), position);
}

/// The paired queries from the unit's first on.
Value AmxEmitter::queriesOf(AmxLoop loop, Unit unit) {
  const int64_t rows = (program.depthTiles() - 1) * queries(loop) + unit.queries;
  return b.window(packedQueries.lookup(loop.query.getResult()), unit.lane, b.index(0), rows,
                  amxDepth);
}

void AmxEmitter::emitScores(AmxLoop loop, Unit unit, Value scores) {
  emitTileProduct(b,
                  {.a = packedAt(program.packedKey, loop.key, unit.block),
                   .b = queriesOf(loop, unit),
                   .c = scores,
                   .rows = program.blockKV / amxRows,
                   .columns = unit.queries / amxRows,
                   .depth = program.depthTiles(),
                   .pitch = queries(loop) / amxRows,
                   .accumulates = false},
                  [&](Value i, int64_t k) {
                    Value row =
                        arith::MulIOp::create(b, i, b.index(program.depthTiles() * amxRows));
                    return std::pair(b.offset(row, k * amxRows), b.index(0));
                  });
}

void AmxEmitter::emitOutput(AmxLoop loop, Unit unit, Value weights) {
  const int64_t rows = program.valueTiles() * amxRows;
  emitTileProduct(
      b,
      {.a = packedAt(program.packedValue, loop.value, unit.block),
       .b = weights,
       .c = b.window(homes.bufferOf(loop.accumulator), b.index(0), unit.lane, rows, unit.queries),
       .rows = program.valueTiles(),
       .columns = unit.queries / amxRows,
       .depth = program.blockKV / amxDepth,
       .pitch = unit.queries / amxRows,
       .accumulates = true},
      [&](Value i, int64_t k) {
        Value row = arith::MulIOp::create(b, i, b.index(amxRows));
        return std::pair(b.offset(row, k * rows), b.index(0));
      });
}

void AmxEmitter::emitScoresAndWeights(AmxLoop loop, Unit unit, Value weights) {
  Value scores = homes.acquire(MemRefType::get({program.blockKV, unit.queries}, b.getF32Type()));
  emitScores(loop, unit, scores);
  b.forEachGroup(unit.queries, [&](QueryGroup group) {
    emitSoftmax(loop, unit, scores, weights, group.lane, group.vectors);
  });
}

void AmxEmitter::emitBlock(AmxLoop loop) {
  for (Operation &op : loop.step->getBlock()->without_terminator())
    if (llvm::none_of(op.getResultTypes(), llvm::IsaPred<RankedTensorType>))
      b.clone(op, scalars);
  if (isWoven(loop))
    return emitWovenBlock(loop);
  const auto unitOf = [&](tile::LoadOp load) -> Unit {
    Value block = arith::DivUIOp::create(b, scalars.lookup(load.getIndices().back()),
                                         b.index(program.blockKV));
    return {block, b.index(0), queries(loop)};
  };
  Value weights = homes.acquire(pairedType(b, program.blockKV, queries(loop)));
  emitScoresAndWeights(loop, unitOf(loop.key), weights);
  emitOutput(loop, unitOf(loop.value), weights);
}

/// The softmax of `vectors` vectors of the unit's queries from `lane` of the scores on.
void AmxEmitter::emitSoftmax(AmxLoop loop, Unit unit, Value scores, Value weights, Value lane,
                             int64_t vectors) {
  tile::SoftmaxStepOp step = loop.step;
  const Type type = b.vectorOf(b.getF32Type());
  const Value first = b.index(0), none = b.real(type, -std::numeric_limits<double>::infinity());
  Value reference = homes.bufferOf(step.getReference()), sum = homes.bufferOf(step.getSum());
  SmallVector<LaneCode> columns;
  SmallVector<Value> columnLanes, lanes, old;
  for (int64_t j = 0; j < vectors; ++j) {
    columnLanes.push_back(b.offset(lane, j * b.shape.lanes));
    lanes.push_back(arith::AddIOp::create(b, unit.lane, columnLanes[j]));
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
          column.define(loop.scores.getResult(), b.load(scores, key, columnLanes[j]));
          Value score = column.vector(step.getScores());
          if (!isProduct)
            b.store(score, scores, key, columnLanes[j]);
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
      Value raised = arith::SelectOp::create(
          b, grown[j], b.subtract(maximum[j], b.real(type, logOfLargestWeight)), old[j]);
      b.store(raised, reference, first, lanes[j]);
      alpha.push_back(avx512ExponentialOfDifference(b, old[j], shiftOf(raised)));
    }
    for (Value buffer : {sum, roundedSum, homes.bufferOf(loop.accumulator)})
      scale(buffer, lanes, alpha);
  });

  SmallVector<Value> shifts;
  for (Value lane : lanes)
    shifts.push_back(shiftOf(b.load(reference, first, lane)));
  emitWeights(scores, weights, columnLanes, lanes, shifts, sum);
}

/// Weights in paired tiles, and their two sums.
void AmxEmitter::emitWeights(Value scores, Value weights, ArrayRef<Value> columnLanes,
                             ArrayRef<Value> lanes, ArrayRef<Value> shifts, Value sum) {
  const Value first = b.index(0);
  const int64_t queryTiles = cast<MemRefType>(scores.getType()).getDimSize(1) / amxRows;
  SmallVector<Value> sums;
  for (Value buffer : {sum, roundedSum})
    for (Value lane : lanes)
      sums.push_back(b.load(buffer, first, lane));
  sums = b.loop(first, b.index(program.blockKV), amxDepth, sums, [&](Value key, ValueRange sums) {
    // The paired tiles of these keys; those of a vector of queries start at its lane's number.
    Value row = arith::DivUIOp::create(b, key, b.index(amxDepth));
    row = arith::MulIOp::create(b, row, b.index(queryTiles * amxRows));
    return b.loop(first, b.index(amxRows), 1, sums, [&](Value number, ValueRange carried) {
      SmallVector<Value> sums(carried);
      Value distance = arith::MulIOp::create(b, number, b.index(2));
      Value pairKey = arith::AddIOp::create(b, key, distance);
      Value pairRow = arith::AddIOp::create(b, row, number);
      for (auto [j, lane] : llvm::enumerate(columnLanes)) {
        SmallVector<Value> pair;
        for (int64_t i = 0; i < 2; ++i)
          pair.push_back(avx512ExponentialOfDifference(
              b, b.load(scores, b.offset(pairKey, i), lane), shifts[j]));
        emitPair(pair, weights, arith::AddIOp::create(b, pairRow, lane), sums[j],
                 sums[lanes.size() + j]);
      }
      return sums;
    });
  });
  for (auto [j, lane] : llvm::enumerate(lanes)) {
    b.store(sums[j], sum, first, lane);
    b.store(sums[lanes.size() + j], roundedSum, first, lane);
  }
}

void AmxEmitter::emitPair(ArrayRef<Value> weights, Value buffer, Value row, Value &exact,
                          Value &rounded) {
  const Type type = b.vectorOf(b.getF32Type()), bits = b.vectorOf(b.getI32Type());
  const auto round = [&](Value weight) -> Value {
    Value word = arith::AndIOp::create(b, arith::BitcastOp::create(b, bits, weight),
                                       b.integer(bits, -0x10000));
    return arith::BitcastOp::create(b, type, word);
  };
  Value narrow[] = {round(weights[0]), round(weights[1])};
  exact = b.add(exact, b.add(weights[0], weights[1]));
  rounded = b.add(rounded, b.add(narrow[0], narrow[1]));
  Value words = vector::BitCastOp::create(b, VectorType::get({amxDepth}, b.getBF16Type()),
                                          pair(b, narrow[0], narrow[1]));
  b.store(words, buffer, row, b.index(0));
}

/// Multiplies each row of a buffer.
void AmxEmitter::scale(Value buffer, ArrayRef<Value> lanes, ArrayRef<Value> factors) {
  b.loop(b.index(0), b.index(cast<MemRefType>(buffer.getType()).getDimSize(0)), 1, [&](Value row) {
    for (auto [lane, factor] : llvm::zip_equal(lanes, factors))
      b.store(b.multiply(b.load(buffer, row, lane), factor), buffer, row, lane);
  });
}

void AmxEmitter::endLoop(AmxLoop loop) {
  if (isWoven(loop))
    endWovenLoop(loop);
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
