//===- KeyReach.cpp - The keys that a group may see -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/TileToVector/KeyReach.h"

#include "dialect/Tile/Tile.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tilewright;

static bool isPosition(Value tile, uint64_t dimension) {
  auto coord = tile.getDefiningOp<tile::CoordOp>();
  return coord && coord.getDim() == dimension;
}
static bool isQuery(Value tile) {
  return isPosition(tile, 0);
}
static bool isKey(Value tile) {
  return isPosition(tile, 1);
}

namespace {
struct Reach {
  VectorBuilder &b;
  QueryGroup group;
  const IRMapping &scalars;
  /// Bounds of the columns that pass the comparisons so far.
  Value begin = {}, end = {};

  Value asIndex(Value number) { return arith::IndexCastOp::create(b, b.getIndexType(), number); }

  /// The number that is the same for the whole tile.
  Value numberOf(Value tile) {
    DenseIntElementsAttr constant;
    if (matchPattern(tile, m_Constant(&constant)) && constant.isSplat())
      return b.constant(constant.getSplatValue<IntegerAttr>());
    auto broadcast = tile.getDefiningOp<tile::BroadcastOp>();
    if (!broadcast || isa<RankedTensorType>(broadcast.getSource().getType()))
      return {};
    return scalars.lookup(broadcast.getSource());
  }

  enum Extreme { Least, Greatest };

  /// The least or the greatest value that the tile has for a query of the group, if it is a number,
  /// or a position plus and minus numbers. The program computes that in 32 bits, where it may wrap.
  /// It grows by one from query to query, so it wraps at one place at most. The least is therefore
  /// the last query's value less the number of queries before; if it wraps among them, the last one
  /// has one of the least values that there are, and a number below bounds no key. The greatest
  /// comes from the first query, likewise.
  Value extremeOf(Value tile, Extreme which) {
    SmallVector<std::pair<Operation *, Value>> sums;
    Operation *op = tile.getDefiningOp();
    while (isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op)) {
      tile = op->getOperand(0);
      Value number = numberOf(op->getOperand(1));
      if (!number && isa<arith::AddIOp>(op)) {
        tile = op->getOperand(1);
        number = numberOf(op->getOperand(0));
      }
      if (!number)
        return {};
      sums.push_back({op, number});
      op = tile.getDefiningOp();
    }
    Value value = numberOf(tile);
    int64_t others = 0;
    if (isQuery(tile)) {
      others = group.vectors * b.shape.lanes - 1;
      value = scalars.lookup(cast<tile::CoordOp>(op).getFirst());
      value = arith::AddIOp::create(b, value, group.first);
      value = arith::AddIOp::create(b, value, group.lane);
      value = arith::IndexCastOp::create(b, b.getI32Type(),
                                         which == Least ? b.offset(value, others) : value);
    }
    if (!value)
      return {};
    for (auto [op, number] : llvm::reverse(sums))
      value = isa<arith::AddIOp>(op) ? arith::AddIOp::create(b, value, number).getResult()
                                     : arith::SubIOp::create(b, value, number).getResult();
    return b.offset(asIndex(value), which == Least ? -others : others);
  }

  Value more(Value limit, Value number) { return arith::AddIOp::create(b, limit, asIndex(number)); }
  Value less(Value limit, Value number) { return arith::SubIOp::create(b, limit, asIndex(number)); }

  /// The column of the key at a position that is `extra` more than `limit`.
  Value columnOf(Value key, Value limit, int64_t extra) {
    Value first = scalars.lookup(key.getDefiningOp<tile::CoordOp>().getFirst());
    return b.offset(arith::SubIOp::create(b, limit, first), extra);
  }

  void endAt(Value column) {
    end = end ? arith::MinSIOp::create(b, end, column).getResult() : column;
  }
  void beginAt(Value column) {
    begin = begin ? arith::MaxSIOp::create(b, begin, column).getResult() : column;
  }

