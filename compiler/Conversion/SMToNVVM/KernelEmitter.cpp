//===- KernelEmitter.cpp - One kernel from one sm function ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/SMToNVVM/KernelEmitter.h"
#include "compiler/Conversion/SMToNVVM/GridFormula.h"
#include "compiler/Conversion/SMToNVVM/Mathematics.h"
#include "compiler/Conversion/SMToNVVM/SharedTiles.h"
#include "compiler/Conversion/SMToNVVM/Softmax.h"
#include "compiler/Conversion/SMToNVVM/ThreadCopy.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::sm90;

/// How the frontend names arguments (attn::nameAttribute); this stage does not know its dialect.
static constexpr StringLiteral argumentNameAttribute = "attn.name";

KernelEmitter::KernelEmitter(func::FuncOp source, LLVM::LLVMFuncOp kernel, StringRef sharedSymbol)
    : source(source), kernel(kernel),
      b(source.getLoc(), OpBuilder::atBlockEnd(&kernel.getBody().front())),
      parameters(source, kernel), sharedSymbol(sharedSymbol) {}

LogicalResult KernelEmitter::emit() {
  for (BlockArgument argument : source.getArguments()) {
    Type type = argument.getType();
    if (!isa<MemRefType>(type) && !type.isF32() && !type.isInteger(32))
      return source.emitError() << "argument " << argument.getArgNumber() << " is " << type
                                << "; kernels take tensors, f32 and i32";
  }
  thread = threadIndex(b);
  place = Place::of(b, thread);
  if (failed(emitBlock(source.getBody().front())))
    return failure();
  LLVM::ReturnOp::create(b, ValueRange());
  return describeLaunch();
}

LogicalResult KernelEmitter::describeLaunch() {
  auto grid = *source.getOps<sm::GridOp>().begin();
  FailureOr<GridFormula> bounds = gridFormula(grid);
  if (failed(bounds))
    return failure();
  SmallVector<Attribute> names;
  for (unsigned i = 0; i < source.getNumArguments(); ++i) {
    auto name = source.getArgAttrOfType<StringAttr>(i, argumentNameAttribute);
    names.push_back(name ? name : b.getStringAttr(""));
  }
  SmallVector<Attribute> places;
  for (sm::CreateRingOp ring : grid.getBody().getOps<sm::CreateRingOp>())
    places.push_back(placeOf(ring));
  auto launch = sm::LaunchAttr::getChecked(
      [&] { return grid.emitError(); }, source.getContext(), source.getFunctionType(),
      b.getArrayAttr(names), bounds->bounds, b.getArrayAttr(bounds->extents), parameters.finish(),
      threads, static_cast<int64_t>(grid.getSharedMemory().value_or(0)),
      places.empty() ? ArrayAttr() : b.getArrayAttr(places));
  if (!launch)
    return failure();
  kernel->setAttr(sm::launchAttribute, launch);
  return success();
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value KernelEmitter::value(Value of) {
  if (Value known = map.lookupOrNull(of))
    return known;
  if (parameters.isArgument(of) && !isa<MemRefType>(of.getType()))
    return parameters.scalar(of);
  return {};
}

SmallVector<Value> KernelEmitter::values(ValueRange of) {
  return llvm::map_to_vector(of, [&](Value each) { return value(each); });
}

Value KernelEmitter::warpIndex() {
  return fromFirstLane(b, arith::ShRUIOp::create(b, thread, constant(b, 5)));
}

Value KernelEmitter::asI32(Value index) {
  return arith::IndexCastOp::create(b, b.getI32Type(), index);
}
Value KernelEmitter::asI64(Value index) {
  return arith::IndexCastOp::create(b, b.getI64Type(), index);
}
Value KernelEmitter::asIndex(Value integer) {
  return arith::IndexCastOp::create(b, b.getIndexType(), integer);
}

Value KernelEmitter::elementAddress(Value tensor, ValueRange indices) {
  Value offset;
  for (auto [dim, index] : llvm::enumerate(indices)) {
    Value part =
        arith::MulIOp::create(b, index, parameters.stride(tensor, static_cast<int64_t>(dim)));
    offset = offset ? arith::AddIOp::create(b, offset, part) : part;
  }
  Type element = cast<MemRefType>(tensor.getType()).getElementType();
  // A bool of a tensor is a byte.
  if (element.isInteger(1))
    element = b.getI8Type();
  Value base = parameters.address(tensor);
  return LLVM::GEPOp::create(b, base.getType(), element, base, ArrayRef<LLVM::GEPArg>{offset});
}

Value KernelEmitter::loadElement(Value tensor, ValueRange indices) {
  Type type = cast<MemRefType>(tensor.getType()).getElementType();
  Value address = elementAddress(tensor, indices);
  if (!type.isInteger(1))
    return LLVM::LoadOp::create(b, type, address);
  return arith::TruncIOp::create(b, type, LLVM::LoadOp::create(b, b.getI8Type(), address));
}

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

LogicalResult KernelEmitter::emitBlock(Block &block) {
  for (Operation &op : block) {
    if (op.hasTrait<OpTrait::IsTerminator>())
      continue;
    b.setLoc(op.getLoc());
    if (failed(emitOp(op)))
      return failure();
  }
  return success();
}

LogicalResult KernelEmitter::emitUnder(Value condition, function_ref<LogicalResult()> body) {
  auto branch = scf::IfOp::create(b, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  return body();
}

static Value equals(LocBuilder &b, Value x, int64_t y) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, x, constant(b, y));
}

