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
#include "compiler/Conversion/AttnToTile/InlineRegion.h"
#include "compiler/Conversion/Passes.h"
#include "dialect/Attn/Attn.h"
#include "dialect/Tile/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
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

namespace {

/// The loop-carried tiles: the accumulator of the output and the state of the softmax.
struct State {
  Value accumulator, reference, sum;
  SmallVector<Value> values() const { return {accumulator, reference, sum}; }
  static State from(ValueRange values) { return {values[0], values[1], values[2]}; }
};

class ForwardLowering {
public:
  ForwardLowering(attn::ForwardOp op, tile::ScheduleAttr schedule)
      : op(op), builder(op.getLoc(), op), blockQ(schedule.getBlockQ()),
        blockKV(schedule.getBlockKv()), real(op.getRealType()) {}

  void lower() {
    batch = dim(op.getQuery(), 0);
    heads = dim(op.getQuery(), 1);
    keyHeads = dim(op.getKey(), 1);
    queryLength = dim(op.getQuery(), 2);
    keyLength = dim(op.getKey(), 2);
    queryLengthI32 = toI32(queryLength);
    keyLengthI32 = toI32(keyLength);
    Value queryBlocks = arith::CeilDivSIOp::create(builder, queryLength, index(blockQ));

    auto grid = scf::ForallOp::create(
        builder, getAsOpFoldResult(ValueRange{batch, heads, queryBlocks}), ValueRange(),
        /*mapping=*/std::nullopt);
    builder.setInsertionPointToStart(grid.getBody());
    lowerBlock(grid.getInductionVars());
    op.erase();
  }

private:
  void lowerBlock(ArrayRef<Value> position) {
    b = position[0];
    h = position[1];
    // h / (heads / keyHeads), in a form that does not divide by zero where there are no key heads.
    hkv = arith::DivUIOp::create(builder, arith::MulIOp::create(builder, h, keyHeads), heads);
    firstQuery = arith::MulIOp::create(builder, position[2], index(blockQ));
    Value endQuery = arith::MinSIOp::create(
        builder, arith::AddIOp::create(builder, firstQuery, index(blockQ)), queryLength);

    query =
        tile::LoadOp::create(builder, tensor({blockQ, op.getHeadDim()}, elementType(op.getQuery())),
                             op.getQuery(), ValueRange{b, h, firstQuery});
    State state = initialState();

    const MaskAnalysis mask = analyzeMask(op);
    auto ranges = blockRanges(mask, endQuery);
    const bool hasLeadingPartial =
        mask.residual.empty() &&
        llvm::any_of(mask.halfPlanes, [](const HalfPlane &plane) { return plane.k > 0; });
    const bool hasFull = mask.residual.empty();
    if (hasLeadingPartial)
      state = blockLoop(ranges.getBegin(), ranges.getFullBegin(), state, /*isFull=*/false);
    if (hasFull)
      state = blockLoop(ranges.getFullBegin(), ranges.getFullEnd(), state, /*isFull=*/true);
    state = blockLoop(ranges.getFullEnd(), ranges.getEnd(), state, /*isFull=*/false);
    remark(mask);
    finalize(state);
  }

  State initialState() {
    auto row = tensor({blockQ}, real);
    auto state = tile::SoftmaxInitOp::create(builder, row, row);
    auto type = tensor({blockQ, op.getValueDim()}, real);
    Value zero = arith::ConstantOp::create(
        builder, DenseElementsAttr::get(type, builder.getFloatAttr(real, 0)));
    return {zero, state.getReference(), state.getSum()};
  }

  tile::BlockRangesOp blockRanges(const MaskAnalysis &mask, Value endQuery) {
    SmallVector<Value> offsets;
    SmallVector<Attribute> planes;
    for (const HalfPlane &plane : mask.halfPlanes) {
      planes.push_back(tile::HalfPlaneAttr::get(builder.getContext(), plane.q, plane.k));
      offsets.push_back(offsetOf(plane));
    }
    return tile::BlockRangesOp::create(builder, firstQuery, endQuery, keyLength, offsets,
                                       static_cast<uint64_t>(blockKV), builder.getArrayAttr(planes),
                                       /*inexact=*/!mask.residual.empty());
  }

