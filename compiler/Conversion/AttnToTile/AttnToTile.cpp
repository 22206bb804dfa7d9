//===- AttnToTile.cpp - Attention problems as programs on tiles -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order of evaluation is FlashAttention's: a block of queries stays, blocks of
// keys stream by, and the online softmax keeps what is needed of those gone by
// (Dao, "FlashAttention-2", arXiv:2307.08691; Milakov and Gimelshein, "Online
// normalizer calculation for softmax", arXiv:1805.02867).
//
//===----------------------------------------------------------------------===//

#include "compiler/Analysis/HalfPlanes.h"
#include "compiler/Conversion/AttnToTile/Decode.h"
#include "compiler/Conversion/AttnToTile/InlineRegion.h"
#include "compiler/Conversion/Passes.h"
#include "dialect/Attn/Attn.h"
#include "dialect/Tile/Tile.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Remarks.h"

namespace tilewright {
#define GEN_PASS_DEF_CONVERTATTNTOTILE
#include "compiler/Conversion/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace tilewright;

static Type elementOf(Value tensor) {
  return cast<MemRefType>(tensor.getType()).getElementType();
}

namespace {

class ForwardLowering {
public:
  ForwardLowering(attn::ForwardOp op, tile::ScheduleAttr schedule, DecodeBlocks decode)
      : op(op), builder(op.getLoc(), op), blockQ(schedule.getBlockQ()),
        blockKV(schedule.getBlockKv()), decode(decode), real(op.getRealType()),
        mask(analyzeMask(op)) {}

  void lower() {
    batch = dim(op.getQuery(), 0);
    heads = dim(op.getQuery(), 1);
    keyHeads = dim(op.getKey(), 1);
    queryLength = dim(op.getQuery(), 2);
    keyLength = dim(op.getKey(), 2);
    queryLengthI32 = toI32(queryLength);
    keyLengthI32 = toI32(keyLength);
    remark();
    if (decode.rows > 0)
      lowerWithDecode();
    else
      lowerBlocks(arith::CeilDivSIOp::create(builder, queryLength, index(blockQ)));
    op.erase();
  }

private:
  /// A block of queries of one head is an item.
  void lowerBlocks(Value queryBlocks) {
    auto grid = forall({batch, heads, queryBlocks});
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(grid.getBody());
    const SmallVector<Value> position = grid.getInductionVars();
    b = position[0];
    h = position[1];
    // h / (heads / keyHeads), in a form that does not divide by zero where there are no key heads.
    hkv = arith::DivUIOp::create(builder, arith::MulIOp::create(builder, h, keyHeads), heads);
    firstRow = firstQuery = arith::MulIOp::create(builder, position[2], index(blockQ));
    Value endQuery = arith::MinSIOp::create(
        builder, arith::AddIOp::create(builder, firstQuery, index(blockQ)), queryLength);

    query =
        tile::LoadOp::create(builder, tensor({blockQ, op.getHeadDim()}, elementOf(op.getQuery())),
                             op.getQuery(), ValueRange{b, h, firstQuery});
    const State state = initialState();
    tile::BlockRangesOp ranges = blockRanges(endQuery);
    const Bounds bounds = {ranges.getBegin(), ranges.getFullBegin(), ranges.getFullEnd(),
                           ranges.getEnd()};
    store(visitBlocks(bounds, state), op.getOut(), op.getLse(), {b, h, firstQuery});
  }

  //===--------------------------------------------------------------------===//
  // Few queries
  //===--------------------------------------------------------------------===//

