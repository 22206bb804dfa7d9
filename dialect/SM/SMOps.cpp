//===- SMOps.cpp - Rules and syntax of the sm ops -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/SM/SM.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace tilewright::sm;

CreateRingOp tilewright::sm::ringOf(Value stage) {
  Operation *taken = stage.getDefiningOp();
  if (!isa_and_nonnull<AcquireOp, WaitOp>(taken))
    return {};
  return taken->getOperand(0).getDefiningOp<CreateRingOp>();
}

//===----------------------------------------------------------------------===//
// Types that follow from others are not written twice.
//===----------------------------------------------------------------------===//

static Type rowOf(MLIRContext *context, Attribute layout) {
  return RankedTensorType::get({productRows}, Float32Type::get(context), layout);
}

static ParseResult parseStageOfRing(OpAsmParser &parser, Type &ring, Type &stage) {
  SMLoc where = parser.getCurrentLocation();
  if (parser.parseType(ring))
    return failure();
  auto type = dyn_cast<RingType>(ring);
  if (!type)
    return parser.emitError(where, "expected a ring");
  stage = type.getTile();
  return success();
}
static void printStageOfRing(OpAsmPrinter &printer, Operation *, Type ring, Type) {
  printer << ring;
}

static ParseResult
parseAccumulatorOfResult(OpAsmParser &parser,
                         std::optional<OpAsmParser::UnresolvedOperand> accumulator, Type &type,
                         Type result) {
  auto inFlight = dyn_cast<InFlightType>(result);
  if (!inFlight)
    return parser.emitError(parser.getNameLoc(), "expected a product in flight as result");
  if (accumulator)
    type = inFlight.getTensor();
  return success();
}
static void printAccumulatorOfResult(OpAsmPrinter &, Operation *, Value, Type, Type) {}

static ParseResult parseTensorOfProduct(OpAsmParser &parser, Type product, Type &result,
                                        ArrayRef<Type> held, SmallVectorImpl<Type> &passed) {
  auto inFlight = dyn_cast<InFlightType>(product);
  if (!inFlight)
    return parser.emitError(parser.getNameLoc(), "expected a product in flight");
  result = inFlight.getTensor();
  passed.assign(held.begin(), held.end());
  return success();
}
static void printTensorOfProduct(OpAsmPrinter &, Operation *, Type, Type, TypeRange, TypeRange) {}

static ParseResult parseIndexTypes(OpAsmParser &parser,
                                   ArrayRef<OpAsmParser::UnresolvedOperand> indices,
                                   SmallVectorImpl<Type> &types, Type result) {
  auto tile = dyn_cast<RankedTensorType>(result);
  if (!tile)
    return parser.emitError(parser.getNameLoc(), "expected a tile as result");
  types.assign(indices.size(), tile.clone(parser.getBuilder().getI32Type()));
  return success();
}
static void printIndexTypes(OpAsmPrinter &, Operation *, OperandRange, TypeRange, Type) {}

static ParseResult parseRowOfTile(OpAsmParser &parser, Type, Type &row) {
  row = rowOf(parser.getContext(), RowAttr::get(parser.getContext()));
  return success();
}
static void printRowOfTile(OpAsmPrinter &, Operation *, Type, Type) {}

static ParseResult parseStepTypes(OpAsmParser &parser, Type scores, Type &reference, Type &sum,
                                  Type &weights, Type &newReference, Type &newSum, Type &alpha) {
  weights = scores;
  reference = newReference = alpha = rowOf(parser.getContext(), RowAttr::get(parser.getContext()));
  sum = newSum = rowOf(parser.getContext(), PartialRowAttr::get(parser.getContext()));
  return success();
}
static void printStepTypes(OpAsmPrinter &, Operation *, Type, Type, Type, Type, Type, Type, Type) {}

static ParseResult parseFinalizeTypes(OpAsmParser &parser, Type, Type &reference, Type &sum,
                                      Type &lse) {
  reference = lse = rowOf(parser.getContext(), RowAttr::get(parser.getContext()));
  sum = rowOf(parser.getContext(), PartialRowAttr::get(parser.getContext()));
  return success();
}
static void printFinalizeTypes(OpAsmPrinter &, Operation *, Type, Type, Type, Type) {}

