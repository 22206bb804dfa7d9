//===- GridFormula.cpp - How many blocks, as formulas ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/SMToNVVM/GridFormula.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tilewright;

namespace {
/// Shared values count once for each use, so that the formulas stay short however they are written
/// out.
constexpr size_t maxOps = 256;

class Reader {
public:
  explicit Reader(sm::GridOp grid) : grid(grid) {}

  FailureOr<sm90::GridFormula> read() {
    SmallVector<AffineExpr> bounds;
    for (Value bound : grid.getBounds()) {
      AffineExpr expression = formula(bound);
      if (!expression)
        return failure();
      bounds.push_back(expression);
    }
    formulas.bounds = AffineMap::get(0, static_cast<unsigned>(formulas.extents.size()), bounds,
                                     grid.getContext());
    return std::move(formulas);
  }

private:
  /// Null once an error is reported.
  AffineExpr formula(Value value) {
    APInt constant;
    if (matchPattern(value, m_ConstantInt(&constant)))
      return getAffineConstantExpr(constant.getSExtValue(), grid.getContext());
    if (++ops > maxOps)
      return grid.emitError() << "bounds are formulas of more than " << maxOps << " ops", nullptr;
    Operation *op = value.getDefiningOp();
    if (!op)
      return grid.emitError() << "has a bound that depends on an argument of the function; bounds "
                                 "are made of extents and numbers",
             nullptr;
    if (auto dim = dyn_cast<memref::DimOp>(op))
      return extent(dim);
    if (op->getNumOperands() != 2 || op->getNumResults() != 1 ||
        !isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::CeilDivSIOp, arith::CeilDivUIOp,
             arith::FloorDivSIOp, arith::DivSIOp, arith::DivUIOp>(op))
      return op->emitError() << "is in a bound of a grid; bounds are sums, differences, products "
                                "and quotients of extents and numbers",
             nullptr;
    AffineExpr left = formula(op->getOperand(0));
    AffineExpr right = left ? formula(op->getOperand(1)) : nullptr;
    if (!right)
      return nullptr;
    return TypeSwitch<Operation *, AffineExpr>(op)
        .Case([&](arith::AddIOp) { return left + right; })
        .Case([&](arith::SubIOp) { return left - right; })
        .Case([&](arith::MulIOp) { return left * right; })
        .Case<arith::CeilDivSIOp, arith::CeilDivUIOp>([&](auto) { return left.ceilDiv(right); })
        .Default([&](Operation *) { return left.floorDiv(right); });
  }

  AffineExpr extent(memref::DimOp dim) {
    auto argument = dyn_cast<BlockArgument>(dim.getSource());
    std::optional<int64_t> index = dim.getConstantIndex();
    if (!argument || !index || argument.getOwner() != grid->getBlock())
      return dim.emitOpError() << "must be a fixed dimension of one of the function's arguments",
             nullptr;
    auto parameter = sm::ParameterAttr::get(grid.getContext(), sm::ParameterKind::Extent,
                                            argument.getArgNumber(), *index);
    const auto *known = llvm::find(formulas.extents, parameter);
    const auto symbol = static_cast<unsigned>(known - formulas.extents.begin());
    if (known == formulas.extents.end())
      formulas.extents.push_back(parameter);
    return getAffineSymbolExpr(symbol, grid.getContext());
  }

  sm::GridOp grid;
  sm90::GridFormula formulas;
  size_t ops = 0;
};
} // namespace

FailureOr<sm90::GridFormula> sm90::gridFormula(sm::GridOp grid) {
  return Reader(grid).read();
}