  /// Few queries: a block's rows are those of all heads that share their keys, and the
  /// keys are split over items, whose results a third program combines. Of the programs, those that
  /// the lengths do not ask for have no items.
  void lowerWithDecode() {
    Value isDecode =
        arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, queryLength, index(decode.below));
    Value zero = index(0);
    Value queryBlocks = arith::CeilDivSIOp::create(builder, queryLength, index(blockQ));
    queryBlocks = arith::SelectOp::create(builder, isDecode, zero, queryBlocks);
    group =
        arith::DivUIOp::create(builder, heads, arith::MaxSIOp::create(builder, keyHeads, index(1)));
    Value rows = arith::MulIOp::create(builder, queryLength, group);
    rows = arith::SelectOp::create(builder, isDecode, rows, zero);
    Value rowBlocks = arith::CeilDivSIOp::create(builder, rows, index(decode.rows));
    Value splits =
        arith::CeilDivSIOp::create(builder, keyLength, index(decode.keyBlocks * decode.keys));
    const FoldedHeads fold{builder, keyHeads, group};
    const Value foldedQuery = fold(op.getQuery()), foldedOut = fold(op.getOut());
    const Value foldedLse = op.getLse() ? fold(op.getLse()) : Value();
    const Partials partials =
        Partials::allocate(builder, {batch, keyHeads, splits, rows}, op.getValueDim(), real);

    Value foldGroup = std::exchange(group, Value());
    lowerBlocks(queryBlocks);
    group = foldGroup;
    blockQ = decode.rows;
    blockKV = decode.keys;
    lowerSplits(rowBlocks, splits, foldedQuery, partials);
    lowerCombination(rowBlocks, splits, partials, foldedOut, foldedLse);
  }

  /// A block of rows and a run of key blocks are an item.
  void lowerSplits(Value rowBlocks, Value splits, Value foldedQuery, const Partials &partials) {
    auto grid = forall({batch, keyHeads, splits, rowBlocks});
    grid->setAttr(tile::columnsOnLanesAttribute, builder.getUnitAttr());
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(grid.getBody());
    const SmallVector<Value> position = grid.getInductionVars();
    b = position[0];
    hkv = position[1];
    h = arith::MulIOp::create(builder, hkv, group);
    firstRow = arith::MulIOp::create(builder, position[3], index(blockQ));
    firstQuery = arith::DivUIOp::create(builder, firstRow, group);
    Value lastRow = arith::AddIOp::create(builder, firstRow, index(blockQ - 1));
    Value endQuery =
        arith::AddIOp::create(builder, arith::DivUIOp::create(builder, lastRow, group), index(1));
    endQuery = arith::MinSIOp::create(builder, endQuery, queryLength);

    query =
        tile::LoadOp::create(builder, tensor({blockQ, op.getHeadDim()}, elementOf(op.getQuery())),
                             foldedQuery, ValueRange{b, hkv, firstRow});
    tile::BlockRangesOp ranges = blockRanges(endQuery);
    Value first = arith::MulIOp::create(builder, position[2], index(decode.keyBlocks));
    Value last = arith::AddIOp::create(builder, first, index(decode.keyBlocks));
    const auto within = [&](Value block) -> Value {
      return arith::MinSIOp::create(builder, arith::MaxSIOp::create(builder, block, first), last);
    };
    // One loop for all: memory is what takes the time here, not the mask.
    const State state = blockLoop(within(ranges.getBegin()), within(ranges.getEnd()),
                                  initialState(), /*isFull=*/false);
    partials.store(builder, state, {b, hkv, position[2], firstRow});
  }

  void lowerCombination(Value rowBlocks, Value splits, const Partials &partials, Value out,
                        Value lse) {
    auto grid = forall({batch, keyHeads, rowBlocks});
    grid->setAttr(tile::columnsOnLanesAttribute, builder.getUnitAttr());
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(grid.getBody());
    const SmallVector<Value> position = grid.getInductionVars();
    Value row = arith::MulIOp::create(builder, position[2], index(blockQ));
    auto loop = scf::ForOp::create(builder, index(0), splits, index(1), initialState().values());
    {
      OpBuilder::InsertionGuard inLoop(builder);
      builder.setInsertionPointToStart(loop.getBody());
      const State part =
          partials.load(builder, blockQ, {position[0], position[1], loop.getInductionVar(), row});
      scf::YieldOp::create(builder,
                           combine(builder, State::from(loop.getRegionIterArgs()), part).values());
    }
    store(State::from(loop.getResults()), out, lse, {position[0], position[1], row});
  }