LogicalResult KernelEmitter::emitGrid(sm::GridOp grid) {
  // Extents are below 2^31 and so is the number of blocks: 32-bit divisions are short ones.
  SmallVector<Value> bounds = values(grid.getBounds());
  Value rest = blockIndex(b);
  for (size_t dim = bounds.size(); dim-- > 0;) {
    Value position = rest;
    if (dim > 0) {
      Value bound = asI32(bounds[dim]);
      position = arith::RemUIOp::create(b, rest, bound);
      rest = arith::DivUIOp::create(b, rest, bound);
    }
    map.map(grid.getBody().getArgument(static_cast<unsigned>(dim)), asIndex(position));
  }
  rings.emplace(sharedMemoryBase(b, sharedSymbol));
  SmallVector<sm::CreateRingOp> created(grid.getBody().getOps<sm::CreateRingOp>());
  for (sm::CreateRingOp ring : created)
    if (!ring.getOffset() || !ring.getBarriers())
      return ring.emitError() << "ring has no place in shared memory yet; sm-plan-shared-memory "
                                 "gives it one";
  (void)emitUnder(equals(b, thread, 0), [&] {
    for (sm::CreateRingOp ring : created)
      rings->initialise(b, ring);
    barrierInitFence(b);
    return success();
  });
  blockBarrier(b);
  if (failed(emitBlock(grid.getBody().front())))
    return failure();
  return emitRoles(grid);
}

