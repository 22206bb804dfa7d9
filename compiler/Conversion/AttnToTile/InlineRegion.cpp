//===- InlineRegion.cpp - A user's scalar function over a tile ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/AttnToTile/InlineRegion.h"

#include "dialect/Tile/Tile.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace tilewright;

namespace {

class RegionInliner {
public:
  RegionInliner(ImplicitLocOpBuilder &builder, Region &region, ValueRange arguments,
                ArrayRef<int64_t> tileShape)
      : builder(builder), tileShape(tileShape) {
    mapping.map(region.getArguments(), arguments);
  }

  void inlineOp(Operation *op) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(mapping.lookupOrDefault(operand));
    const bool onTile = llvm::any_of(operands, isTile);
    if (onTile)
      for (Value &operand : operands)
        if (!isa<MemRefType>(operand.getType()))
          operand = asTile(operand);
    mapping.map(op->getResult(0), write(op, operands, onTile));
  }

  Value lookup(Value value) const { return mapping.lookupOrDefault(value); }

  Value asTile(Value value) {
    if (isTile(value))
      return value;
    auto type = RankedTensorType::get(tileShape, value.getType());
    return tile::BroadcastOp::create(builder, type, value);
  }

private:
  static bool isTile(Value value) { return isa<RankedTensorType>(value.getType()); }

  Value write(Operation *op, ArrayRef<Value> operands, bool onTile) {
    if (auto element = dyn_cast<attn::ElementOp>(op))
      return writeElement(element, operands.drop_front(), onTile);
    if (isa<attn::FloorDivOp>(op))
      return writeFloorDiv(operands[0], operands[1]);
    if (isa<attn::FloorModOp>(op))
      return writeFloorMod(operands[0], operands[1]);
    Operation *clone = builder.clone(*op, mapping);
    clone->setOperands(operands);
    Value result = clone->getResult(0);
    if (onTile)
      result.setType(RankedTensorType::get(tileShape, result.getType()));
    return result;
  }

  Value writeElement(attn::ElementOp element, ArrayRef<Value> indices, bool onTile) {
    Value tensor = element.getTensor();
    const Type type = element.getResult().getType();
    if (onTile)
      return tile::GatherOp::create(builder, RankedTensorType::get(tileShape, type), tensor,
                                    indices);
    SmallVector<Value> positions;
    for (Value index : indices)
      positions.push_back(arith::IndexCastOp::create(builder, builder.getIndexType(), index));
    return memref::LoadOp::create(builder, tensor, positions);
  }

  Value constant(int64_t number, Type type) {
    auto element = cast<IntegerType>(getElementTypeOrSelf(type));
    TypedAttr value = builder.getIntegerAttr(element, number);
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      value = DenseElementsAttr::get(tensor, cast<Attribute>(value));
    return arith::ConstantOp::create(builder, value);
  }

  /// arith's division is undefined for a zero divisor and for -2^31 / -1. Where the divisor is not
  /// a constant that is neither, both are taken out of its way.
  Value writeFloorDiv(Value lhs, Value rhs) {
    const Type type = lhs.getType();
    if (APInt divisor; matchPattern(scalarOf(rhs), m_ConstantInt(&divisor)) && !divisor.isZero() &&
                       !divisor.isAllOnes())
      return arith::FloorDivSIOp::create(builder, lhs, rhs);
    Value zero = constant(0, type), one = constant(1, type), minusOne = constant(-1, type);
    auto equals = [&](Value other) {
      return arith::CmpIOp::create(builder, arith::CmpIPredicate::eq, rhs, other);
    };
    Value isZero = equals(zero), isMinusOne = equals(minusOne);
    Value isEither = arith::OrIOp::create(builder, isZero, isMinusOne);
    Value divisor = arith::SelectOp::create(builder, isEither, one, rhs);
    Value quotient = arith::FloorDivSIOp::create(builder, lhs, divisor);
    Value negated = arith::SubIOp::create(builder, zero, lhs);
    quotient = arith::SelectOp::create(builder, isMinusOne, negated, quotient);
    return arith::SelectOp::create(builder, isZero, zero, quotient);
  }

  Value writeFloorMod(Value lhs, Value rhs) {
    Value quotient = writeFloorDiv(lhs, rhs);
    Value product = arith::MulIOp::create(builder, quotient, rhs);
    Value remainder = arith::SubIOp::create(builder, lhs, product);
    if (APInt divisor; matchPattern(scalarOf(rhs), m_ConstantInt(&divisor)) && !divisor.isZero())
      return remainder;
    Value zero = constant(0, lhs.getType());
    Value isZero = arith::CmpIOp::create(builder, arith::CmpIPredicate::eq, rhs, zero);
    return arith::SelectOp::create(builder, isZero, zero, remainder);
  }

  static Value scalarOf(Value value) {
    auto broadcast = value.getDefiningOp<tile::BroadcastOp>();
    return broadcast ? broadcast.getSource() : value;
  }

  ImplicitLocOpBuilder &builder;
  ArrayRef<int64_t> tileShape;
  IRMapping mapping;
};

} // namespace

Value tilewright::inlineOverTile(ImplicitLocOpBuilder &builder, Region &region,
                                 ValueRange arguments, ArrayRef<int64_t> tileShape) {
  RegionInliner inliner(builder, region, arguments, tileShape);
  for (Operation &op : region.front().without_terminator())
    inliner.inlineOp(&op);
  auto yield = cast<attn::YieldOp>(region.front().getTerminator());
  return inliner.asTile(inliner.lookup(yield.getValue()));
}

Value tilewright::inlineScalar(ImplicitLocOpBuilder &builder, Region &region, ValueRange arguments,
                               Value value) {
  RegionInliner inliner(builder, region, arguments, {});
  if (Operation *definition = value.getDefiningOp();
      definition && region.isAncestor(definition->getParentRegion())) {
    SetVector<Operation *> slice;
    BackwardSliceOptions options;
    options.inclusive = true;
    options.filter = [&](Operation *op) { return op->getParentRegion() == &region; };
    (void)getBackwardSlice(definition, &slice, options);
    for (Operation &op : region.front())
      if (slice.contains(&op))
        inliner.inlineOp(&op);
  }
  return inliner.lookup(value);
}