  //===--------------------------------------------------------------------===//
  // Blocks of keys
  //===--------------------------------------------------------------------===//

  /// The bounds of the three ranges of key blocks.
  struct Bounds {
    Value begin, fullBegin, fullEnd, end;
  };

  State visitBlocks(const Bounds &bounds, State state) {
    const SmallVector<HalfPlane> planes = halfPlanes();
    if (hasFull() && llvm::any_of(planes, [](const HalfPlane &plane) { return plane.k > 0; }))
      state = blockLoop(bounds.begin, bounds.fullBegin, state, /*isFull=*/false);
    if (hasFull())
      state = blockLoop(bounds.fullBegin, bounds.fullEnd, state, /*isFull=*/true);
    return blockLoop(bounds.fullEnd, bounds.end, state, /*isFull=*/false);
  }

  /// Those that bound the keys of a whole block: where rows are of several heads, a bound that
  /// depends on the head is none.
  SmallVector<HalfPlane> halfPlanes() {
    SmallVector<HalfPlane> planes = mask.halfPlanes;
    if (group)
      llvm::erase_if(planes, [&](const HalfPlane &plane) { return dependsOnHead(plane); });
    return planes;
  }
  bool hasFull() { return mask.residual.empty() && halfPlanes().size() == mask.halfPlanes.size(); }

  bool dependsOnHead(const HalfPlane &plane) {
    SetVector<Operation *> slice;
    BackwardSliceOptions options;
    options.inclusive = true;
    options.filter = [&](Operation *op) { return op->getParentRegion() == &this->op.getMask(); };
    Value head = op.getMask().getArgument(attn::ForwardOp::Head);
    for (Value value : {plane.greater, plane.smaller, plane.condition}) {
      if (!value)
        continue;
      if (value == head)
        return true;
      if (value.getDefiningOp() && options.filter(value.getDefiningOp()))
        (void)getBackwardSlice(value.getDefiningOp(), &slice, options);
    }
    return llvm::any_of(slice,
                        [&](Operation *op) { return llvm::is_contained(op->getOperands(), head); });
  }

  State initialState() {
    auto row = tensor({blockQ}, real);
    auto state = tile::SoftmaxInitOp::create(builder, row, row);
    auto type = tensor({blockQ, op.getValueDim()}, real);
    Value zero = arith::ConstantOp::create(
        builder, DenseElementsAttr::get(type, builder.getFloatAttr(real, 0)));
    return {zero, state.getReference(), state.getSum()};
  }

  tile::BlockRangesOp blockRanges(Value endQuery) {
    SmallVector<Value> offsets;
    SmallVector<Attribute> planes;
    for (const HalfPlane &plane : halfPlanes()) {
      planes.push_back(tile::HalfPlaneAttr::get(builder.getContext(), plane.q, plane.k));
      offsets.push_back(offsetOf(plane));
    }
    return tile::BlockRangesOp::create(builder, firstQuery, endQuery, keyLength, offsets,
                                       static_cast<uint64_t>(blockKV), builder.getArrayAttr(planes),
                                       /*inexact=*/!hasFull());
  }

  /// What a half-plane's affine form is at query = key = 0.
  Value offsetOf(const HalfPlane &plane) {
    Value zero = arith::ConstantIntOp::create(builder, 0, 32);
    SmallVector<Value> origin = positions(toI32(h), zero, zero);
    auto atOrigin = [&](Value value) { return inlineScalar(builder, op.getMask(), origin, value); };
    if (plane.condition)
      return arith::SelectOp::create(builder, atOrigin(plane.condition), index(0), index(-1));
    auto asIndex = [&](Value value) {
      return arith::IndexCastOp::create(builder, builder.getIndexType(), atOrigin(value));
    };
    Value offset = arith::SubIOp::create(builder, asIndex(plane.greater), asIndex(plane.smaller));
    return plane.slack ? arith::SubIOp::create(builder, offset, index(plane.slack)) : offset;
  }

