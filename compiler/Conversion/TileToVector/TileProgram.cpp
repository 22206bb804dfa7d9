//===- TileProgram.cpp - The walk over a tile program ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/TileToVector/TileProgram.h"
#include "compiler/Conversion/TileToVector/AmxEmitter.h"
#include "compiler/Conversion/TileToVector/ColumnProduct.h"
#include "compiler/Conversion/TileToVector/ColumnTiles.h"
#include "compiler/Conversion/TileToVector/KeyReach.h"
#include "compiler/Conversion/TileToVector/OnlineSoftmax.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tilewright;

/// Rows wider than this are left to the processor: each cache line takes an instruction to fetch.
static constexpr int64_t maxFetchedWidth = 512;

static bool isTile(Value value) {
  return isa<RankedTensorType>(value.getType());
}
static bool isTensor(Type type) {
  return isa<TensorType>(type);
}

//===----------------------------------------------------------------------===//
// The grammar
//===----------------------------------------------------------------------===//

static bool isTileType(Type type) {
  auto tile = dyn_cast<RankedTensorType>(type);
  if (!tile || !tile.hasStaticShape() || tile.getRank() < 1 || tile.getRank() > 2 ||
      tile.getEncoding())
    return false;
  const Type element = tile.getElementType();
  return element.isF64() || element.isF32() || element.isF16() || element.isBF16() ||
         element.isSignlessInteger(64) || element.isSignlessInteger(32) ||
         element.isSignlessInteger(8) || element.isSignlessInteger(1);
}

/// The tensor in memory that an op reads or writes.
static Value tensorOf(Operation *op) {
  return TypeSwitch<Operation *, Value>(op)
      .Case<tile::LoadOp, tile::GatherOp>([](auto op) { return op.getSource(); })
      .Case([](tile::StoreOp op) { return op.getTarget(); })
      .Default([](Operation *) { return Value(); });
}

/// The argument or temporary tensor that a tensor is, or is a view of; null for anything else. It
/// makes known which tensors are the same.
static Value originOf(Value tensor) {
  while (Operation *op = tensor.getDefiningOp()) {
    if (isa<memref::AllocOp>(op))
      return tensor;
    if (!isa<memref::ReinterpretCastOp, memref::ExtractStridedMetadataOp>(op))
      return {};
    tensor = op->getOperand(0);
  }
  return tensor;
}

static LogicalResult verifyProduct(tile::MmaOp product) {
  auto load = product.getRhs().getDefiningOp<tile::LoadOp>();
  if (!load)
    return product.emitError(
        "the right-hand side of a product must be loaded: it is read in place");
  if (isFolded(load.getSource(), load.getIndices(), load.getResult().getType()))
    return product.emitError("the rows of a product's right-hand side must run over one dimension");
  return success();
}

LogicalResult tilewright::verifyTileOp(Operation *op) {
  if (isa<tile::BlockRangesOp>(op))
    return op->emitError("block ranges must be written out before: run tile-expand-block-ranges");
  for (Type type : llvm::concat<const Type>(op->getOperandTypes(), op->getResultTypes()))
    if (isTensor(type) && !isTileType(type))
      return op->emitError() << "is not part of a tile program: " << type << " is no tile";
  if (auto product = dyn_cast<tile::MmaOp>(op))
    return verifyProduct(product);
  Value tensor = tensorOf(op);
  if (tensor && !originOf(tensor))
    return op->emitError("the tensor must be an argument of the function, a temporary one, or a "
                         "memref.reinterpret_cast of these");
  if (isa<tile::TileDialect>(op->getDialect()) || isa<scf::ForOp, scf::YieldOp>(op))
    return success();
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto elements = dyn_cast<ElementsAttr>(constant.getValue());
    if (elements && !isa<SplatElementsAttr>(elements))
      return op->emitError("a constant tile must have one value for all elements");
    return success();
  }
  const bool hasTiles =
      llvm::any_of(op->getOperandTypes(), isTensor) || llvm::any_of(op->getResultTypes(), isTensor);
  // A value for the whole block, such as a slope for its head, is loaded as a scalar.
  const bool isHarmless = isMemoryEffectFree(op) || isa<memref::LoadOp>(op);
  const bool isAllowed =
      op->getNumRegions() == 0 && isHarmless && !op->hasTrait<OpTrait::IsTerminator>() &&
      (!hasTiles || (op->hasTrait<OpTrait::Elementwise>() && op->getNumResults() == 1));
  return isAllowed ? success()
                   : op->emitError("is not part of the grammar of tile programs (docs/tile.md)");
}

