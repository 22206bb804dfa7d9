//===- TileOps.cpp - Rules and syntax of the tile ops ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Tile/Tile.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace tilewright::tile;

//===----------------------------------------------------------------------===//
// Types that follow from others are not written twice.
//===----------------------------------------------------------------------===//

/// The type of one value for each row of a tile.
static Type rowOf(Type tile) {
  auto type = dyn_cast<RankedTensorType>(tile);
  if (!type || type.getRank() != 2)
    return {};
  return RankedTensorType::get({type.getDimSize(0)}, type.getElementType());
}

static ParseResult parseRowOfTile(OpAsmParser &parser, Type tile, Type &row) {
  row = rowOf(tile);
  return row ? success() : parser.emitError(parser.getNameLoc(), "expected a tile of rank 2");
}
static void printRowOfTile(OpAsmPrinter &, Operation *, Type, Type) {}

static ParseResult parseStateOfScores(OpAsmParser &parser, Type scores, Type &reference,
                                      Type &sum) {
  if (parseRowOfTile(parser, scores, reference))
    return failure();
  sum = reference;
  return success();
}
static void printStateOfScores(OpAsmPrinter &, Operation *, Type, Type, Type) {}

static ParseResult parseSameType(OpAsmParser &parser, Type &first, Type &second) {
  if (parser.parseType(first))
    return failure();
  second = first;
  return success();
}
static void printSameType(OpAsmPrinter &printer, Operation *, Type first, Type) {
  printer << first;
}

static ParseResult parseAccumulatorType(OpAsmParser &,
                                        std::optional<OpAsmParser::UnresolvedOperand> accumulator,
                                        Type &type, Type result) {
  if (accumulator)
    type = result;
  return success();
}
static void printAccumulatorType(OpAsmPrinter &, Operation *, Value, Type, Type) {}

static ParseResult parseIndexTypes(OpAsmParser &parser,
                                   ArrayRef<OpAsmParser::UnresolvedOperand> indices,
                                   SmallVectorImpl<Type> &types, Type result) {
  auto tile = dyn_cast<RankedTensorType>(result);
  if (!tile)
    return parser.emitError(parser.getNameLoc(), "expected a tile as result");
  types.assign(indices.size(),
               RankedTensorType::get(tile.getShape(), parser.getBuilder().getI32Type()));
  return success();
}
static void printIndexTypes(OpAsmPrinter &, Operation *, OperandRange, TypeRange, Type) {}

#define GET_OP_CLASSES
#include "dialect/Tile/TileOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Whether a tile of this type can be the rows of this tensor, addressed by so many indices: one
/// for each dimension but the columns', or one fewer.
static LogicalResult verifyTileOfTensor(Operation *op, MemRefType tensor, RankedTensorType tile,
                                        size_t indices) {
  if (tensor.getElementType() != tile.getElementType())
    return op->emitOpError() << "tile of " << tile.getElementType() << " for a tensor of "
                             << tensor.getElementType();
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(tensor.getStridesAndOffset(strides, offset)))
    return op->emitOpError() << "tensor has a layout that is not strided: " << tensor;
  const int64_t expected = tile.getRank() == 2 ? tensor.getRank() - 1 : tensor.getRank();
  if (tensor.getRank() < tile.getRank())
    return op->emitOpError() << "tile of rank " << tile.getRank() << " in a tensor of rank "
                             << tensor.getRank();
  const bool isFolded = static_cast<int64_t>(indices) == expected - 1 && expected > 1;
  if (static_cast<int64_t>(indices) != expected && !isFolded)
    return op->emitOpError() << "has " << indices << " indices; a tile of rank " << tile.getRank()
                             << " in a tensor of rank " << tensor.getRank() << " takes " << expected
                             << ", or one fewer where rows run over two dimensions";
  if (tile.getRank() != 2)
    return success();
  if (tensor.getShape().back() != tile.getDimSize(1))
    return op->emitOpError() << "tile has " << tile.getDimSize(1)
                             << " columns, but rows of the tensor have "
                             << (tensor.isDynamicDim(tensor.getRank() - 1)
                                     ? std::string("a dynamic number")
                                     : std::to_string(tensor.getShape().back()));
  if (strides.back() != 1)
    return op->emitOpError() << "the tensor's innermost stride must be 1";
  return success();
}

LogicalResult LoadOp::verify() {
  return verifyTileOfTensor(*this, cast<MemRefType>(getSource().getType()), getResult().getType(),
                            getIndices().size());
}

LogicalResult StoreOp::verify() {
  return verifyTileOfTensor(*this, cast<MemRefType>(getTarget().getType()), getValue().getType(),
                            getIndices().size());
}