  /// What a half-plane's affine form is at query = key = 0.
  Value offsetOf(const HalfPlane &plane) {
    Value zero = arith::ConstantIntOp::create(builder, 0, 32);
    SmallVector<Value> origin = positions(zero, zero);
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
        tile::LoadOp::create(builder, tensor({blockKV, op.getHeadDim()}, elementType(op.getKey())),
                             op.getKey(), ValueRange{b, hkv, firstKey});
    auto scoreType = tensor({blockQ, blockKV}, real);
    Value scores = tile::MmaOp::create(builder, scoreType, query, key, Value(),
                                       /*transpose_rhs=*/true);
    scores = arith::MulFOp::create(builder, scores,
                                   tile::BroadcastOp::create(builder, scoreType, op.getScale()));

    auto indices = tensor({blockQ, blockKV}, builder.getI32Type());
    Value queries = tile::CoordOp::create(builder, indices, firstQuery, /*dim=*/0);
    Value keys = tile::CoordOp::create(builder, indices, firstKey, /*dim=*/1);
    if (!op.getScore().empty()) {
      SmallVector<Value> arguments{scores};
      llvm::append_range(arguments, positions(queries, keys));
      scores = inlineOverTile(builder, op.getScore(), arguments, scoreType.getShape());
    }
    if (!isFull)
      scores = hide(scores, queries, keys);

    auto softmax = tile::SoftmaxStepOp::create(builder, scores, state.reference, state.sum);
    Value accumulator = tile::RescaleOp::create(builder, state.accumulator, softmax.getAlpha());
    Value value = tile::LoadOp::create(
        builder, tensor({blockKV, op.getValueDim()}, elementType(op.getValue())), op.getValue(),
        ValueRange{b, hkv, firstKey});
    accumulator = tile::MmaOp::create(builder, accumulator.getType(), softmax.getWeights(), value,
                                      accumulator, /*transpose_rhs=*/false);
    return {accumulator, softmax.getNewReference(), softmax.getNewSum()};
  }

  /// Scores with -inf where the mask hides the key, and past the last key.
  Value hide(Value scores, Value queries, Value keys) {
    auto scoreType = cast<RankedTensorType>(scores.getType());
    Value bound = tile::BroadcastOp::create(builder, keys.getType(), keyLengthI32);
    Value visible = arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, keys, bound);
    if (!op.getMask().empty()) {
      Value keep =
          inlineOverTile(builder, op.getMask(), positions(queries, keys), scoreType.getShape());
      visible = arith::AndIOp::create(builder, keep, visible);
    }
    Value hidden = arith::ConstantOp::create(
        builder, DenseElementsAttr::get(
                     scoreType, APFloat::getInf(cast<FloatType>(real).getFloatSemantics(), true)));
    return arith::SelectOp::create(builder, visible, scores, hidden);
  }

  void finalize(State state) {
    auto result =
        tile::SoftmaxFinalizeOp::create(builder, state.accumulator, state.reference, state.sum);
    Value out = result.getOut();
    const Type outElement = elementType(op.getOut());
    if (outElement != real)
      out = arith::TruncFOp::create(builder, tensor({blockQ, op.getValueDim()}, outElement), out);
    tile::StoreOp::create(builder, out, op.getOut(), ValueRange{b, h, firstQuery});
    if (op.getLse())
      tile::StoreOp::create(builder, result.getLse(), op.getLse(), ValueRange{b, h, firstQuery});
  }

  void remark(const MaskAnalysis &mask) {
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
  SmallVector<Value> positions(Value queries, Value keys) {
    return {toI32(b), toI32(h), toI32(hkv), queries, keys, queryLengthI32, keyLengthI32};
  }

  static Type elementType(Value tensor) {
    return cast<MemRefType>(tensor.getType()).getElementType();
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
  Type real;
  Value batch, heads, keyHeads, queryLength, keyLength, queryLengthI32, keyLengthI32;
  Value b, h, hkv, firstQuery, query;
};

struct AttnToTile : tilewright::impl::ConvertAttnToTileBase<AttnToTile> {
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
      ForwardLowering(op, schedule).lower();
    }
  }
};

} // namespace