  /// Walks key blocks [begin, end).
  State blockLoop(Value begin, Value end, State initial, bool isFull) {
    auto loop = scf::ForOp::create(builder, begin, end, index(1), initial.values());
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    const State next = step(loop.getInductionVar(), State::from(loop.getRegionIterArgs()), isFull);
    scf::YieldOp::create(builder, next.values());
    return State::from(loop.getResults());
  }

  State step(Value block, State state, bool isFull) {
    Value firstKey = arith::MulIOp::create(builder, block, index(blockKV));
    Value key =
        tile::LoadOp::create(builder, tensor({blockKV, op.getHeadDim()}, elementOf(op.getKey())),
                             op.getKey(), ValueRange{b, hkv, firstKey});
    auto scoreType = tensor({blockQ, blockKV}, real);
    Value scores = tile::MmaOp::create(builder, scoreType, query, key, Value(),
                                       /*transpose_rhs=*/true);
    scores = arith::MulFOp::create(builder, scores,
                                   tile::BroadcastOp::create(builder, scoreType, op.getScale()));

    auto indices = tensor({blockQ, blockKV}, builder.getI32Type());
    Value keys = tile::CoordOp::create(builder, indices, firstKey, /*dim=*/1);
    if (!op.getScore().empty()) {
      SmallVector<Value> arguments{scores};
      llvm::append_range(arguments, positionsOf(keys));
      scores = inlineOverTile(builder, op.getScore(), arguments, scoreType.getShape());
    }
    if (!isFull)
      scores = hide(scores, keys);

    auto softmax = tile::SoftmaxStepOp::create(builder, scores, state.reference, state.sum);
    Value accumulator = tile::RescaleOp::create(builder, state.accumulator, softmax.getAlpha());
    Value value =
        tile::LoadOp::create(builder, tensor({blockKV, op.getValueDim()}, elementOf(op.getValue())),
                             op.getValue(), ValueRange{b, hkv, firstKey});
    accumulator = tile::MmaOp::create(builder, accumulator.getType(), softmax.getWeights(), value,
                                      accumulator, /*transpose_rhs=*/false);
    return {accumulator, softmax.getNewReference(), softmax.getNewSum()};
  }

  /// Scores with -inf where the mask hides the key, and past the last key.
  Value hide(Value scores, Value keys) {
    auto scoreType = cast<RankedTensorType>(scores.getType());
    Value bound = tile::BroadcastOp::create(builder, keys.getType(), keyLengthI32);
    Value visible = arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, keys, bound);
    if (!op.getMask().empty()) {
      Value keep = inlineOverTile(builder, op.getMask(), positionsOf(keys), scoreType.getShape());
      visible = arith::AndIOp::create(builder, keep, visible);
    }
    Value hidden = arith::ConstantOp::create(
        builder, DenseElementsAttr::get(
                     scoreType, APFloat::getInf(cast<FloatType>(real).getFloatSemantics(), true)));
    return arith::SelectOp::create(builder, visible, scores, hidden);
  }

  void store(const State &state, Value target, Value lse, ValueRange indices) {
    auto result =
        tile::SoftmaxFinalizeOp::create(builder, state.accumulator, state.reference, state.sum);
    Value out = result.getOut();
    const Type outElement = elementOf(target);
    if (outElement != real)
      out = arith::TruncFOp::create(builder, tensor({blockQ, op.getValueDim()}, outElement), out);
    tile::StoreOp::create(builder, out, target, indices);
    if (lse)
      tile::StoreOp::create(builder, result.getLse(), lse, indices);
  }