LogicalResult KernelEmitter::emitRoles(sm::GridOp grid) {
  SmallVector<sm::ProducerOp> producers(grid.getBody().getOps<sm::ProducerOp>());
  SmallVector<sm::ConsumersOp> consumers(grid.getBody().getOps<sm::ConsumersOp>());
  int64_t warpgroups = producers.empty() ? 0 : 1;
  for (sm::ConsumersOp role : consumers)
    warpgroups += role.getWarpgroups();
  threads = warpgroups * sm::warpgroupThreads;
  const int64_t atLaunch = sm::registersAtLaunch(warpgroups);
  auto setBudget = [&](int64_t registers) {
    if (registers != atLaunch)
      setRegisters(b, registers, /*increase=*/registers > atLaunch);
  };

  Value warpgroup = fromFirstLane(b, arith::ShRUIOp::create(b, thread, constant(b, 7)));
  if (!producers.empty() && failed(emitUnder(equals(b, warpgroup, 0), [&]() -> LogicalResult {
        setBudget(producers[0].getRegisters());
        for (auto [number, role] : llvm::enumerate(producers)) {
          wholeWarp = false;
          role.walk([&](sm::CopyOp copy) { wholeWarp |= copy.isByThreads(); });
          const auto warp = static_cast<int64_t>(number);
          Value isMember = wholeWarp ? equals(b, warpIndex(), warp) : equals(b, thread, warp * 32);
          if (failed(emitUnder(isMember, [&] { return emitRole(role); })))
            return failure();
        }
        wholeWarp = false;
        return success();
      })))
    return failure();

  int64_t first = producers.empty() ? 0 : 1;
  for (sm::ConsumersOp role : consumers) {
    Value number = arith::SubIOp::create(b, warpgroup, constant(b, first));
    Value isMember = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, number,
                                           constant(b, static_cast<int64_t>(role.getWarpgroups())));
    if (failed(emitUnder(isMember, [&] {
          setBudget(role.getRegisters());
          map.map(role.getBody().getArgument(0), asIndex(number));
          return emitRole(role);
        })))
      return failure();
    first += role.getWarpgroups();
  }

  kernel->setAttr("nvvm.kernel", b.getUnitAttr());
  kernel->setAttr("nvvm.reqntid", b.getDenseI32ArrayAttr({static_cast<int32_t>(threads), 1, 1}));
  // With this and the exact number of threads ptxas knows the registers at launch, without which it
  // ignores setmaxnreg.
  kernel->setAttr("nvvm.minctasm", b.getI32IntegerAttr(1));
  return success();
}

LogicalResult KernelEmitter::emitRole(Operation *role) {
  rings->enterRole(b, role);
  return emitBlock(role->getRegion(0).front());
}

LogicalResult KernelEmitter::emitFor(scf::ForOp loop) {
  SmallVector<sm::CreateRingOp> moved;
  if (rings)
    moved = rings->movedIn(loop);
  SmallVector<Value> initial = values(loop.getInitArgs());
  const size_t own = initial.size();
  if (rings)
    llvm::append_range(initial, rings->positions(moved));
  auto copy = scf::ForOp::create(b, value(loop.getLowerBound()), value(loop.getUpperBound()),
                                 value(loop.getStep()), initial);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(copy.getBody());
    map.map(loop.getInductionVar(), copy.getInductionVar());
    for (size_t i = 0; i < own; ++i)
      map.map(loop.getRegionIterArgs()[i], copy.getRegionIterArgs()[i]);
    if (rings)
      rings->setPositions(moved, ValueRange(copy.getRegionIterArgs()).drop_front(own));
    if (failed(emitBlock(*loop.getBody())))
      return failure();
    SmallVector<Value> next = values(loop.getBody()->getTerminator()->getOperands());
    if (rings)
      llvm::append_range(next, rings->positions(moved));
    if (copy.getBody()->mightHaveTerminator())
      copy.getBody()->getTerminator()->erase();
    scf::YieldOp::create(b, next);
  }
  for (size_t i = 0; i < own; ++i)
    map.map(loop.getResult(static_cast<unsigned>(i)), copy.getResult(static_cast<unsigned>(i)));
  if (rings)
    rings->setPositions(moved, copy.getResults().drop_front(own));
  return success();
}

