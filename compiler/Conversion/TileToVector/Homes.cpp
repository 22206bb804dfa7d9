//===- Homes.cpp - What rests where ---------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/TileToVector/Homes.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tilewright;

/// Score functions of more vector operations than this, and those that read memory, leave the
/// accumulators no registers: they get a pass of their own.
static constexpr int64_t maxFusedOperations = 6;

static bool isTile(Value value) {
  return isa<RankedTensorType>(value.getType());
}

static bool computeColumnDependence(Operation *op, function_ref<bool(Value)> dependsOnColumn) {
  return TypeSwitch<Operation *, bool>(op)
      .Case<tile::MmaOp, tile::LoadOp, scf::ForOp>([](auto) { return true; })
      .Case([](tile::CoordOp coord) { return coord.getDim() == 1; })
      .Case<arith::ConstantOp, tile::BroadcastOp>([](auto) { return false; })
      .Default([&](Operation *op) { return llvm::any_of(op->getOperands(), dependsOnColumn); });
}

Homes::Homes(VectorBuilder &builder, Block *program) : builder(builder) {
  const auto insert = [&](ValueRange values) {
    for (Value value : values)
      if (auto type = dyn_cast<RankedTensorType>(value.getType()); type && type.getRank() == 2)
        columnDependent.insert(value);
  };
  program->walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Region &region : op->getRegions())
      insert(region.getArguments());
    if (computeColumnDependence(op, [&](Value v) { return dependsOnColumn(v); }))
      insert(op->getResults());
    if (auto step = dyn_cast<tile::SoftmaxStepOp>(op); step && !builder.shape.columnsOnLanes)
      fuse(step);
  });
}

bool Homes::isEvaluatedOnUse(Operation *op) const {
  if (auto product = dyn_cast<tile::MmaOp>(op))
    return steps.contains(product);
  return !isa<tile::LoadOp, tile::StoreOp, tile::SoftmaxStepOp, scf::ForOp, scf::YieldOp>(op);
}

/// Finds the product whose scores `step` can take from the registers: everything between the two is
/// short, is used by the step alone, and reads no memory.
void Homes::fuse(tile::SoftmaxStepOp step) {
  llvm::SetVector<Operation *> chain;
  tile::MmaOp root;
  SmallVector<Value> worklist = {step.getScores()};
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val().getDefiningOp();
    if (!op || op->getBlock() != step->getBlock() || isa<tile::LoadOp, scf::ForOp>(op))
      continue;
    if (auto product = dyn_cast<tile::MmaOp>(op)) {
      if (root && root != product)
        return;
      root = product;
      continue;
    }
    if (isa<tile::GatherOp>(op))
      return;
    if (!isEvaluatedOnUse(op) || !dependsOnColumn(op->getResult(0)) || !chain.insert(op))
      continue;
    llvm::append_range(worklist, llvm::make_filter_range(op->getOperands(), isTile));
  }
  if (!root)
    return;
  if (llvm::count_if(chain, [](Operation *op) { return op->hasTrait<OpTrait::Elementwise>(); }) >
      maxFusedOperations)
    return;
  worklist = {root.getResult()};
  while (!worklist.empty())
    for (Operation *user : worklist.pop_back_val().getUsers()) {
      if (user == step)
        continue;
      if (!chain.contains(user))
        return;
      llvm::append_range(worklist, user->getResults());
    }
  steps[root] = step;
  products[step] = root;
}

const View *Homes::viewOf(Value tile) const {
  auto found = views.find(tile);
  return found == views.end() ? nullptr : &found->second;
}

Type Homes::restingType(Type element) const {
  if (element.isF16() || element.isBF16())
    return builder.getF32Type();
  return element.isInteger(1) ? builder.getI8Type() : element;
}

Value Homes::rowsOf(RankedTensorType tile) const {
  Value count = rowCounts.lookup(tile.getDimSize(0));
  return count ? count : builder.index(tile.getDimSize(0));
}

