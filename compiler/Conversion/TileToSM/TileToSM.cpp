//===- TileToSM.cpp - Programs on tiles for one multiprocessor ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tile program says in which order; here it is decided who does it. Loads that
// feed products go to producers, which walk the program's loops for nothing but
// these loads; everything else is the consumers', each warpgroup of which does 64
// of the block's rows: all ops of the tile dialect keep rows apart, so the rows
// of a tile may be anybody's.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/Passes.h"
#include "compiler/Conversion/TileToSM/Plan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/TypeSwitch.h"

namespace tilewright {
#define GEN_PASS_DEF_CONVERTTILETOSM
#include "compiler/Conversion/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace tilewright;
using namespace tilewright::tile_to_sm;

namespace {

/// Neither a tile nor anything that writes: every role may compute it for itself.
bool isScalar(Operation &op) {
  auto isTensor = [](Type type) { return isa<RankedTensorType>(type); };
  return op.getNumRegions() == 0 && (isMemoryEffectFree(&op) || isa<memref::LoadOp>(op)) &&
         llvm::none_of(op.getOperandTypes(), isTensor) &&
         llvm::none_of(op.getResultTypes(), isTensor);
}

/// What one role does of a program: its own copies of loops and scalars.
class RoleEmitter {
public:
  RoleEmitter(Plan &plan, OpBuilder at, const IRMapping &outer)
      : plan(plan), b(plan.grid.getLoc(), at), map(outer) {}
  virtual ~RoleEmitter() = default;

  LogicalResult emitBlock(Block &block) {
    for (Operation &op : block.without_terminator()) {
      b.setLoc(op.getLoc());
      if (isScalar(op)) {
        // The block's own scalars stand in front of the roles.
        if (&block != plan.forall.getBody())
          b.clone(op, map);
      } else if (failed(emitOp(op))) {
        return failure();
      }
    }
    return success();
  }

protected:
  virtual LogicalResult emitOp(Operation &op) = 0;

  Plan &plan;
  ImplicitLocOpBuilder b;
  IRMapping map;
};

//===----------------------------------------------------------------------===//
// Producers
//===----------------------------------------------------------------------===//

class ProducerEmitter : public RoleEmitter {
public:
  ProducerEmitter(Plan &plan, OpBuilder at, const IRMapping &outer, StringRef producer)
      : RoleEmitter(plan, at, outer), producer(producer) {}

private:
  LogicalResult emitOp(Operation &op) override {
    if (auto load = dyn_cast<tile::LoadOp>(op)) {
      const RingPlan &ring = plan.ringOf(load);
      if (ring.producer != producer)
        return success();
      auto stage = sm::AcquireOp::create(b, ring.type.getTile(), ring.ring);
      SmallVector<Value> indices =
          llvm::map_to_vector(load.getIndices(), [&](Value v) { return map.lookupOrDefault(v); });
      sm::CopyOp::create(b, load.getSource(), indices, stage);
      sm::CommitOp::create(b, stage);
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      bool loads = false;
      loop.walk([&](tile::LoadOp load) { loads |= plan.ringOf(load).producer == producer; });
      if (!loads)
        return success();
      auto copy = scf::ForOp::create(b, map.lookupOrDefault(loop.getLowerBound()),
                                     map.lookupOrDefault(loop.getUpperBound()),
                                     map.lookupOrDefault(loop.getStep()));
      map.map(loop.getInductionVar(), copy.getInductionVar());
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(copy.getBody());
      return emitBlock(*loop.getBody());
    }
    return success();
  }

  StringRef producer;
};

//===----------------------------------------------------------------------===//
// Consumers
//===----------------------------------------------------------------------===//

class ConsumerEmitter : public RoleEmitter {
public:
  ConsumerEmitter(Plan &plan, OpBuilder at, const IRMapping &outer, Value firstRow)
      : RoleEmitter(plan, at, outer), firstRow(firstRow),
        accumulator(sm::AccumulatorAttr::get(b.getContext())) {}

private:
  LogicalResult emitOp(Operation &op) override {
    if (failed(emitOne(op)))
      return failure();
    return releaseAfter(op);
  }