LogicalResult KernelEmitter::emitIf(scf::IfOp branch) {
  WalkResult misplaced = branch.walk([](Operation *op) {
    return isa<sm::AcquireOp, sm::WaitOp, sm::MmaOp>(op)
               ? (op->emitOpError() << "cannot be under a condition", WalkResult::interrupt())
               : WalkResult::advance();
  });
  if (misplaced.wasInterrupted())
    return failure();
  auto types = llvm::map_to_vector(branch.getResultTypes(), fragmentType);
  auto copy =
      scf::IfOp::create(b, types, value(branch.getCondition()),
                        /*addThenBlock=*/true, /*addElseBlock=*/branch.elseBlock() != nullptr);
  for (auto [from, to] : {std::pair{branch.thenBlock(), copy.thenBlock()},
                          std::pair{branch.elseBlock(), copy.elseBlock()}}) {
    if (!from)
      continue;
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(to);
    if (failed(emitBlock(*from)))
      return failure();
    scf::YieldOp::create(b, values(from->getTerminator()->getOperands()));
  }
  map.map(branch.getResults(), copy.getResults());
  return success();
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

LogicalResult KernelEmitter::emitOp(Operation &op) {
  return TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](sm::GridOp grid) { return emitGrid(grid); })
      // Roles are emitted behind the rest of the grid, rings where its text begins.
      .Case<sm::ProducerOp, sm::ConsumersOp, sm::CreateRingOp>([](auto) { return success(); })
      .Case([&](scf::ForOp loop) { return emitFor(loop); })
      .Case([&](scf::IfOp branch) { return emitIf(branch); })
      .Case([&](memref::DimOp) { return emitDim(op); })
      .Case([&](sm::AcquireOp take) {
        map.map(take.getStage(), rings->acquire(b, sm::ringOf(take.getStage())));
        return success();
      })
      .Case([&](sm::WaitOp take) {
        map.map(take.getStage(), rings->wait(b, sm::ringOf(take.getStage())));
        return success();
      })
      .Case([&](sm::CommitOp give) { return emitCommit(give), success(); })
      .Case([&](sm::ReleaseOp give) {
        Value after;
        if (give.getAfter())
          for (Value part : elements(b, value(give.getAfter())))
            after = after ? arith::AddFOp::create(b, after, part).getResult() : part;
        barrierArriveFromFirstLane(
            b, rings->emptyBarrier(b, sm::ringOf(give.getStage()), value(give.getStage())),
            place.lane, after);
        return success();
      })
      .Case([&](sm::CopyOp copy) { return emitCopy(copy); })
      .Case([&](sm::MmaOp mma) { return emitMma(mma), success(); })
      .Case([&](sm::AwaitOp await) { return emitAwait(await), success(); })
      .Case([&](sm::PackOp pack) {
        map.map(pack.getResult(), sm90::pack(b, value(pack.getSource()),
                                             pack.getResult().getType().getElementType()));
        return success();
      })
      .Case([&](sm::CoordOp coord) {
        auto type = cast<VectorType>(fragmentType(coord.getResult().getType()));
        map.map(coord.getResult(), coordinates(b, place, type, asI32(value(coord.getFirst())),
                                               static_cast<int64_t>(coord.getDim())));
        return success();
      })
      .Case([&](sm::BroadcastOp broadcast) {
        auto type = cast<VectorType>(fragmentType(broadcast.getResult().getType()));
        map.map(broadcast.getResult(), sm90::broadcast(b, value(broadcast.getSource()), type));
        return success();
      })
      .Case([&](sm::GatherOp gather) { return emitGather(gather); })
      .Case([&](sm::SoftmaxInitOp init) {
        SoftmaxState state = softmaxInit(b);
        map.map(init.getReference(), state.reference);
        map.map(init.getSum(), state.sum);
        return success();
      })
      .Case([&](sm::SoftmaxStepOp step) {
        SoftmaxStep next = softmaxStep(b, value(step.getScores()),
                                       {value(step.getReference()), value(step.getSum())});
        map.map(step.getWeights(), next.weights);
        map.map(step.getNewReference(), next.state.reference);
        map.map(step.getNewSum(), next.state.sum);
        map.map(step.getAlpha(), next.alpha);
        return success();
      })
      .Case([&](sm::RescaleOp rescale) {
        map.map(rescale.getResult(),
                sm90::rescale(b, value(rescale.getAccumulator()), value(rescale.getAlpha())));
        return success();
      })
      .Case([&](sm::SoftmaxFinalizeOp finalize) {
        SoftmaxResult result =
            softmaxFinalize(b, value(finalize.getAccumulator()),
                            {value(finalize.getReference()), value(finalize.getSum())});
        map.map(finalize.getOut(), result.out);
        map.map(finalize.getLse(), result.lse);
        return success();
      })
      .Case([&](sm::StoreOp store) { return emitStore(store); })
      .Case([&](memref::LoadOp load) { return emitLoad(load); })
      .Case([&](arith::ConstantOp constant) { return emitConstant(constant); })
      .Default([&](Operation *) { return emitElementwise(op); });
}

