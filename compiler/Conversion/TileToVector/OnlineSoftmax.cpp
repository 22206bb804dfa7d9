//===- OnlineSoftmax.cpp - The recurrence on lanes ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/TileToVector/OnlineSoftmax.h"
#include "compiler/Conversion/TileToVector/VectorMath.h"

#include <limits>

using namespace mlir;
using namespace tilewright;

void tilewright::emitSoftmaxStep(VectorBuilder &b, tile::SoftmaxStepOp step, const Homes &homes,
                                 const IRMapping &scalars, tile::MmaOp root, const Product *scores,
                                 std::optional<KeyRange> reach, QueryGroup group) {
  const auto type = step.getScores().getType();
  const int64_t vectors = group.vectors;
  const Value begin = reach && reach->begin ? reach->begin : b.index(0),
              end = reach ? reach->end : b.index(type.getDimSize(1));
  const auto partOf = [&](Value tile) { return b.slice(homes.bufferOf(tile), group.first); };
  const Value weights = partOf(step.getWeights()), alphas = partOf(step.getAlpha()),
              references = partOf(step.getNewReference()), newSum = partOf(step.getNewSum());
  const Value zeroRow = b.index(0);

  SmallVector<LaneCode> columns;
  SmallVector<Value> lanes, reference, sum;
  for (int64_t j = 0; j < vectors; ++j) {
    lanes.push_back(b.offset(group.lane, j * b.shape.lanes));
    LaneCode &column = columns.emplace_back(b, homes, scalars, lanes[j], group.first);
    column.hoist(step.getScores());
    if (root && root.getAccumulator())
      column.hoist(root.getAccumulator());
    reference.push_back(column.vector(step.getReference()));
    sum.push_back(column.vector(step.getSum()));
  }

  // First pass: scores and their maximum.
  const auto takeScores = [&](Value key, ValueRange sums, ValueRange maxima) {
    SmallVector<Value> result;
    for (auto [j, column] : llvm::enumerate(columns)) {
      column.moveTo(key);
      if (root)
        column.define(root.getResult(), sums[j]);
      Value score = column.vector(step.getScores());
      if (homes.bufferOf(step.getScores()) != homes.bufferOf(step.getWeights()))
        b.store(score, weights, key, lanes[j]);
      result.push_back(b.maximum(score, maxima[j]));
    }
    return result;
  };
  SmallVector<Value> maximum;
  if (root) {
    const auto start = [&](Value key, int64_t j) {
      if (!root.getAccumulator())
        return b.real(b.vectorOf(type.getElementType()), 0);
      columns[j].moveTo(key);
      return columns[j].vector(root.getAccumulator());
    };
    maximum = emitProduct(b, *scores, group.lane, vectors, start, reference, takeScores);
  } else {
    maximum = b.loop(begin, end, 1, reference,
                     [&](Value key, ValueRange maxima) { return takeScores(key, {}, maxima); });
  }

  ExponentialOfDifference exponential(b, b.vectorOf(type.getElementType()));
  // A row without a visible key has no reference: subtracting 0 leaves its scores -inf.
  SmallVector<Value> shift;
  for (int64_t j = 0; j < vectors; ++j) {
    const Type vector = maximum[j].getType();
    Value none = b.real(vector, -std::numeric_limits<double>::infinity());
    shift.push_back(
        b.choose(arith::CmpFPredicate::OEQ, maximum[j], none, b.real(vector, 0), maximum[j]));
    Value alpha = exponential(reference[j], shift[j]);
    b.store(alpha, alphas, zeroRow, lanes[j]);
    b.store(maximum[j], references, zeroRow, lanes[j]);
    sum[j] = b.multiply(sum[j], alpha);
  }

  // Second pass: weights and their sum. A vector at a time leaves registers for the constants.
  for (int64_t j = 0; j < vectors; ++j) {
    const auto takeWeight = [&](Value key, ValueRange carried) {
      Value weight = exponential(b.load(weights, key, lanes[j]), shift[j]);
      b.store(weight, weights, key, lanes[j]);
      return SmallVector<Value>{b.add(carried.front(), weight)};
    };
    Value total = b.loop(begin, end, 1, sum[j], takeWeight).front();
    b.store(total, newSum, zeroRow, lanes[j]);
  }
}