  /// 64 rows of a tile, in this layout.
  RankedTensorType rows(Type type, Attribute layout) {
    auto tile = cast<RankedTensorType>(type);
    SmallVector<int64_t> shape(tile.getShape());
    shape[0] = sm::productRows;
    if (shape.size() == 2)
      shape[1] = sm::paddedColumns(shape[1]);
    return RankedTensorType::get(shape, tile.getElementType(), layout);
  }

  Value value(Value of) {
    if (Value known = map.lookupOrNull(of))
      return known;
    // Constants may stand outside of the grid; registers are filled where they are used.
    auto constant = of.getDefiningOp<arith::ConstantOp>();
    if (!isa<RankedTensorType>(of.getType()) || !constant)
      return of;
    return constantTile(constant);
  }

  Value constantTile(arith::ConstantOp op) {
    auto splat = cast<SplatElementsAttr>(op.getValue());
    auto type = rows(op.getType(), cast<RankedTensorType>(op.getType()).getRank() == 2
                                       ? Attribute(accumulator)
                                       : sm::RowAttr::get(b.getContext()));
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(type, splat.getSplatValue<Attribute>()));
  }

  Value fromFirstRow(Value index) { return arith::AddIOp::create(b, index, firstRow); }

  LogicalResult emitOne(Operation &op) {
    return TypeSwitch<Operation *, LogicalResult>(&op)
        .Case([&](tile::LoadOp load) {
          // A stage is waited for where it is first used; the queries' once for all loops.
          if (load->getBlock() == plan.forall.getBody())
            wait(load);
          return success();
        })
        .Case([&](scf::ForOp loop) { return emitFor(loop); })
        .Case([&](tile::MmaOp mma) { return emitMma(mma); })
        .Case([&](arith::ConstantOp constant) {
          map.map(constant.getResult(), constantTile(constant));
          return success();
        })
        .Case([&](tile::CoordOp coord) {
          Value first = value(coord.getFirst());
          map.map(coord.getResult(),
                  sm::CoordOp::create(b, rows(coord.getType(), accumulator),
                                      coord.getDim() == 0 ? fromFirstRow(first) : first,
                                      coord.getDim()));
          return success();
        })
        .Case([&](tile::BroadcastOp broadcast) {
          if (cast<RankedTensorType>(broadcast.getType()).getRank() != 2)
            return LogicalResult(broadcast.emitOpError("gives a row vector; not on this target"));
          map.map(broadcast.getResult(),
                  sm::BroadcastOp::create(b, rows(broadcast.getType(), accumulator),
                                          value(broadcast.getSource())));
          return success();
        })
        .Case([&](tile::GatherOp gather) {
          map.map(gather.getResult(),
                  sm::GatherOp::create(b, rows(gather.getType(), accumulator), gather.getSource(),
                                       values(gather.getIndices())));
          return success();
        })
        .Case([&](tile::SoftmaxInitOp init) {
          auto copy = sm::SoftmaxInitOp::create(
              b, rows(init.getReference().getType(), sm::RowAttr::get(b.getContext())),
              rows(init.getSum().getType(), sm::PartialRowAttr::get(b.getContext())));
          map.map(init.getResults(), copy.getResults());
          return success();
        })
        .Case([&](tile::SoftmaxStepOp step) {
          Value scores = value(step.getScores()), reference = value(step.getReference()),
                sum = value(step.getSum());
          auto copy =
              sm::SoftmaxStepOp::create(b, scores.getType(), reference.getType(), sum.getType(),
                                        reference.getType(), scores, reference, sum);
          map.map(step.getResults(), copy.getResults());
          return success();
        })
        .Case([&](tile::RescaleOp rescale) {
          Value output = value(rescale.getAccumulator());
          map.map(rescale.getResult(),
                  sm::RescaleOp::create(b, output.getType(), output, value(rescale.getAlpha())));
          return success();
        })
        .Case([&](tile::SoftmaxFinalizeOp finalize) {
          Value output = value(finalize.getAccumulator()),
                reference = value(finalize.getReference());
          auto copy = sm::SoftmaxFinalizeOp::create(b, output.getType(), reference.getType(),
                                                    output, reference, value(finalize.getSum()));
          map.map(finalize.getResults(), copy.getResults());
          return success();
        })
        .Case([&](tile::StoreOp store) {
          SmallVector<Value> indices = values(store.getIndices());
          indices.back() = fromFirstRow(indices.back());
          sm::StoreOp::create(b, value(store.getValue()), store.getTarget(), indices);
          return success();
        })
        .Default([&](Operation *) { return emitElementwise(op); });
  }

