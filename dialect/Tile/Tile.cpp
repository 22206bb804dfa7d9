//===- Tile.cpp - The tile dialect and its attributes ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Tile/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tilewright::tile;

#include "dialect/Tile/TileDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialect/Tile/TileAttrs.cpp.inc"

void TileDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialect/Tile/TileAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/Tile/TileOps.cpp.inc"
      >();
}

Operation *TileDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type,
                                            Location location) {
  return arith::ConstantOp::materialize(builder, value, type, location);
}

LogicalResult TileDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() != columnsOnLanesAttribute)
    return success();
  if (!isa<scf::ForallOp>(op) || !isa<UnitAttr>(attribute.getValue()))
    return op->emitError() << "'" << columnsOnLanesAttribute
                           << "' is for scf.forall, and has no value";
  return success();
}

LogicalResult ScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t blockQ,
                                   int64_t blockKV) {
  for (auto [name, value] :
       {std::pair<StringRef, int64_t>{"block_q", blockQ}, {"block_kv", blockKV}})
    if (value < 1 || value > maxBlockSize)
      return emitError() << name << " = " << value << " is outside of 1 to " << maxBlockSize;
  return success();
}

LogicalResult HalfPlaneAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t q,
                                    int64_t k) {
  // Positions are below 2^31 and are multiplied by these in 64 bits.
  constexpr int64_t limit = int64_t(1) << 30;
  for (auto [name, value] : {std::pair<StringRef, int64_t>{"q", q}, {"k", k}})
    if (value < -limit || value > limit)
      return emitError() << "coefficient " << name << " = " << value
                         << " is outside of -2^30 to 2^30";
  return success();
}