LogicalResult KernelEmitter::emitDim(Operation &op) {
  auto dim = cast<memref::DimOp>(op);
  std::optional<int64_t> index = dim.getConstantIndex();
  if (!index || !parameters.isArgument(dim.getSource()))
    return dim.emitOpError() << "must be a fixed dimension of one of the function's arguments";
  map.map(dim.getResult(), asIndex(parameters.extent(dim.getSource(), *index)));
  return success();
}

LogicalResult KernelEmitter::emitLoad(memref::LoadOp op) {
  if (!parameters.isArgument(op.getMemRef()))
    return op.emitOpError() << "reads a tensor that is no argument of the function";
  SmallVector<Value> indices;
  for (Value index : op.getIndices())
    indices.push_back(asI64(value(index)));
  map.map(op.getResult(), loadElement(op.getMemRef(), indices));
  return success();
}

LogicalResult KernelEmitter::emitCopy(sm::CopyOp op) {
  if (!parameters.isArgument(op.getSource()))
    return op.emitOpError() << "copies from a tensor that is no argument of the function";
  sm::SharedType tile = op.getStage().getType();
  sm::CreateRingOp ring = sm::ringOf(op.getStage());
  Value stage = value(op.getStage());
  Value address = rings->tile(b, ring, stage);
  if (op.isByThreads()) {
    SmallVector<Value> indices =
        llvm::map_to_vector(op.getIndices(), [&](Value index) { return asI64(value(index)); });
    copyByThreads(b, parameters, op.getSource(), indices, tile, address, place.lane);
    return success();
  }
  SmallVector<Value> coordinates;
  for (Value index : llvm::reverse(op.getIndices()))
    coordinates.push_back(asI32(value(index)));
  Value map = parameters.tensorMap(op.getSource(), tile.getRows());
  auto fill = [&] {
    fillTile(b, tile, address, map, rings->fullBarrier(b, ring, stage), coordinates);
    return success();
  };
  return wholeWarp ? emitUnder(equals(b, place.lane, 0), fill) : fill();
}

void KernelEmitter::emitCommit(sm::CommitOp op) {
  Value barrier = rings->fullBarrier(b, sm::ringOf(op.getStage()), value(op.getStage()));
  if (!wholeWarp)
    return barrierArrive(b, barrier);
  sharedProxyFence(b);
  warpBarrier(b);
  barrierArriveFromFirstLane(b, barrier, place.lane, /*after=*/Value());
}