MemRefType Homes::groupType(RankedTensorType tile, Type element) const {
  if (builder.shape.columnsOnLanes && tile.getRank() == 2)
    return MemRefType::get({tile.getDimSize(0), builder.shape.padded(tile.getDimSize(1))}, element);
  const int64_t columns =
      tile.getRank() == 2 ? llvm::alignTo(tile.getDimSize(1), builder.shape.columnMultiple) : 1;
  return MemRefType::get({columns, builder.shape.groupWidth(tile.getDimSize(0))}, element);
}

MemRefType Homes::bufferType(RankedTensorType tile, Type element) const {
  const MemRefType one = groupType(tile, element);
  if (isOneGroup(tile))
    return one;
  const int64_t columns = one.getDimSize(0), width = one.getDimSize(1);
  const int64_t groups = (tile.getDimSize(0) + width - 1) / width;
  return MemRefType::get({groups, columns, width}, element);
}

bool Homes::isOneGroup(RankedTensorType tile) const {
  return tile.getDimSize(0) <= builder.shape.groupWidth(tile.getDimSize(0));
}

MemRefType Homes::homeType(Value tile) const {
  auto type = cast<RankedTensorType>(tile.getType());
  const Type element = restingType(type.getElementType());
  return forOneGroup.contains(tile) ? groupType(type, element) : bufferType(type, element);
}

Value Homes::acquire(MemRefType type) {
  SmallVector<Value> &free = released[type];
  Value buffer;
  if (free.empty()) {
    buffer = builder.allocate(type);
    uint64_t bytes = type.getElementTypeBitWidth() / 8;
    for (int64_t extent : type.getShape())
      bytes = llvm::SaturatingMultiply<uint64_t>(bytes, extent);
    scratchBytes = llvm::SaturatingAdd(scratchBytes, bytes);
  } else {
    buffer = free.pop_back_val();
  }
  acquired.push_back(buffer);
  return buffer;
}

void Homes::closeScope(size_t scope) {
  // The order makes the next scope of the same shape take the same buffers.
  while (acquired.size() > scope) {
    Value buffer = acquired.pop_back_val();
    released[buffer.getType()].push_back(buffer);
  }
}

Value Homes::settle(Value tile) {
  Value buffer = acquire(homeType(tile));
  settle(tile, buffer);
  return buffer;
}

void Homes::settle(Value tile, Value buffer) {
  buffers[tile] = buffer;
  owners[buffer] = tile;
}

SmallVector<Value> Homes::sourcesOf(Value tile) const {
  SmallVector<Value> sources, worklist = {tile};
  llvm::DenseSet<Value> seen;
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (!isTile(value) || !seen.insert(value).second)
      continue;
    if (buffers.contains(value))
      sources.push_back(value);
    else if (auto product = value.getDefiningOp<tile::MmaOp>())
      llvm::append_range(worklist, product.getAccumulatorMutable().empty()
                                       ? ValueRange{}
                                       : ValueRange{product.getAccumulator()});
    else if (Operation *op = value.getDefiningOp())
      llvm::append_range(worklist, op->getOperands());
  }
  return sources;
}

Value Homes::takeOver(Value result, Value source, Operation *op, Value except) {
  for (Value tile : sourcesOf(source)) {
    Value buffer = bufferOf(tile);
    auto type = cast<RankedTensorType>(result.getType());
    if (buffer == except || owners.lookup(buffer) != tile ||
        cast<RankedTensorType>(tile.getType()).getShape() != type.getShape() ||
        buffer.getType() != homeType(result) || !isLastReader(op, tile))
      continue;
    settle(result, buffer);
    return buffer;
  }
  return {};
}

SmallVector<Operation *> Homes::readersOf(Value tile) const {
  SmallVector<Operation *> readers;
  SmallVector<Value> worklist = {tile};
  llvm::DenseSet<Value> seen;
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    for (Operation *user : value.getUsers()) {
      if (isEvaluatedOnUse(user))
        llvm::append_range(worklist, user->getResults());
      else
        readers.push_back(user);
    }
  }
  return readers;
}

bool Homes::isLastReader(Operation *op, Value tile) const {
  Block *block = tile.getParentBlock();
  return op->getBlock() == block && llvm::all_of(readersOf(tile), [&](Operation *reader) {
           return reader == op || block->findAncestorOpInBlock(*reader)->isBeforeInBlock(op);
         });
}