  SmallVector<Value> values(ValueRange of) {
    return llvm::map_to_vector(of, [&](Value each) { return value(each); });
  }

  void wait(tile::LoadOp load) {
    const RingPlan &ring = plan.ringOf(load);
    map.map(load.getResult(), sm::WaitOp::create(b, ring.type.getTile(), ring.ring).getStage());
  }

  /// Releases the stages whose last use was in `op`.
  LogicalResult releaseAfter(Operation &op) {
    for (tile::LoadOp load : op.getBlock()->getOps<tile::LoadOp>()) {
      Operation *last = nullptr;
      for (Operation *user : load.getResult().getUsers()) {
        Operation *here = op.getBlock()->findAncestorOpInBlock(*user);
        if (!last || last->isBeforeInBlock(here))
          last = here;
      }
      if (last == &op)
        sm::ReleaseOp::create(b, map.lookup(load.getResult()), /*after=*/Value());
    }
    return success();
  }

  LogicalResult emitFor(scf::ForOp loop) {
    auto copy = scf::ForOp::create(b, value(loop.getLowerBound()), value(loop.getUpperBound()),
                                   value(loop.getStep()), values(loop.getInitArgs()));
    map.map(loop.getInductionVar(), copy.getInductionVar());
    map.map(loop.getRegionIterArgs(), copy.getRegionIterArgs());
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(copy.getBody());
      if (failed(emitBlock(*loop.getBody())))
        return failure();
      if (!loop.getInitArgs().empty())
        scf::YieldOp::create(b, values(loop.getBody()->getTerminator()->getOperands()));
    }
    map.map(loop.getResults(), copy.getResults());
    return success();
  }

  LogicalResult emitMma(tile::MmaOp mma) {
    auto right = mma.getRhs().getDefiningOp<tile::LoadOp>();
    if (!map.contains(right.getResult()))
      wait(right);
    auto result =
        sm::InFlightType::get(b.getContext(), rows(mma.getResult().getType(), accumulator));
    Value left, row;
    if (auto load = mma.getLhs().getDefiningOp<tile::LoadOp>()) {
      left = map.lookup(load.getResult());
      row = firstRow;
    } else {
      Value weights = value(mma.getLhs());
      auto type = RankedTensorType::get(cast<RankedTensorType>(weights.getType()).getShape(),
                                        right.getResult().getType().getElementType(),
                                        sm::OperandAttr::get(b.getContext()));
      left = sm::PackOp::create(b, type, weights);
    }
    auto product = sm::MmaOp::create(b, result, left, row, map.lookup(right.getResult()),
                                     mma.getAccumulator() ? value(mma.getAccumulator()) : Value(),
                                     mma.getTransposeRhs());
    map.map(
        mma.getResult(),
        sm::AwaitOp::create(b, result.getTensor(), TypeRange(), product, ValueRange()).getResult());
    return success();
  }

  LogicalResult emitElementwise(Operation &op) {
    if (op.getNumRegions() != 0 || !OpTrait::hasElementwiseMappableTraits(&op))
      return op.emitOpError() << "has no form on this target";
    SmallVector<Value> operands = values(op.getOperands());
    Attribute layout;
    for (Value operand : operands)
      if (auto type = dyn_cast<RankedTensorType>(operand.getType()))
        layout = type.getEncoding();
    auto types = llvm::map_to_vector(op.getResultTypes(),
                                     [&](Type type) -> Type { return rows(type, layout); });
    Operation *copy = b.insert(Operation::create(op.getLoc(), op.getName(), types, operands,
                                                 op.getDiscardableAttrDictionary(),
                                                 op.getPropertiesStorage(), {}, 0));
    map.map(op.getResults(), copy->getResults());
    return success();
  }

