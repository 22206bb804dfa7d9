//===- Attn.cpp - The attn dialect and its small ops ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Attn/Attn.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tilewright::attn;

#include "dialect/Attn/AttnDialect.cpp.inc"

#define GET_OP_CLASSES
#include "dialect/Attn/AttnOps.cpp.inc"

void AttnDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialect/Attn/AttnOps.cpp.inc"
      >();
}

/// Divisions fold to the constants of the code around them.
Operation *AttnDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type,
                                            Location location) {
  return arith::ConstantOp::materialize(builder, value, type, location);
}

static bool isIdentifier(StringRef text) {
  return !text.empty() && (llvm::isAlpha(text.front()) || text.front() == '_') &&
         llvm::all_of(text, [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

LogicalResult AttnDialect::verifyRegionArgAttribute(Operation *op, unsigned regionIndex,
                                                    unsigned argIndex, NamedAttribute attribute) {
  if (attribute.getName() != nameAttribute)
    return op->emitOpError() << "argument " << argIndex << " has the unknown attribute '"
                             << attribute.getName().getValue() << "'; the attn dialect knows '"
                             << nameAttribute << "'";
  auto name = dyn_cast<StringAttr>(attribute.getValue());
  if (!name || !isIdentifier(name.getValue()))
    return op->emitOpError() << "argument " << argIndex << " has '" << nameAttribute
                             << "' = " << attribute.getValue()
                             << "; it must be a string with letters, digits and '_'";
  return success();
}

LogicalResult ElementOp::verify() {
  const int64_t rank = getTensor().getType().getRank();
  if (static_cast<int64_t>(getIndices().size()) != rank)
    return emitOpError() << "has " << getIndices().size() << " indices for a tensor of rank "
                         << rank;
  if (Region *region = getOperation()->getParentRegion();
      region->isAncestor(getTensor().getParentRegion()))
    return emitOpError() << "tensor must be defined outside of the region";
  return success();
}

int32_t tilewright::attn::floorDiv(int32_t lhs, int32_t rhs) {
  if (rhs == 0)
    return 0;
  const int64_t dividend = lhs, divisor = rhs;
  int64_t quotient = dividend / divisor;
  if (dividend % divisor != 0 && (dividend < 0) != (divisor < 0))
    --quotient;
  return static_cast<int32_t>(quotient);
}

int32_t tilewright::attn::floorMod(int32_t lhs, int32_t rhs) {
  if (rhs == 0)
    return 0;
  const int64_t remainder = static_cast<int64_t>(lhs) % rhs;
  return static_cast<int32_t>(remainder != 0 && (remainder < 0) != (rhs < 0) ? remainder + rhs
                                                                             : remainder);
}

static OpFoldResult foldDivision(Attribute lhs, Attribute rhs,
                                 int32_t (*divide)(int32_t, int32_t)) {
  auto dividend = dyn_cast_or_null<IntegerAttr>(lhs);
  auto divisor = dyn_cast_or_null<IntegerAttr>(rhs);
  if (!dividend || !divisor)
    return {};
  return IntegerAttr::get(dividend.getType(), divide(static_cast<int32_t>(dividend.getInt()),
                                                     static_cast<int32_t>(divisor.getInt())));
}

OpFoldResult FloorDivOp::fold(FoldAdaptor adaptor) {
  return foldDivision(adaptor.getLhs(), adaptor.getRhs(), floorDiv);
}

OpFoldResult FloorModOp::fold(FoldAdaptor adaptor) {
  return foldDivision(adaptor.getLhs(), adaptor.getRhs(), floorMod);
}
