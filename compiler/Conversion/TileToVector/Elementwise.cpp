//===- Elementwise.cpp - Tile code on one vector of queries ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/TileToVector/Elementwise.h"
#include "compiler/Conversion/TileToVector/VectorMath.h"

#include "llvm/ADT/TypeSwitch.h"

#include <limits>

using namespace mlir;
using namespace tilewright;

static bool isTile(Value value) {
  return isa<RankedTensorType>(value.getType());
}

static Type elementOf(Value tile) {
  return cast<RankedTensorType>(tile.getType()).getElementType();
}

/// The tiles that one result of an op is evaluated from.
static SmallVector<Value> operandsOf(Value tile) {
  Operation *op = tile.getDefiningOp();
  if (auto finalize = dyn_cast<tile::SoftmaxFinalizeOp>(op))
    return {tile == finalize.getOut() ? finalize.getAccumulator() : finalize.getReference(),
            finalize.getSum()};
  return llvm::to_vector(llvm::make_filter_range(op->getOperands(), isTile));
}

Value LaneCode::known(Value value) const {
  if (Value found = inColumn.lookup(value))
    return found;
  return forAllColumns.lookup(value);
}

void LaneCode::moveTo(Value newColumn) {
  column = newColumn;
  inColumn.clear();
}

void LaneCode::hoist(Value tile) {
  for (Value source : homes->sourcesOf(tile))
    slices[source] = sliceOf(source);
  llvm::DenseSet<Value> seen;
  SmallVector<Value> worklist = {tile};
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    if (!homes->dependsOnColumn(value)) {
      Value result = evaluate(value);
      inColumn.clear();
      forAllColumns[value] = result;
    } else if (!homes->bufferOf(value) && !value.getDefiningOp<tile::MmaOp>()) {
      llvm::append_range(worklist, operandsOf(value));
      if (auto finalize = value.getDefiningOp<tile::SoftmaxFinalizeOp>()) {
        reciprocals[finalize] = reciprocalOf(asVector(evaluate(finalize.getSum())));
        inColumn.clear();
      }
    }
  }
}

Value LaneCode::vector(Value tile) {
  return asVector(evaluate(tile));
}

Value LaneCode::scalar(Value tile) {
  Value value = evaluate(tile);
  return isa<VectorType>(value.getType()) ? vector::ExtractOp::create(*b, value, 0) : value;
}

Value LaneCode::restingVector(Value tile, Type element) {
  Value value = vector(tile);
  if (elementOf(tile) == element)
    return value;
  if (isa<FloatType>(element))
    return b->widen(value, element);
  return arith::ExtUIOp::create(*b, b->vectorOf(element), value);
}

Value LaneCode::asVector(Value value) {
  return isa<VectorType>(value.getType()) ? value : b->broadcast(value);
}

Value LaneCode::evaluate(Value root) {
  SmallVector<Value> stack = {root};
  while (!stack.empty()) {
    Value tile = stack.back();
    if (known(tile)) {
      stack.pop_back();
      continue;
    }
    const size_t height = stack.size();
    if (!homes->bufferOf(tile))
      for (Value operand : operandsOf(tile))
        if (!known(operand))
          stack.push_back(operand);
    if (stack.size() == height)
      inColumn[tile] = homes->bufferOf(tile) ? load(tile) : emit(cast<OpResult>(tile));
  }
  return known(root);
}

Value LaneCode::sliceOf(Value tile) const {
  if (Value known = slices.lookup(tile))
    return known;
  return first ? b->slice(homes->bufferOf(tile), first) : homes->bufferOf(tile);
}

Value LaneCode::load(Value tile) {
  const bool isRow = cast<RankedTensorType>(tile.getType()).getRank() == 1;
  Value part = sliceOf(tile), value;
  if (!b->shape.columnsOnLanes)
    value = b->load(part, isRow ? b->index(0) : column, lane);
  else if (isRow)
    value = memref::LoadOp::create(*b, part, ValueRange{b->index(0), lane});
  else
    value = b->load(part, lane, column);
  const Type element = elementOf(tile), resting = homes->restingType(element);
  if (element == resting)
    return value;
  auto vector = dyn_cast<VectorType>(value.getType());
  const Type type = vector ? vector.clone(element) : element;
  if (isa<FloatType>(element))
    return arith::TruncFOp::create(*b, type, value);
  return arith::TruncIOp::create(*b, type, value);
}