  Value firstRow; // of this warpgroup in the block
  sm::AccumulatorAttr accumulator;
};

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

struct ConvertTileToSM : tilewright::impl::ConvertTileToSMBase<ConvertTileToSM> {
  using ConvertTileToSMBase::ConvertTileToSMBase;

  void runOnOperation() override {
    SmallVector<scf::ForallOp> programs;
    getOperation().walk([&](scf::ForallOp forall) { programs.push_back(forall); });
    for (scf::ForallOp program : programs)
      if (failed(convert(program)))
        return signalPassFailure();
  }

  /// Where a score function does not look at the score nobody needs the keys. A load that stays
  /// has a use.
  static void eraseUnused(scf::ForallOp forall) {
    SmallVector<Operation *> candidates;
    forall.walk([&](Operation *op) { candidates.push_back(op); });
    for (Operation *op : llvm::reverse(candidates))
      if (isa<tile::LoadOp, tile::MmaOp>(op) && isOpTriviallyDead(op))
        op->erase();
  }

  LogicalResult convert(scf::ForallOp forall) {
    eraseUnused(forall);
    FailureOr<Plan> plan = makePlan(forall, stages);
    if (failed(plan))
      return failure();
    ImplicitLocOpBuilder b(forall.getLoc(), forall);
    auto bounds =
        llvm::map_to_vector(forall.getMixedUpperBound(), [&](OpFoldResult bound) -> Value {
          if (auto value = dyn_cast<Value>(bound))
            return value;
          return arith::ConstantIndexOp::create(b,
                                                cast<IntegerAttr>(cast<Attribute>(bound)).getInt());
        });
    plan->grid = sm::GridOp::create(b, bounds, IntegerAttr());
    Block &body = plan->grid.getBody().emplaceBlock();
    IRMapping map;
    for (Value position : forall.getInductionVars())
      map.map(position, body.addArgument(b.getIndexType(), position.getLoc()));
    b.setInsertionPointToStart(&body);
    for (Operation &op : forall.getBody()->without_terminator())
      if (isScalar(op))
        b.clone(op, map);
    for (RingPlan &ring : plan->rings)
      ring.ring = sm::CreateRingOp::create(
          b, ring.type, ring.name, static_cast<uint64_t>(plan->warpgroups * sm::warpgroupWarps),
          IntegerAttr(), IntegerAttr());

    // As launched; sm-plan-registers moves them to where they are needed.
    const int64_t registers = sm::registersAtLaunch(plan->warpgroups + 1);
    for (StringRef name : plan->producers) {
      auto role = sm::ProducerOp::create(b, name, static_cast<uint64_t>(registers));
      role.getBody().emplaceBlock();
      ProducerEmitter emitter(*plan, OpBuilder::atBlockBegin(&role.getBody().front()), map, name);
      if (failed(emitter.emitBlock(*forall.getBody())))
        return failure();
    }
    auto role = sm::ConsumersOp::create(b, "softmax", static_cast<uint64_t>(plan->warpgroups),
                                        static_cast<uint64_t>(registers));
    Block &consumers = role.getBody().emplaceBlock();
    Value number = consumers.addArgument(b.getIndexType(), b.getLoc());
    b.setInsertionPointToStart(&consumers);
    Value rows = arith::ConstantIndexOp::create(b, sm::productRows);
    Value firstRow = arith::MulIOp::create(b, number, rows);
    ConsumerEmitter emitter(*plan, OpBuilder::atBlockEnd(&consumers), map, firstRow);
    if (failed(emitter.emitBlock(*forall.getBody())))
      return failure();
    forall.erase();
    return success();
  }
};
} // namespace