void KernelEmitter::emitMma(sm::MmaOp op) {
  LeftOperand lhs{};
  SmallVector<Value> fenced;
  if (op.getAccumulator())
    fenced = elements(b, value(op.getAccumulator()));
  const size_t accumulators = fenced.size();
  if (auto tile = dyn_cast<sm::SharedType>(op.getLhs().getType())) {
    lhs.tile = tile;
    lhs.depth = tile.getColumns();
    lhs.address = rings->tile(b, sm::ringOf(op.getLhs()), value(op.getLhs()));
    lhs.row = asI32(value(op.getRow()));
  } else {
    lhs.depth = cast<RankedTensorType>(op.getLhs().getType()).getDimSize(1);
    llvm::append_range(fenced, elements(b, value(op.getLhs())));
  }
  fenced = productFence(b, fenced);
  llvm::append_range(lhs.registers, ArrayRef(fenced).drop_front(accumulators));

  Value rhs = rings->tile(b, sm::ringOf(op.getRhs()), value(op.getRhs()));
  SmallVector<Value> result = issueProduct(b, lhs, op.getRhs().getType(), rhs, op.getTransposeRhs(),
                                           ArrayRef(fenced).take_front(accumulators));
  commitProducts(b);
  map.map(op.getResult(), fromElements(b, result));
}

void KernelEmitter::emitAwait(sm::AwaitOp op) {
  // Products complete in order: those started later may stay in flight.
  int64_t later = 0;
  for (Operation *next = op.getProduct().getDefiningOp()->getNextNode(); next != op;
       next = next->getNextNode())
    later += isa<sm::MmaOp>(next);
  SmallVector<Value> registers = elements(b, value(op.getProduct()));
  SmallVector<size_t> sizes = {registers.size()};
  for (Value held : op.getHeld()) {
    SmallVector<Value> more = elements(b, value(held));
    sizes.push_back(more.size());
    llvm::append_range(registers, more);
  }
  SmallVector<Value> ready = waitForProducts(b, later, registers);
  ArrayRef<Value> rest = ready;
  for (auto [result, size] : llvm::zip(op.getResults(), sizes)) {
    map.map(result, fromElements(b, rest.take_front(size)));
    rest = rest.drop_front(size);
  }
}

LogicalResult KernelEmitter::emitGather(sm::GatherOp op) {
  Value source = op.getSource();
  if (!parameters.isArgument(source))
    return op.emitOpError() << "reads a tensor that is no argument of the function";
  SmallVector<SmallVector<Value>> indices;
  for (auto [dim, index] : llvm::enumerate(op.getIndices())) {
    // Indices have 32 bits, so an extent beyond that clamps nothing; 64-bit registers are dear.
    Value extent = parameters.extent(source, static_cast<int64_t>(dim));
    Value most = arith::MinSIOp::create(
        b, extent, arith::ConstantIntOp::create(b, std::numeric_limits<int32_t>::max(), 64));
    Value last =
        arith::SubIOp::create(b, arith::TruncIOp::create(b, b.getI32Type(), most), constant(b, 1));
    SmallVector<Value> clamped;
    for (Value element : elements(b, value(index))) {
      Value inside =
          arith::MinSIOp::create(b, arith::MaxSIOp::create(b, element, constant(b, 0)), last);
      clamped.push_back(arith::ExtUIOp::create(b, b.getI64Type(), inside));
    }
    indices.push_back(std::move(clamped));
  }
  auto type = cast<VectorType>(fragmentType(op.getResult().getType()));
  SmallVector<Value> loaded;
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    SmallVector<Value> position;
    for (const SmallVector<Value> &index : indices)
      position.push_back(index[static_cast<size_t>(i)]);
    loaded.push_back(loadElement(source, position));
  }
  map.map(op.getResult(), fromElements(b, loaded));
  return success();
}