LogicalResult GatherOp::verify() {
  auto tensor = cast<MemRefType>(getSource().getType());
  if (tensor.getElementType() != getResult().getType().getElementType())
    return emitOpError() << "result of " << getResult().getType().getElementType()
                         << " from a tensor of " << tensor.getElementType();
  if (static_cast<int64_t>(getIndices().size()) != tensor.getRank())
    return emitOpError() << "has " << getIndices().size() << " indices for a tensor of rank "
                         << tensor.getRank();
  for (Value index : getIndices())
    if (cast<RankedTensorType>(index.getType()).getShape() != getResult().getType().getShape())
      return emitOpError() << "index " << index.getType() << " differs in shape from the result "
                           << getResult().getType();
  return success();
}

//===----------------------------------------------------------------------===//
// Tiles from scalars, products
//===----------------------------------------------------------------------===//

LogicalResult BroadcastOp::verify() {
  auto result = getResult().getType();
  auto row = dyn_cast<RankedTensorType>(getSource().getType());
  const Type element = row ? row.getElementType() : getSource().getType();
  if (element != result.getElementType())
    return emitOpError() << "broadcasts " << element << " to a tile of " << result.getElementType();
  if (row && (result.getRank() != 2 || row.getDimSize(0) != result.getDimSize(0)))
    return emitOpError() << "a row vector " << row << " needs a tile with as many rows, not "
                         << result;
  return success();
}

/// The tile of a constant scalar is a constant.
OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (auto scalar = dyn_cast_or_null<TypedAttr>(adaptor.getSource());
      scalar && scalar.getType() == getResult().getType().getElementType())
    return DenseElementsAttr::get(getResult().getType(), Attribute(scalar));
  return {};
}

LogicalResult MmaOp::verify() {
  auto lhs = getLhs().getType(), rhs = getRhs().getType(), result = getResult().getType();
  const unsigned depthDim = getTransposeRhs() ? 1 : 0;
  if (lhs.getDimSize(1) != rhs.getDimSize(depthDim))
    return emitOpError() << "depths differ: " << lhs.getDimSize(1) << " columns of lhs, "
                         << rhs.getDimSize(depthDim) << (depthDim ? " columns" : " rows")
                         << " of rhs";
  if (result.getDimSize(0) != lhs.getDimSize(0) ||
      result.getDimSize(1) != rhs.getDimSize(1 - depthDim))
    return emitOpError() << "result must be " << lhs.getDimSize(0) << " x "
                         << rhs.getDimSize(1 - depthDim) << ", not " << result.getDimSize(0)
                         << " x " << result.getDimSize(1);
  const bool isDouble = lhs.getElementType().isF64() || rhs.getElementType().isF64();
  if (isDouble != result.getElementType().isF64())
    return emitOpError() << "result of " << result.getElementType() << " from operands of "
                         << lhs.getElementType() << " and " << rhs.getElementType();
  if (getAccumulator() && getAccumulator().getType() != result)
    return emitOpError() << "accumulator " << getAccumulator().getType()
                         << " differs from the result " << result;
  return success();
}

//===----------------------------------------------------------------------===//
// The online softmax
//===----------------------------------------------------------------------===//

static LogicalResult verifyRow(Operation *op, StringRef name, Type row, Type tile) {
  if (row == rowOf(tile))
    return success();
  return op->emitOpError() << name << " must be " << rowOf(tile) << " for a tile " << tile
                           << ", not " << row;
}

LogicalResult SoftmaxInitOp::verify() {
  if (getReference().getType() != getSum().getType())
    return emitOpError() << "reference " << getReference().getType() << " and sum "
                         << getSum().getType() << " differ";
  return success();
}

LogicalResult SoftmaxStepOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                              Adaptor adaptor, SmallVectorImpl<Type> &types) {
  const Type row = adaptor.getReference().getType();
  types.assign({adaptor.getScores().getType(), row, row, row});
  return success();
}

LogicalResult SoftmaxStepOp::verify() {
  const Type scores = getScores().getType();
  if (failed(verifyRow(*this, "reference", getReference().getType(), scores)))
    return failure();
  return verifyRow(*this, "sum", getSum().getType(), scores);
}

LogicalResult RescaleOp::verify() {
  return verifyRow(*this, "alpha", getAlpha().getType(), getAccumulator().getType());
}

LogicalResult SoftmaxFinalizeOp::verify() {
  return verifyRow(*this, "reference", getReference().getType(), getAccumulator().getType());
}

//===----------------------------------------------------------------------===//
// Block ranges
//===----------------------------------------------------------------------===//

LogicalResult BlockRangesOp::verify() {
  if (getHalfPlanes().size() != getOffsets().size())
    return emitOpError() << "has " << getHalfPlanes().size() << " half-planes and "
                         << getOffsets().size() << " offsets";
  return success();
}