#define GET_OP_CLASSES
#include "dialect/SM/SMOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

/// Attributes and a body, which has a block even where its braces are empty.
static ParseResult parseBody(OpAsmParser &parser, OperationState &result,
                             ArrayRef<OpAsmParser::Argument> arguments) {
  Region &body = *result.addRegion();
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      parser.parseRegion(body, arguments))
    return failure();
  if (body.empty())
    for (Block &block = body.emplaceBlock(); const OpAsmParser::Argument &argument : arguments)
      block.addArgument(argument.type, parser.getEncodedSourceLoc(argument.ssaName.location));
  return success();
}

ParseResult GridOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> position;
  SmallVector<OpAsmParser::UnresolvedOperand> bounds;
  Type index = parser.getBuilder().getIndexType();
  if (parser.parseArgumentList(position, OpAsmParser::Delimiter::Paren) ||
      parser.parseKeyword("in") || parser.parseOperandList(bounds, OpAsmParser::Delimiter::Paren) ||
      parser.resolveOperands(bounds, index, result.operands))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("shared_memory"))) {
    int64_t bytes;
    if (parser.parseEqual() || parser.parseInteger(bytes))
      return failure();
    result.addAttribute(getSharedMemoryAttrName(result.name),
                        parser.getBuilder().getI64IntegerAttr(bytes));
  }
  for (OpAsmParser::Argument &argument : position)
    argument.type = index;
  return parseBody(parser, result, position);
}

void GridOp::print(OpAsmPrinter &printer) {
  printer << " (" << getBody().getArguments() << ") in (" << getBounds() << ')';
  if (std::optional<int64_t> bytes = getSharedMemory())
    printer << " shared_memory = " << *bytes;
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {getSharedMemoryAttrName()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

LogicalResult GridOp::verify() {
  if (getBounds().empty() || getBounds().size() > 8)
    return emitOpError() << "has " << getBounds().size() << " bounds, outside of 1 to 8";
  if (getBody().getNumArguments() != getBounds().size() ||
      !llvm::all_of(getBody().getArgumentTypes(), [](Type type) { return type.isIndex(); }))
    return emitOpError() << "must have one index argument for each of its " << getBounds().size()
                         << " bounds";
  bool afterRole = false;
  for (Operation &op : getBody().front()) {
    const bool isRole = isa<ProducerOp, ConsumersOp>(op);
    if (afterRole && !isRole)
      return op.emitOpError() << "stands after a role; a grid's roles come last";
    afterRole |= isRole;
  }
  return success();
}

ParseResult ProducerOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  int64_t registers;
  if (parser.parseAttribute(name, "name", result.attributes) || parser.parseKeyword("registers") ||
      parser.parseEqual() || parser.parseInteger(registers))
    return failure();
  result.addAttribute("registers", parser.getBuilder().getI64IntegerAttr(registers));
  return parseBody(parser, result, {});
}

void ProducerOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getNameAttr() << " registers = " << getRegisters();
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(),
                                           {getNameAttrName(), getRegistersAttrName()});
  printer << ' ';
  printer.printRegion(getBody());
}

LogicalResult ProducerOp::verify() {
  if (getBody().getNumArguments() != 0)
    return emitOpError() << "takes no arguments";
  return success();
}

ParseResult ConsumersOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  int64_t warpgroups, registers;
  OpAsmParser::Argument number;
  number.type = parser.getBuilder().getIndexType();
  if (parser.parseAttribute(name, "name", result.attributes) || parser.parseKeyword("warpgroups") ||
      parser.parseEqual() || parser.parseInteger(warpgroups) || parser.parseKeyword("registers") ||
      parser.parseEqual() || parser.parseInteger(registers) || parser.parseLParen() ||
      parser.parseArgument(number) || parser.parseRParen())
    return failure();
  number.type = parser.getBuilder().getIndexType();
  result.addAttribute("warpgroups", parser.getBuilder().getI64IntegerAttr(warpgroups));
  result.addAttribute("registers", parser.getBuilder().getI64IntegerAttr(registers));
  return parseBody(parser, result, number);
}

void ConsumersOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getNameAttr() << " warpgroups = " << getWarpgroups()
          << " registers = " << getRegisters() << " (" << getBody().getArguments() << ')';
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(), {getNameAttrName(), getWarpgroupsAttrName(), getRegistersAttrName()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

LogicalResult ConsumersOp::verify() {
  if (getBody().getNumArguments() != 1 || !getBody().getArgument(0).getType().isIndex())
    return emitOpError() << "takes one argument, the number of the warpgroup";
  if (getWarpgroups() < 1 || getWarpgroups() > 7)
    return emitOpError() << "has " << getWarpgroups() << " warpgroups, outside of 1 to 7";
  return success();
}

//===----------------------------------------------------------------------===//
// Rings
//===----------------------------------------------------------------------===//

LogicalResult CreateRingOp::verify() {
  if (getArrivals() < 1)
    return emitOpError() << "is released by " << getArrivals() << " warps; at least one must";
  for (auto [what, offset, multiple] :
       {std::tuple<StringRef, std::optional<int64_t>, int64_t>{"stages", getOffset(), 1024},
        {"barriers", getBarriers(), 8}})
    if (offset && (*offset < 0 || *offset > maxSharedMemory || *offset % multiple != 0))
      return emitOpError() << what << " at " << *offset << ", which is no multiple of " << multiple
                           << " from 0 to " << maxSharedMemory;
  return success();
}

template <typename Role> static LogicalResult verifyTake(Operation *op, StringRef role) {
  if (!op->getOperand(0).getDefiningOp<CreateRingOp>())
    return op->emitOpError() << "must name its ring directly";
  if (!op->getParentOfType<Role>())
    return op->emitOpError() << "belongs into " << role;
  return success();
}

LogicalResult AcquireOp::verify() {
  return verifyTake<ProducerOp>(*this, "a producer");
}
LogicalResult WaitOp::verify() {
  return verifyTake<ConsumersOp>(*this, "consumers");
}

template <typename Take> static LogicalResult verifyGive(Operation *op, Value stage) {
  auto take = stage.getDefiningOp<Take>();
  if (!take)
    return op->emitOpError() << "takes a stage from " << Take::getOperationName();
  return success();
}

LogicalResult CommitOp::verify() {
  return verifyGive<AcquireOp>(*this, getStage());
}
LogicalResult ReleaseOp::verify() {
  return verifyGive<WaitOp>(*this, getStage());
}

LogicalResult CopyOp::verify() {
  if (failed(verifyGive<AcquireOp>(*this, getStage())))
    return failure();
  auto source = cast<MemRefType>(getSource().getType());
  SharedType stage = getStage().getType();
  if (source.getElementType() != stage.getElementType())
    return emitOpError() << "copies " << source.getElementType() << " into a stage of "
                         << stage.getElementType();
  if (source.getRank() < 2 || source.getRank() > 5)
    return emitOpError() << "source has rank " << source.getRank() << ", outside of 2 to 5";
  const int64_t width = source.getShape().back();
  if (ShapedType::isDynamic(width) || paddedColumns(width) != stage.getColumns())
    return emitOpError() << "stage has " << stage.getColumns()
                         << " columns, but rows of the source have "
                         << (ShapedType::isDynamic(width) ? std::string("a dynamic number")
                                                          : std::to_string(width));
  if (static_cast<int64_t>(getIndices().size()) != source.getRank() - 1)
    return emitOpError() << "has " << getIndices().size() << " indices; a source of rank "
                         << source.getRank() << " takes " << source.getRank() - 1;
  return success();
}

bool CopyOp::isByThreads() {
  return cast<MemRefType>(getSource().getType()).getShape().back() % 8 != 0;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

LogicalResult MmaOp::verify() {
  SharedType rhs = getRhs().getType();
  auto result = getResult().getType().getTensor();
  int64_t depth;
  Type element;
  if (auto lhs = dyn_cast<SharedType>(getLhs().getType())) {
    if (!getRow())
      return emitOpError() << "needs the first of the 64 rows of a left operand in shared memory";
    if (lhs.getRows() < productRows)
      return emitOpError() << "left operand has " << lhs.getRows() << " rows, fewer than "
                           << productRows;
    depth = lhs.getColumns();
    element = lhs.getElementType();
  } else {
    if (getRow())
      return emitOpError() << "a left operand in registers has no first row";
    auto type = cast<RankedTensorType>(getLhs().getType());
    depth = type.getDimSize(1);
    element = type.getElementType();
  }
  const int64_t rhsDepth = getTransposeRhs() ? rhs.getColumns() : rhs.getRows();
  const int64_t columns = getTransposeRhs() ? rhs.getRows() : rhs.getColumns();
  if (element != rhs.getElementType())
    return emitOpError() << "multiplies " << element << " by " << rhs.getElementType();
  if (depth != rhsDepth)
    return emitOpError() << "depth is " << depth << " on the left and " << rhsDepth
                         << " on the right";
  if (!getTransposeRhs() && depth % productDepth != 0)
    return emitOpError() << "depth " << depth << " is no multiple of " << productDepth;
  if (result.getDimSize(1) != columns)
    return emitOpError() << "result has " << result.getDimSize(1) << " columns, the right operand "
                         << columns;
  return success();
}

LogicalResult AwaitOp::verify() {
  auto product = getProduct().getDefiningOp<MmaOp>();
  if (!product || product->getBlock() != (*this)->getBlock())
    return emitOpError() << "waits for a product that was not started in this block of code";
  if (getHeld().getTypes() != getPassed().getTypes())
    return emitOpError() << "passes its held tensors on unchanged; their types differ";
  if (getResult().getType() != product.getResult().getType().getTensor())
    return emitOpError() << "gives another type than the product's";
  return success();
}

LogicalResult PackOp::verify() {
  auto source = getSource().getType(), result = getResult().getType();
  if (source.getShape() != result.getShape())
    return emitOpError() << "turns a tile of another shape into " << result;
  return success();
}

//===----------------------------------------------------------------------===//
// Tiles and memory
//===----------------------------------------------------------------------===//

LogicalResult BroadcastOp::verify() {
  if (getElementTypeOrSelf(getSource().getType()) != getResult().getType().getElementType())
    return emitOpError() << "source and result have different elements";
  return success();
}

LogicalResult GatherOp::verify() {
  auto source = cast<MemRefType>(getSource().getType());
  if (source.getElementType() != getResult().getType().getElementType())
    return emitOpError() << "reads " << source.getElementType() << " as "
                         << getResult().getType().getElementType();
  if (static_cast<int64_t>(getIndices().size()) != source.getRank())
    return emitOpError() << "has " << getIndices().size() << " indices for a tensor of rank "
                         << source.getRank();
  return success();
}

LogicalResult StoreOp::verify() {
  auto value = cast<RankedTensorType>(getValue().getType());
  auto target = cast<MemRefType>(getTarget().getType());
  if (value.getElementType() != target.getElementType())
    return emitOpError() << "stores " << value.getElementType() << " into a tensor of "
                         << target.getElementType();
  const int64_t indices = target.getRank() - value.getRank() + 1;
  if (indices < 1 || static_cast<int64_t>(getIndices().size()) != indices)
    return emitOpError() << "has " << getIndices().size() << " indices; a value of rank "
                         << value.getRank() << " in a tensor of rank " << target.getRank()
                         << " takes " << indices;
  const int64_t width = target.getShape().back();
  if (value.getRank() == 2 &&
      (ShapedType::isDynamic(width) || paddedColumns(width) != value.getDimSize(1)))
    return emitOpError() << "value has " << value.getDimSize(1)
                         << " columns, rows of the tensor have another number";
  return success();
}
