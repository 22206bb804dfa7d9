//===- ExpandBlockRanges.cpp - Block ranges as index arithmetic -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A half-plane q * query + k * key + offset >= 0 over the queries [first, end):
// some query sees the key where it holds for the largest q * query, all of them
// see it where it holds for the smallest. Solved for the key, each is one bound:
// below for k > 0, above for k < 0, everything or nothing for k = 0.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/Passes.h"
#include "dialect/Tile/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tilewright {
#define GEN_PASS_DEF_EXPANDBLOCKRANGES
#include "compiler/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace tilewright;

namespace {

/// Index arithmetic, spelled shortly. The operands' types bound every result below 2^63.
class Index {
public:
  Index(ImplicitLocOpBuilder &builder, Value value) : builder(&builder), value(value) {}
  Index(ImplicitLocOpBuilder &builder, int64_t constant)
      : builder(&builder), value(arith::ConstantIndexOp::create(builder, constant)) {}

  Index operator+(Index other) const { return make<arith::AddIOp>(other); }
  Index operator-(Index other) const { return make<arith::SubIOp>(other); }
  Index operator*(int64_t factor) const { return make<arith::MulIOp>(constant(factor)); }
  Index floorDiv(int64_t divisor) const { return make<arith::FloorDivSIOp>(constant(divisor)); }
  Index ceilDiv(int64_t divisor) const { return make<arith::CeilDivSIOp>(constant(divisor)); }
  Index min(Index other) const { return make<arith::MinSIOp>(other); }
  Index max(Index other) const { return make<arith::MaxSIOp>(other); }

  /// `*this >= 0 ? yes : no`
  Index selectNonNegative(Index yes, Index no) const {
    Value test =
        arith::CmpIOp::create(*builder, arith::CmpIPredicate::sge, value, constant(0).value);
    return {*builder, arith::SelectOp::create(*builder, test, yes.value, no.value)};
  }

  Index constant(int64_t number) const { return {*builder, number}; }
  Value get() const { return value; }

private:
  template <typename Op> Index make(Index other) const {
    return {*builder, Op::create(*builder, value, other.value)};
  }
  ImplicitLocOpBuilder *builder;
  Value value;
};

/// Keys in [begin, end).
struct KeyRange {
  Index begin, end;
};

/// Narrows `range` to the keys with k * key + rest >= 0.
void intersect(KeyRange &range, int64_t k, Index rest) {
  if (k > 0) // key >= -rest / k
    range.begin = range.begin.max((rest.constant(0) - rest).ceilDiv(k));
  else if (k < 0) // key <= rest / -k
    range.end = range.end.min(rest.floorDiv(-k) + rest.constant(1));
  else
    range.end = rest.selectNonNegative(range.end, rest.constant(0));
}

void expand(tile::BlockRangesOp op) {
  ImplicitLocOpBuilder builder(op.getLoc(), op);
  const Index zero(builder, 0), firstQuery(builder, op.getFirstQuery());
  const Index lastQuery = Index(builder, op.getEndQuery()) - Index(builder, 1);
  const Index keyCount(builder, op.getKeyCount());
  const int64_t blockKV = op.getBlockKv();

  KeyRange seenBySome{zero, keyCount}, seenByAll{zero, keyCount};
  for (auto [attribute, offset] : llvm::zip_equal(op.getHalfPlanes(), op.getOffsets())) {
    auto plane = cast<tile::HalfPlaneAttr>(attribute);
    const Index shift(builder, offset);
    const Index atFirst = firstQuery * plane.getQ() + shift;
    const Index atLast = lastQuery * plane.getQ() + shift;
    const bool grows = plane.getQ() >= 0;
    intersect(seenBySome, plane.getK(), grows ? atLast : atFirst);
    intersect(seenByAll, plane.getK(), grows ? atFirst : atLast);
  }

  // An empty range may come out reversed, with its ends anywhere.
  const Index begin = seenBySome.begin.min(keyCount).floorDiv(blockKV);
  const Index end = seenBySome.end.max(zero).ceilDiv(blockKV).max(begin);
  // Keys [begin, end) with end <= begin + 0 are no keys, though rounding outward would visit one.
  const Index isEmpty = seenBySome.end - seenBySome.begin - Index(builder, 1);
  const Index last = isEmpty.selectNonNegative(end, begin);

  Index fullBegin = begin, fullEnd = begin;
  if (!op.getInexact()) {
    const Index from = seenByAll.begin.ceilDiv(blockKV).max(begin);
    const Index to = seenByAll.end.floorDiv(blockKV).min(last);
    const Index count = to - from - Index(builder, 1);
    fullBegin = count.selectNonNegative(from, begin);
    fullEnd = count.selectNonNegative(to, begin);
  }
  op.replaceAllUsesWith(ValueRange{begin.get(), fullBegin.get(), fullEnd.get(), last.get()});
  op.erase();
}

struct ExpandBlockRanges : tilewright::impl::ExpandBlockRangesBase<ExpandBlockRanges> {
  void runOnOperation() override {
    getOperation().walk([](tile::BlockRangesOp op) { expand(op); });
  }
};

} // namespace