LogicalResult KernelEmitter::emitStore(sm::StoreOp op) {
  Value target = op.getTarget();
  if (!parameters.isArgument(target))
    return op.emitOpError() << "writes to a tensor that is no argument of the function";
  const bool isTile = cast<RankedTensorType>(op.getValue().getType()).getRank() == 2;
  const int64_t rowDim = cast<MemRefType>(target.getType()).getRank() - (isTile ? 2 : 1);
  SmallVector<Value> stored = elements(b, value(op.getValue()));
  SmallVector<Value> indices;
  for (Value index : op.getIndices())
    indices.push_back(asI64(value(index)));
  Value extent = parameters.extent(target, rowDim);
  Value row = arith::ExtUIOp::create(b, b.getI64Type(), firstRow(b, place));
  const Value first = arith::AddIOp::create(b, indices.back(), row);

  for (int64_t part = 0; part < 2; ++part) {
    Value eight = arith::ConstantIntOp::create(b, 8 * part, 64);
    indices.back() = arith::AddIOp::create(b, first, eight);
    Value writes = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, indices.back(), extent);
    if (!isTile)
      writes = arith::AndIOp::create(b, writes, equals(b, place.inGroup, 0));
    (void)emitUnder(writes, [&] {
      if (!isTile) {
        LLVM::StoreOp::create(b, stored[static_cast<size_t>(part)],
                              elementAddress(target, indices));
        return success();
      }
      emitRow(target, indices, stored, part);
      return success();
    });
  }
  return success();
}

void KernelEmitter::emitRow(Value target, ArrayRef<Value> indices, ArrayRef<Value> tile,
                            int64_t part) {
  const int64_t width = cast<MemRefType>(target.getType()).getShape().back();
  Value column = firstColumn(b, place);
  SmallVector<Value> position(indices);
  position.push_back(arith::ExtUIOp::create(b, b.getI64Type(), column));
  Value address = elementAddress(target, position);
  auto store = [&](Value stored, int64_t offset) {
    Type element = tile.front().getType();
    Value at = LLVM::GEPOp::create(b, address.getType(), element, address,
                                   ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)});
    // Columns by which the tile is wider than the tensor are not written.
    const bool mayEnd = (offset / 8 + 1) * 8 > width;
    auto write = [&] { return LLVM::StoreOp::create(b, stored, at), success(); };
    if (!mayEnd)
      return (void)write();
    (void)emitUnder(
        arith::CmpIOp::create(b, arith::CmpIPredicate::ult, column, constant(b, width - offset)),
        write);
  };
  for (size_t i = 0; i < tile.size(); i += 2) {
    if (rowOf(static_cast<int64_t>(i)) != part)
      continue;
    const int64_t offset = columnOf(static_cast<int64_t>(i));
    if (width % 2 == 0) {
      store(fromElements(b, {tile[i], tile[i + 1]}), offset);
    } else {
      store(tile[i], offset);
      store(tile[i + 1], offset + 1);
    }
  }
}

LogicalResult KernelEmitter::emitConstant(arith::ConstantOp op) {
  auto type = dyn_cast<VectorType>(fragmentType(op.getType()));
  if (!type) {
    map.map(op.getResult(), b.clone(*op)->getResult(0));
    return success();
  }
  auto dense = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!dense || !dense.isSplat())
    return op.emitOpError() << "of a register tile must have one value in all elements";
  map.map(op.getResult(), arith::ConstantOp::create(
                              b, DenseElementsAttr::get(type, dense.getSplatValue<Attribute>())));
  return success();
}

LogicalResult KernelEmitter::emitElementwise(Operation &op) {
  if (op.getNumRegions() != 0 || !OpTrait::hasElementwiseMappableTraits(&op))
    return op.emitOpError() << "has no lowering to NVVM";
  SmallVector<Value> operands = values(op.getOperands());
  if (llvm::is_contained(operands, Value()))
    return op.emitOpError() << "uses a value that the kernel does not have";
  if (isa<math::MathDialect>(op.getDialect()) && !isNative(&op)) {
    Value result = functionValue(b, &op, operands[0]);
    if (!result)
      return op.emitOpError() << "has no lowering to NVVM";
    map.map(op.getResult(0), result);
    return success();
  }
  auto types = llvm::map_to_vector(op.getResultTypes(), fragmentType);
  Operation *copy = b.insert(Operation::create(op.getLoc(), op.getName(), types, operands,
                                               op.getDiscardableAttrDictionary(),
                                               op.getPropertiesStorage(), {}, 0));
  map.map(op.getResults(), copy->getResults());
  return success();
}