  void remark() {
    if (mask.residual.empty())
      return;
    std::string text;
    llvm::raw_string_ostream stream(text);
    OpPrintingFlags flags;
    if (Operation *definition = mask.residual.front().getDefiningOp())
      definition->print(stream, flags.skipRegions().elideLargeElementsAttrs());
    else
      mask.residual.front().print(stream, flags);
    remark::missed(op.getLoc(),
                   remark::RemarkOpts::name("every-block-partial").category("convert-attn-to-tile"))
        << remark::add("every visited block is partial: a condition of the mask is not affine in "
                       "the positions, or reads a tensor: {0}",
                       text);
  }

  /// The positions that the mask region takes, in their order.
  SmallVector<Value> positions(Value head, Value queries, Value keys) {
    return {toI32(b), head, toI32(hkv), queries, keys, queryLengthI32, keyLengthI32};
  }

  /// The same over a tile; where rows are of several heads, row i is of query i / group.
  SmallVector<Value> positionsOf(Value keys) {
    const Type indices = keys.getType();
    Value rows = tile::CoordOp::create(builder, indices, firstRow, /*dim=*/0);
    if (!group)
      return positions(toI32(h), rows, keys);
    const auto everywhere = [&](Value value) -> Value {
      return tile::BroadcastOp::create(builder, indices, toI32(value));
    };
    Value queries = arith::DivUIOp::create(builder, rows, everywhere(group));
    Value heads = arith::RemUIOp::create(builder, rows, everywhere(group));
    heads = arith::AddIOp::create(builder, everywhere(h), heads);
    return positions(heads, queries, keys);
  }

  scf::ForallOp forall(ValueRange extents) {
    return scf::ForallOp::create(builder, getAsOpFoldResult(extents), ValueRange(),
                                 /*mapping=*/std::nullopt);
  }

  RankedTensorType tensor(ArrayRef<int64_t> shape, Type element) {
    return RankedTensorType::get(shape, element);
  }
  Value index(int64_t value) { return arith::ConstantIndexOp::create(builder, value); }
  Value dim(Value tensor, int64_t dimension) {
    return memref::DimOp::create(builder, tensor, dimension);
  }
  Value toI32(Value value) {
    return arith::IndexCastOp::create(builder, builder.getI32Type(), value);
  }

  attn::ForwardOp op;
  ImplicitLocOpBuilder builder;
  int64_t blockQ, blockKV;
  const DecodeBlocks decode;
  Type real;
  const MaskAnalysis mask;
  Value batch, heads, keyHeads, queryLength, keyLength, queryLengthI32, keyLengthI32;
  /// Where the rows of a tile are of this many heads, and `h` is the first of them; otherwise null.
  Value group;
  Value b, h, hkv, firstRow, firstQuery, query;
};

struct AttnToTile : tilewright::impl::ConvertAttnToTileBase<AttnToTile> {
  using ConvertAttnToTileBase::ConvertAttnToTileBase;

  void runOnOperation() override {
    SmallVector<attn::ForwardOp> problems;
    getOperation().walk([&](attn::ForwardOp op) { problems.push_back(op); });
    for (attn::ForwardOp op : problems) {
      auto schedule = op->getAttrOfType<tile::ScheduleAttr>(tile::scheduleAttribute);
      if (!schedule) {
        op.emitOpError() << "has no '" << tile::scheduleAttribute
                         << "'; run assign-schedule before this pass";
        return signalPassFailure();
      }
      const int64_t rowBits = op.getHeadDim() * elementOf(op.getKey()).getIntOrFloatBitWidth() +
                              op.getValueDim() * elementOf(op.getValue()).getIntOrFloatBitWidth();
      // A vector holds half as many f64.
      const int64_t below = op.getRealType().isF64() ? decodeBelow / 2 : decodeBelow;
      ForwardLowering(op, schedule,
                      decodeBlocks(decodeQ, std::min(schedule.getBlockQ(), below), decodeKV,
                                   rowBits, schedule.getBlockKv()))
          .lower();
    }
  }
};

} // namespace