Value LaneCode::emit(OpResult tile) {
  const Type element = elementOf(tile);
  return TypeSwitch<Operation *, Value>(tile.getOwner())
      .Case([&](arith::ConstantOp op) {
        return b->constant(cast<DenseElementsAttr>(op.getValue()).getSplatValue<TypedAttr>());
      })
      .Case([&](tile::BroadcastOp op) {
        return isTile(op.getSource()) ? known(op.getSource()) : scalars->lookup(op.getSource());
      })
      .Case([&](tile::CoordOp op) {
        Value position = scalars->lookup(op.getFirst());
        if (op.getDim() == 0 && first)
          position = arith::AddIOp::create(*b, position, first);
        position = arith::AddIOp::create(*b, position, op.getDim() == 0 ? lane : column);
        position = arith::IndexCastOp::create(*b, element, position);
        if (op.getDim() != laneDimension())
          return position;
        const auto lanes = llvm::to_vector(llvm::seq<int32_t>(0, b->shape.lanes));
        Value steps =
            b->constant(DenseElementsAttr::get(b->vectorOf(element), ArrayRef<int32_t>(lanes)));
        return Value(arith::AddIOp::create(*b, b->broadcast(position), steps));
      })
      .Case([&](tile::GatherOp op) { return emitGather(op); })
      .Case([&](tile::RescaleOp op) {
        return b->multiply(asVector(known(op.getAccumulator())), asVector(known(op.getAlpha())));
      })
      .Case([&](tile::SoftmaxInitOp op) {
        const double none = -std::numeric_limits<double>::infinity();
        return b->real(element, tile == op.getReference() ? none : 0);
      })
      .Case([&](tile::SoftmaxFinalizeOp op) {
        Value sum = asVector(known(op.getSum()));
        if (tile == op.getLse()) {
          Value lse = b->add(asVector(known(op.getReference())), naturalLogarithm(*b, sum));
          return b->shape.columnsOnLanes ? vector::ExtractOp::create(*b, lse, 0) : lse;
        }
        // No key, no output; a NaN in the sum reaches the output through the product.
        Value zero = b->real(sum.getType(), 0);
        Value reciprocal = reciprocals.lookup(op);
        Value quotient = b->multiply(asVector(known(op.getAccumulator())),
                                     reciprocal ? reciprocal : reciprocalOf(sum));
        return b->choose(arith::CmpFPredicate::OEQ, sum, zero, zero, quotient);
      })
      .Default([&](Operation *op) { return emitElementwise(op); });
}

Value LaneCode::reciprocalOf(Value sum) {
  return arith::DivFOp::create(*b, b->real(sum.getType(), 1), sum);
}

Value LaneCode::emitElementwise(Operation *op) {
  const auto operandOf = [&](Value value) {
    return isTile(value) ? known(value) : scalars->lookup(value);
  };
  const bool isUniform = llvm::none_of(op->getOperands(), [&](Value value) {
    return isTile(value) && isa<VectorType>(operandOf(value).getType());
  });
  IRMapping operands;
  for (Value value : op->getOperands())
    operands.map(value,
                 isUniform || !isTile(value) ? operandOf(value) : asVector(operandOf(value)));
  Operation *clone = b->clone(*op, operands);
  const Type element = elementOf(op->getResult(0));
  clone->getResult(0).setType(isUniform ? element : b->vectorOf(element));
  return clone->getResult(0);
}

/// Whether neighbouring lanes have neighbouring values: a query's (or a column's) position, plus or
/// minus what all of them share.
bool LaneCode::isConsecutive(Value tile) const {
  const auto isShared = [&](Value value) {
    Value evaluated = known(value);
    return evaluated && !isa<VectorType>(evaluated.getType());
  };
  while (Operation *op = tile.getDefiningOp()) {
    if (auto coord = dyn_cast<tile::CoordOp>(op))
      return coord.getDim() == laneDimension();
    if (isa<arith::AddIOp, arith::SubIOp>(op) && isShared(op->getOperand(1)))
      tile = op->getOperand(0);
    else if (isa<arith::AddIOp>(op) && isShared(op->getOperand(0)))
      tile = op->getOperand(1);
    else
      return false;
  }
  return false;
}