  /// Takes over what a comparison says of the keys that pass it.
  void add(arith::CmpIOp comparison) {
    Value lesser = comparison.getLhs(), greater = comparison.getRhs();
    arith::CmpIPredicate predicate = comparison.getPredicate();
    if (predicate == arith::CmpIPredicate::sgt || predicate == arith::CmpIPredicate::sge) {
      std::swap(lesser, greater);
      predicate = predicate == arith::CmpIPredicate::sgt ? arith::CmpIPredicate::slt
                                                         : arith::CmpIPredicate::sle;
    }
    const bool isLess = predicate == arith::CmpIPredicate::slt;
    if (!isLess && predicate != arith::CmpIPredicate::sle)
      return;
    const int64_t behindLast = isLess ? 0 : 1, first = isLess ? 1 : 0;
    if (isKey(lesser)) { // k < limit
      if (Value limit = extremeOf(greater, Greatest))
        endAt(columnOf(lesser, limit, behindLast));
      return;
    }
    if (isKey(greater)) { // limit < k
      if (Value limit = extremeOf(lesser, Least))
        beginAt(columnOf(greater, limit, first));
      return;
    }
    if (auto difference = lesser.getDefiningOp<arith::SubIOp>()) {
      Value left = difference.getLhs(), right = difference.getRhs(), number = numberOf(greater);
      if (number && isKey(left) && isQuery(right)) {
        // k - q < number. Positions are not negative, so their difference does not wrap.
        endAt(columnOf(left, more(extremeOf(right, Greatest), number), behindLast));
      } else if (number && isKey(right)) {
        // limit - k < number. It wraps below alone, becomes more and lets no further key pass.
        if (Value limit = extremeOf(left, Least))
          beginAt(columnOf(right, less(limit, number), first));
      }
      return;
    }
    // limit < k + number. It wraps above alone, becomes less and lets no further key pass.
    Operation *sum = greater.getDefiningOp();
    if (!isa_and_nonnull<arith::AddIOp, arith::SubIOp>(sum))
      return;
    Value key = sum->getOperand(0), other = sum->getOperand(1);
    if (isa<arith::AddIOp>(sum) && isKey(other))
      std::swap(key, other);
    Value number = numberOf(other);
    if (!isKey(key) || !number)
      return;
    if (Value limit = extremeOf(lesser, Least))
      beginAt(columnOf(key, isa<arith::AddIOp>(sum) ? less(limit, number) : more(limit, number),
                       first));
  }
};
} // namespace

std::optional<KeyRange> tilewright::reachOfKeys(VectorBuilder &b, Value scores, QueryGroup group,
                                                const IRMapping &scalars) {
  auto choice = scores.getDefiningOp<arith::SelectOp>();
  DenseFPElementsAttr hidden;
  if (!choice || !matchPattern(choice.getFalseValue(), m_Constant(&hidden)) || !hidden.isSplat() ||
      !hidden.getSplatValue<APFloat>().isNegInfinity())
    return {};
  Reach reach{b, group, scalars};
  llvm::SetVector<Value> conditions;
  conditions.insert(choice.getCondition());
  for (size_t i = 0; i < conditions.size(); ++i) {
    Operation *op = conditions[i].getDefiningOp();
    if (auto both = dyn_cast_or_null<arith::AndIOp>(op))
      conditions.insert_range(both->getOperands());
    else if (auto comparison = dyn_cast_or_null<arith::CmpIOp>(op))
      reach.add(comparison);
  }
  if (!reach.begin && !reach.end)
    return {};
  KeyRange range;
  if (reach.begin)
    range.begin = arith::MaxSIOp::create(b, reach.begin, b.index(0));
  const int64_t columns = cast<RankedTensorType>(scores.getType()).getDimSize(1);
  range.end = b.index(columns);
  if (reach.end)
    range.end =
        arith::MaxSIOp::create(b, arith::MinSIOp::create(b, reach.end, range.end), b.index(0));
  return range;
}
