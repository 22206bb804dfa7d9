//===- KeyReach.cpp - Keys that nobody in a group sees --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/TileToVector/KeyReach.h"

#include "dialect/Tile/Tile.h"

using namespace mlir;
using namespace tilewright;

static bool isTile(Value value) {
  return isa<RankedTensorType>(value.getType());
}

namespace {
struct Reach {
  VectorBuilder &b;
  QueryGroup group;
  const IRMapping &scalars;

  /// The number that is the same for the whole tile, as an index.
  Value numberOf(Value tile) {
    DenseIntElementsAttr constant;
    if (matchPattern(tile, m_Constant(&constant)) && constant.isSplat())
      return b.index(constant.getSplatValue<APInt>().getSExtValue());
    auto broadcast = tile.getDefiningOp<tile::BroadcastOp>();
    if (!broadcast || isTile(broadcast.getSource()))
      return {};
    return arith::IndexCastOp::create(b, b.getIndexType(), scalars.lookup(broadcast.getSource()));
  }

  Value lastQuery(Value tile) {
    auto coord = tile.getDefiningOp<tile::CoordOp>();
    if (!coord || coord.getDim() != 0)
      return {};
    Value last = arith::AddIOp::create(b, scalars.lookup(coord.getFirst()), group.first);
    last = arith::AddIOp::create(b, last, group.lane);
    return b.offset(last, group.vectors * b.shape.lanes - 1);
  }

  /// The largest value that the tile has for a query of the group: a position, a number, or one
  /// plus or minus the other. A sum of more could pass below the least i32 on its way.
  Value largestOf(Value tile) {
    if (Value number = numberOf(tile))
      return number;
    if (Value last = lastQuery(tile))
      return last;
    Operation *op = tile.getDefiningOp();
    if (!isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op))
      return {};
    Value left = op->getOperand(0), right = op->getOperand(1);
    if (isa<arith::AddIOp>(op) && left.getDefiningOp<tile::BroadcastOp>())
      std::swap(left, right);
    Value last = lastQuery(left), number = numberOf(right);
    if (!last || !number)
      return {};
    return isa<arith::AddIOp>(op) ? arith::AddIOp::create(b, last, number).getResult()
                                  : arith::SubIOp::create(b, last, number).getResult();
  }

  /// How many columns a comparison lets through at most.
  Value boundOf(arith::CmpIOp comparison) {
    Value key = comparison.getLhs(), limit = comparison.getRhs();
    arith::CmpIPredicate predicate = comparison.getPredicate();
    if (predicate == arith::CmpIPredicate::sgt || predicate == arith::CmpIPredicate::sge) {
      std::swap(key, limit);
      predicate = predicate == arith::CmpIPredicate::sgt ? arith::CmpIPredicate::slt
                                                         : arith::CmpIPredicate::sle;
    }
    auto coord = key.getDefiningOp<tile::CoordOp>();
    const bool isLess = predicate == arith::CmpIPredicate::slt;
    if (!coord || coord.getDim() != 1 || (!isLess && predicate != arith::CmpIPredicate::sle))
      return {};
    Value largest = largestOf(limit);
    if (!largest)
      return {};
    Value bound = arith::SubIOp::create(b, largest, scalars.lookup(coord.getFirst()));
    return b.offset(bound, isLess ? 0 : 1);
  }
};
} // namespace

Value tilewright::reachOfKeys(VectorBuilder &b, Value scores, QueryGroup group,
                              const IRMapping &scalars) {
  auto choice = scores.getDefiningOp<arith::SelectOp>();
  DenseFPElementsAttr hidden;
  if (!choice || !matchPattern(choice.getFalseValue(), m_Constant(&hidden)) || !hidden.isSplat() ||
      !hidden.getSplatValue<APFloat>().isNegInfinity())
    return {};
  Reach reach{b, group, scalars};
  Value result;
  SmallVector<Value> conditions = {choice.getCondition()};
  while (!conditions.empty()) {
    Operation *op = conditions.pop_back_val().getDefiningOp();
    if (auto both = dyn_cast_or_null<arith::AndIOp>(op)) {
      conditions.append({both.getLhs(), both.getRhs()});
    } else if (auto comparison = dyn_cast_or_null<arith::CmpIOp>(op)) {
      if (Value bound = reach.boundOf(comparison))
        result = result ? arith::MinSIOp::create(b, result, bound).getResult() : bound;
    }
  }
  if (!result)
    return {};
  const int64_t columns = cast<RankedTensorType>(scores.getType()).getDimSize(1);
  result = arith::MinSIOp::create(b, result, b.index(columns));
  return arith::MaxSIOp::create(b, result, b.index(0));
}