LogicalResult tilewright::verifyTileProgram(Block &program) {
  llvm::DenseSet<Value> read;
  WalkResult result = program.walk([&](Operation *op) {
    if (op == program.getTerminator())
      return WalkResult::advance();
    if (isa<tile::LoadOp, tile::GatherOp>(op))
      read.insert(originOf(tensorOf(op)));
    return WalkResult(verifyTileOp(op));
  });
  if (result.wasInterrupted())
    return failure();
  // Reads happen where their values are used, so a store must not change what they see.
  result = program.walk([&](tile::StoreOp store) {
    if (!read.contains(originOf(store.getTarget())))
      return WalkResult::advance();
    store.emitError("writes a tensor that the program also reads");
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

namespace {
class Walk {
public:
  Walk(VectorBuilder &b, Block &program, IRMapping &scalars, const AmxProgram *amx)
      : b(b), program(program), scalars(scalars), homes(b, &program), amx(amx) {
    if (amx)
      amxEmitter.emplace(b, homes, this->scalars, *amx);
  }

  LogicalResult emit(Block &block) {
    Run run;
    bool knowsUsed = &block != &program;
    for (Operation &op : block.without_terminator()) {
      if (!run.takes(op))
        emit(std::exchange(run, {}));
      b.setLoc(op.getLoc());
      if (!knowsUsed && !homes.isEvaluatedOnUse(&op)) {
        findUsed();
        homes.setRowCounts(used);
        knowsUsed = true;
      }
      LogicalResult result =
          TypeSwitch<Operation *, LogicalResult>(&op)
              .Case<tile::LoadOp, tile::StoreOp, scf::ForOp>([&](auto op) { return emit(op); })
              .Case<tile::MmaOp, tile::SoftmaxStepOp>([&](Operation *op) {
                if (!homes.isEvaluatedOnUse(op))
                  run.ops.push_back(op);
                return success();
              })
              .Default([&](Operation *op) {
                if (llvm::none_of(op->getResults(), isTile))
                  b.clone(*op, scalars);
                return success();
              });
      if (failed(result))
        return failure();
    }
    emit(run);
    return success();
  }

  uint64_t getScratchBytes() const { return homes.getScratchBytes(); }

private:
  /// Products and softmax steps on the same number of queries. All that they do with a query
  /// depends on that query alone, and on tensors in memory: so each group of queries goes through
  /// the whole run before the next, its scores stay in the first-level cache, and the keys and
  /// values of a block serve all groups.
  struct Run {
    SmallVector<Operation *> ops;

    int64_t queries() const {
      return cast<RankedTensorType>(ops.front()->getResultTypes().front()).getDimSize(0);
    }
    /// Whether the run can go on after `op`, or with it.
    bool takes(Operation &op) const {
      if (ops.empty())
        return true;
      if (isa<tile::MmaOp, tile::SoftmaxStepOp>(op))
        return cast<RankedTensorType>(op.getResultTypes().front()).getDimSize(0) == queries();
      return !isa<tile::StoreOp, scf::ForOp>(op);
    }
  };

  VectorBuilder &b;
  Block &program;
  IRMapping &scalars;
  Homes homes;
  const AmxProgram *amx;
  std::optional<AmxEmitter> amxEmitter;
  /// How many queries of tiles of so many are stored, where that is known.
  llvm::DenseMap<int64_t, Value> used;

  Value usedOf(Value tile) const {
    return used.lookup(cast<RankedTensorType>(tile.getType()).getDimSize(0));
  }

  Value scalar(Value value) { return scalars.lookup(value); }
  SmallVector<Value> scalarsOf(ValueRange values) {
    return llvm::map_to_vector(values, [&](Value value) { return scalar(value); });
  }

  LogicalResult emit(tile::LoadOp load) {
    auto type = load.getResult().getType();
    const auto isInPlace = [](OpOperand &use) {
      auto product = dyn_cast<tile::MmaOp>(use.getOwner());
      return product && &use == &product.getRhsMutable();
    };
    View view = emitView(b, scalar(load.getSource()), scalarsOf(load.getIndices()), type);
    if (!llvm::all_of(load->getUses(), isInPlace))
      emitLoad(view, load.getResult());
    if (amxEmitter)
      amxEmitter->packQueries(load);
    if (!llvm::any_of(load->getUses(), isInPlace))
      return success();
    const Type element = type.getElementType();
    if (element != homes.restingType(element) && !b.shape.columnsOnLanes)
      view = emitWidened(
          b, view, homes.acquire(MemRefType::get(type.getShape(), homes.restingType(element))));
    homes.setView(load.getResult(), view);
    return success();
  }

  void emitLoad(View view, TypedValue<RankedTensorType> tile) {
    Value home = homes.settle(tile);
    if (b.shape.columnsOnLanes)
      emitColumnLoad(b, homes, view, tile.getType(), home);
    else
      tilewright::emitLoad(b, view, tile.getType(), home, usedOf(tile));
  }

  LogicalResult emit(tile::StoreOp store) {
    View view = emitView(b, scalar(store.getTarget()), scalarsOf(store.getIndices()),
                         store.getValue().getType());
    if (b.shape.columnsOnLanes)
      emitColumnStore(b, homes, scalars, store.getValue(), view);
    else
      emitStore(b, homes, scalars, store.getValue(), view);
    return success();
  }

  void emitInto(Value tile, Value buffer) {
    if (b.shape.columnsOnLanes)
      emitColumnsInto(b, homes, scalars, tile, buffer);
    else
      tilewright::emitInto(b, homes, scalars, tile, buffer, usedOf(tile));
  }

  void emit(const Run &run) {
    if (run.ops.empty())
      return;
    const auto isInRun = [&](Operation *op) { return llvm::is_contained(run.ops, op); };
    for (Operation *op : run.ops)
      for (Value result : op->getResults())
        if (llvm::all_of(homes.readersOf(result), isInRun))
          homes.keepForOneGroup(result);
    // All homes are found before any code uses them, and what groups share is computed once.
    llvm::DenseMap<Operation *, Product> products;
    for (Operation *op : run.ops) {
      b.setLoc(op->getLoc());
      if (auto product = dyn_cast<tile::MmaOp>(op)) {
        products[op] = operandsOf(product);
        if (!product.getAccumulator() ||
            !homes.takeOver(product.getResult(), product.getAccumulator(), op, products[op].lhs))
          homes.settle(product.getResult());
        continue;
      }
      auto step = cast<tile::SoftmaxStepOp>(op);
      if (tile::MmaOp root = homes.productOf(step)) {
        products[op] = operandsOf(root);
        products[op].streams = streamsOf(root);
      }
      takeOverOrSettle(step.getWeights(), step.getScores(), step);
      takeOverOrSettle(step.getNewReference(), step.getReference(), step);
      takeOverOrSettle(step.getNewSum(), step.getSum(), step);
      homes.settle(step.getAlpha());
    }
    if (b.shape.columnsOnLanes) {
      for (Operation *op : run.ops) {
        b.setLoc(op->getLoc());
        if (auto product = dyn_cast<tile::MmaOp>(op))
          emitColumns(product, products[op]);
        else
          emitColumnSoftmaxStep(b, cast<tile::SoftmaxStepOp>(op), homes, scalars);
      }
      return;
    }
    const auto emitGroup = [&](QueryGroup group) {
      const auto reaches = reachesOf(run, group);
      for (Operation *op : run.ops) {
        b.setLoc(op->getLoc());
        if (auto product = dyn_cast<tile::MmaOp>(op)) {
          Product operands = inGroup(products[op], product, group);
          narrow(operands.rows, reaches.lookup(product.getResult()));
          narrow(operands.depth, reaches.lookup(product.getLhs()));
          emit(product, operands, group);
          continue;
        }
        auto step = cast<tile::SoftmaxStepOp>(op);
        const std::optional<KeyRange> reach = reaches.lookup(step.getWeights());
        tile::MmaOp root = homes.productOf(step);
        std::optional<Product> scores;
        if (root) {
          scores = inGroup(products[op], root, group);
          narrow(scores->rows, reach);
        }
        emitSoftmaxStep(b, step, homes, scalars, root, scores ? &*scores : nullptr, reach, group);
      }
    };
    b.forEachGroup(run.queries(), emitGroup, used.lookup(run.queries()));
  }

  /// The columns of weights, and of the products that scores come from, that anybody asks for: all
  /// of them where nothing is known.
  llvm::DenseMap<Value, std::optional<KeyRange>> reachesOf(const Run &run, QueryGroup group) {
    const auto isProduct = [&](OpOperand &use) {
      auto product = dyn_cast<tile::MmaOp>(use.getOwner());
      return product && &use == &product.getLhsMutable() && llvm::is_contained(run.ops, product);
    };
    llvm::DenseMap<Value, std::optional<KeyRange>> reaches;
    for (Operation *op : run.ops) {
      auto step = dyn_cast<tile::SoftmaxStepOp>(op);
      if (!step || !llvm::all_of(step.getWeights().getUses(), isProduct))
        continue;
      b.setLoc(op->getLoc());
      const auto reach = reachOfKeys(b, step.getScores(), group, scalars);
      reaches[step.getWeights()] = reach;
      for (Value source : homes.sourcesOf(step.getScores()))
        if (source.getDefiningOp<tile::MmaOp>() &&
            llvm::all_of(homes.readersOf(source), [&](Operation *reader) { return reader == op; }))
          reaches[source] = reach;
    }
    return reaches;
  }

  void narrow(Extent &keys, std::optional<KeyRange> reach) {
    if (!reach)
      return;
    keys.end = reach->end;
    keys.count = keys.count ? arith::MinSIOp::create(b, keys.count, keys.end) : keys.end;
    if (reach->begin)
      keys.begin = arith::MinSIOp::create(b, reach->begin, keys.count);
  }

  /// Finds what is stored in the end, before all, or before the first loop where a place that is
  /// stored to is not known earlier: a group of queries past the end of a tensor needs no work.
  void findUsed() {
    llvm::DenseSet<int64_t> unknown;
    program.walk([&](tile::StoreOp store) {
      auto type = store.getValue().getType();
      const int64_t queries = type.getDimSize(0);
      if (homes.isOneGroup(type) && !b.shape.columnsOnLanes)
        return;
      if (!llvm::all_of(store->getOperands(), [&](Value operand) {
            return isTile(operand) || scalars.contains(operand);
          }))
        unknown.insert(queries);
      if (unknown.contains(queries))
        return;
      Value count =
          emitView(b, scalar(store.getTarget()), scalarsOf(store.getIndices()), type).count;
      Value &most = used[queries];
      most = most ? arith::MaxSIOp::create(b, most, count).getResult() : count;
    });
    for (int64_t queries : unknown)
      used.erase(queries);
  }

  /// Whether the product reads its left-hand side where that rests.
  bool isLhsAtHome(tile::MmaOp op) {
    Value home = homes.bufferOf(op.getLhs());
    return home && cast<MemRefType>(home.getType()).getElementType() ==
                       op.getResult().getType().getElementType();
  }

  /// The product's operands where the register tile reads them, the left-hand side as a whole.
  Product operandsOf(tile::MmaOp op) {
    const Type type = op.getResult().getType().getElementType();
    auto lhsType = op.getLhs().getType();
    Value lhs = isLhsAtHome(op) ? homes.bufferOf(op.getLhs())
                                : homes.acquire(homes.groupType(lhsType, type));
    const View &view = *homes.viewOf(op.getRhs());
    Extent whole = {op.getResult().getType().getDimSize(1)}, depth = {lhsType.getDimSize(1)};
    (op.getTransposeRhs() ? whole : depth).count = view.count;
    return {lhs, view.rows, op.getTransposeRhs(), whole, depth, type};
  }

  /// The same for one group.
  Product inGroup(Product product, tile::MmaOp op, QueryGroup group) {
    product.lhs = b.slice(product.lhs, group.first);
    if (!isLhsAtHome(op))
      emitGroupInto(b, homes, scalars, op.getLhs(), group, product.lhs);
    return product;
  }

  void emit(tile::MmaOp op, const Product &product, QueryGroup group) {
    Value accumulator = op.getAccumulator();
    Value part = b.slice(homes.bufferOf(op.getResult()), group.first);
    SmallVector<LaneCode> columns;
    SmallVector<Value> lanes;
    for (int64_t j = 0; j < group.vectors; ++j) {
      lanes.push_back(b.offset(group.lane, j * b.shape.lanes));
      columns.emplace_back(b, homes, scalars, lanes[j], group.first);
      if (accumulator)
        columns[j].hoist(accumulator);
    }
    const auto start = [&](Value n, int64_t j) {
      if (!accumulator)
        return b.real(b.vectorOf(product.type), 0);
      columns[j].moveTo(n);
      return columns[j].vector(accumulator);
    };
    const auto finish = [&](Value n, ValueRange sums, ValueRange) {
      for (auto [sum, lane] : llvm::zip_equal(sums, lanes))
        b.store(sum, part, n, lane);
      return SmallVector<Value>{};
    };
    emitProduct(b, product, group.lane, group.vectors, start, {}, finish);
  }

  void emitColumns(tile::MmaOp op, Product product) {
    Value accumulator = op.getAccumulator();
    const auto start = [&](Value row, Value column) -> Value {
      if (!accumulator)
        return {};
      LaneCode code(b, homes, scalars, row);
      code.moveTo(column);
      return code.vector(accumulator);
    };
    if (!isLhsAtHome(op))
      emitInto(op.getLhs(), product.lhs);
    product.streams = streamsOf(op);
    Value split;
    if (needsSplitQueries(product))
      split = homes.acquire(cast<MemRefType>(product.lhs.getType()));
    const RankedTensorType type = op.getResult().getType();
    emitColumnProduct(b, product, homes.rowsOf(type), type.getDimSize(0), start,
                      homes.bufferOf(op.getResult()), split);
  }

  bool isFetched(RankedTensorType rows) const {
    if (b.shape.columnsOnLanes)
      return true;
    // With queries on lanes, narrow types are widened into scratch before.
    const Type element = rows.getElementType();
    return element == homes.restingType(element) && rows.getDimSize(1) <= maxFetchedWidth;
  }

  /// While a block's scores are computed its values had better be on their way, and while its
  /// values are, the keys of the next block: what the other products of a loop's body read next.
  SmallVector<Stream> streamsOf(tile::MmaOp op) {
    SmallVector<Stream> streams;
    for (auto other : op->getBlock()->getOps<tile::MmaOp>()) {
      auto load = other.getRhs().getDefiningOp<tile::LoadOp>();
      if (other == op || !isFetched(load.getResult().getType()) ||
          !llvm::all_of(load->getOperands(), [&](Value value) { return scalars.contains(value); }))
        continue;
      const int64_t ahead =
          op->isBeforeInBlock(other) ? 0 : load.getResult().getType().getDimSize(0);
      streams.push_back(
          emitStream(b, scalar(load.getSource()), scalarsOf(load.getIndices()), ahead));
    }
    return streams;
  }

  void takeOverOrSettle(Value result, Value source, Operation *op) {
    if (!homes.takeOver(result, source, op))
      homes.settle(result);
  }

  //===--------------------------------------------------------------------===//
  // Loops
  //===--------------------------------------------------------------------===//

  static bool isRow(Value tile) { return cast<RankedTensorType>(tile.getType()).getRank() == 1; }

  /// Gives a carried tile its home and its first value.
  LogicalResult begin(scf::ForOp loop, Value start, Value argument) {
    const bool hasHome = static_cast<bool>(homes.bufferOf(start));
    if (hasHome && homes.takeOver(argument, start, loop))
      return success();
    if (hasHome && !isRow(start))
      return loop.emitError("a carried tile starts from a tile that something else needs too: it "
                            "would have two live homes")
                 .attachNote(start.getLoc())
             << "this tile";
    emitInto(start, homes.settle(argument));
    return success();
  }

  LogicalResult emit(scf::ForOp loop) {
    if (loop->getBlock() == &program && used.empty())
      findUsed();
    SmallVector<Value> starts, arguments, tiles;
    for (auto [start, argument] : llvm::zip_equal(loop.getInitArgs(), loop.getRegionIterArgs())) {
      if (!isTile(start)) {
        starts.push_back(scalar(start));
        arguments.push_back(argument);
        continue;
      }
      if (failed(begin(loop, start, argument)))
        return failure();
    }
    const AmxLoop *recurrence = amx ? amx->find(loop) : nullptr;
    if (recurrence)
      amxEmitter->beginLoop(*recurrence);
    auto result = scf::ForOp::create(b, scalar(loop.getLowerBound()), scalar(loop.getUpperBound()),
                                     scalar(loop.getStep()), starts);
    scalars.map(loop.getInductionVar(), result.getInductionVar());
    scalars.map(arguments, result.getRegionIterArgs());
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(result.getBody());
      const size_t scope = homes.openScope();
      if (recurrence)
        amxEmitter->emitBlock(*recurrence);
      else if (failed(emit(*loop.getBody())) || failed(yield(loop)))
        return failure();
      homes.closeScope(scope);
      auto yielded = llvm::make_filter_range(loop.getYieldedValues(),
                                             [](Value value) { return !isTile(value); });
      if (!starts.empty())
        scf::YieldOp::create(b, scalarsOf(llvm::to_vector_of<Value>(yielded)));
    }
    if (recurrence)
      amxEmitter->endLoop(*recurrence);
    auto scalarResults = result.getResults().begin();
    for (auto [argument, value] : llvm::zip_equal(loop.getRegionIterArgs(), loop.getResults())) {
      if (isTile(value))
        homes.settle(value, homes.bufferOf(argument));
      else
        scalars.map(value, *scalarResults++);
    }
    return success();
  }

  /// Brings the carried tiles home. Rows may change places; a tile of queries x columns must be
  /// where it is carried already, or be evaluated from what nobody has overwritten.
  LogicalResult yield(scf::ForOp loop) {
    Operation *terminator = loop.getBody()->getTerminator();
    b.setLoc(terminator->getLoc());
    SmallVector<std::tuple<Value, Value, int64_t>> rowMoves;
    SmallVector<std::pair<Value, Value>> tileMoves;
    for (auto [value, argument] :
         llvm::zip_equal(loop.getYieldedValues(), loop.getRegionIterArgs())) {
      if (!isTile(value) || homes.bufferOf(value) == homes.bufferOf(argument))
        continue;
      if (isRow(value)) {
        auto type = cast<RankedTensorType>(value.getType());
        Value place =
            homes.acquire(homes.bufferType(type, homes.restingType(type.getElementType())));
        emitInto(value, place);
        rowMoves.push_back({place, homes.bufferOf(argument), type.getDimSize(0)});
      } else if (homes.bufferOf(value)) {
        return terminator
                   ->emitError("a yielded tile rests elsewhere than the tile it is carried as: "
                               "it would have two live homes")
                   .attachNote(value.getLoc())
               << "this tile";
      } else {
        tileMoves.push_back({value, homes.bufferOf(argument)});
      }
    }
    for (auto [value, home] : tileMoves) {
      for (Value other : loop.getYieldedValues())
        if (other != value && isTile(other))
          for (Value source : homes.sourcesOf(other))
            if (homes.bufferOf(source) == home)
              return terminator
                         ->emitError("a yielded tile is made from another carried tile: that "
                                     "one would have two live homes")
                         .attachNote(other.getLoc())
                     << "this tile";
      emitInto(value, home);
    }
    for (auto [place, home, queries] : rowMoves) {
      const auto copy = [&](Value first, Value lane) {
        b.store(b.load(b.slice(place, first), b.index(0), lane), b.slice(home, first), b.index(0),
                lane);
      };
      b.forEachVector(queries, copy, used.lookup(queries));
    }
    return success();
  }
};
} // namespace

FailureOr<uint64_t> tilewright::emitTileProgram(VectorBuilder &builder, Block &program,
                                                IRMapping &scalars, const AmxProgram *amx) {
  Walk walk(builder, program, scalars, amx);
  if (failed(walk.emit(program)))
    return failure();
  return walk.getScratchBytes();
}