Value LaneCode::emitGather(tile::GatherOp gather) {
  Value source = scalars->lookup(gather.getSource());
  const Type i32 = b->getI32Type();
  // Clamped to the extent. A tensor's extent may exceed what the index type can say, never the
  // other way round.
  SmallVector<Value> indices, lasts;
  std::optional<size_t> alongLanes;
  size_t vectors = 0;
  for (auto [dim, tile] : llvm::enumerate(gather.getIndices())) {
    Value last = b->offset(memref::DimOp::create(*b, source, b->index(dim)), -1);
    last = arith::MinSIOp::create(*b, last, b->index(std::numeric_limits<int32_t>::max()));
    last = arith::IndexCastOp::create(*b, i32, last);
    lasts.push_back(last);
    Value index = known(tile);
    if (isa<VectorType>(index.getType())) {
      last = b->broadcast(last);
      ++vectors;
      if (isConsecutive(tile))
        alongLanes = dim;
    }
    index = arith::MinSIOp::create(*b, index, last);
    indices.push_back(arith::MaxSIOp::create(*b, index, b->integer(index.getType(), 0)));
  }
  const auto position = [&](int64_t query) {
    return llvm::map_to_vector(indices, [&](Value index) -> Value {
      if (isa<VectorType>(index.getType()))
        index = vector::ExtractOp::create(*b, index, query);
      return arith::IndexCastOp::create(*b, b->getIndexType(), index);
    });
  };
  const auto element = [&](int64_t query) -> Value {
    return memref::LoadOp::create(*b, source, position(query));
  };
  if (vectors == 0)
    return element(0);
  const VectorType type = b->vectorOf(elementOf(gather.getResult()));
  const auto oneByOne = [&]() -> Value {
    SmallVector<Value> elements;
    for (int64_t query = 0; query < b->shape.lanes; ++query)
      elements.push_back(element(query));
    return vector::FromElementsOp::create(*b, type, elements);
  };
  if (!alongLanes || vectors > 1)
    return oneByOne();
  // One load, where all lanes are within the tensor and it is dense in that dimension.
  Value first = vector::ExtractOp::create(*b, known(gather.getIndices()[*alongLanes]), 0);
  Value end = arith::SubIOp::create(*b, lasts[*alongLanes], b->integer(i32, b->shape.lanes - 1));
  const auto test = [&](arith::CmpIPredicate predicate, Value x, Value y) -> Value {
    return arith::CmpIOp::create(*b, predicate, x, y);
  };
  auto parts = memref::ExtractStridedMetadataOp::create(*b, source);
  Value isDense = test(arith::CmpIPredicate::eq, parts.getStrides()[*alongLanes], b->index(1));
  Value isInside =
      arith::AndIOp::create(*b, test(arith::CmpIPredicate::sge, first, b->integer(i32, 0)),
                            test(arith::CmpIPredicate::sle, first, end));
  auto branch = scf::IfOp::create(*b, type, arith::AndIOp::create(*b, isDense, isInside),
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(*b);
  b->setInsertionPointToStart(branch.thenBlock());
  const SmallVector<Value> start = position(0);
  Value offset = parts.getOffset();
  for (auto [index, stride] : llvm::zip_equal(start, parts.getStrides()))
    offset = arith::AddIOp::create(*b, offset, arith::MulIOp::create(*b, index, stride));
  auto line = MemRefType::get({b->shape.lanes}, type.getElementType(),
                              StridedLayoutAttr::get(b->getContext(), ShapedType::kDynamic, {1}));
  Value elements =
      memref::ReinterpretCastOp::create(*b, line, parts.getBaseBuffer(), OpFoldResult(offset),
                                        ArrayRef<OpFoldResult>{b->getIndexAttr(b->shape.lanes)},
                                        ArrayRef<OpFoldResult>{b->getIndexAttr(1)});
  Value loaded = vector::LoadOp::create(*b, type, elements, ValueRange{b->index(0)});
  scf::YieldOp::create(*b, loaded);
  b->setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(*b, oneByOne());
  return branch.getResult(0);
}

void tilewright::emitGroupInto(VectorBuilder &b, const Homes &homes, const IRMapping &scalars,
                               Value tile, QueryGroup group, Value part) {
  auto type = cast<MemRefType>(part.getType());
  SmallVector<Value> lanes;
  SmallVector<LaneCode> code;
  for (int64_t j = 0; j < group.vectors; ++j) {
    lanes.push_back(b.offset(group.lane, j * b.shape.lanes));
    code.emplace_back(b, homes, scalars, lanes[j], group.first).hoist(tile);
  }
  b.loop(b.index(0), b.index(type.getDimSize(0)), 1, [&](Value column) {
    for (int64_t j = 0; j < group.vectors; ++j) {
      code[j].moveTo(column);
      b.store(code[j].restingVector(tile, type.getElementType()), part, column, lanes[j]);
    }
  });
}

void tilewright::emitInto(VectorBuilder &b, const Homes &homes, const IRMapping &scalars,
                          Value tile, Value buffer, Value used) {
  const auto emitGroup = [&](QueryGroup group) {
    emitGroupInto(b, homes, scalars, tile, group, b.slice(buffer, group.first));
  };
  b.forEachGroup(cast<RankedTensorType>(tile.getType()).getDimSize(0), emitGroup, used);
}
