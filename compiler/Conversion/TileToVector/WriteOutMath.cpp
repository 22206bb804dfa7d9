//===- WriteOutMath.cpp - Functions as vector operations ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/TileToVector/WriteOutMath.h"
#include "compiler/Conversion/TileToVector/VectorMath.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tilewright;

/// As often as this a function is written out where it stands.
static constexpr size_t maxInline = 8;

static bool isWrittenOut(Operation *op) {
  if (!isa<math::ExpOp, math::Exp2Op, math::LogOp, math::Log2Op, math::TanhOp>(op))
    return false;
  const Type element = getElementTypeOrSelf(op->getResult(0));
  return element.isF32() || element.isF64();
}

/// A function that takes one value and returns what `op` makes of it.
static func::FuncOp outline(func::FuncOp function, Operation *op) {
  OpBuilder builder(function);
  const Type type = op->getResult(0).getType();
  std::string name = (function.getName() + "_" + op->getName().stripDialect()).str();
  if (!isa<VectorType>(type))
    name += "_scalar";
  auto result =
      func::FuncOp::create(builder, op->getLoc(), name, builder.getFunctionType({type}, {type}));
  result.setPrivate();
  builder.setInsertionPointToEnd(result.addEntryBlock());
  IRMapping operands;
  operands.map(op->getOperand(0), result.getArgument(0));
  Operation *clone = builder.clone(*op, operands);
  func::ReturnOp::create(builder, op->getLoc(), clone->getResults());
  return result;
}

static Value writeOut(VectorBuilder &b, Operation *op) {
  Value x = op->getOperand(0);
  const bool isVector = isa<VectorType>(x.getType());
  if (!isVector)
    x = b.broadcast(x);
  Value result = TypeSwitch<Operation *, Value>(op)
                     .Case([&](math::ExpOp) { return naturalExponential(b, x); })
                     .Case([&](math::Exp2Op) { return exponentialBase2(b, x); })
                     .Case([&](math::LogOp) { return naturalLogarithm(b, x); })
                     .Case([&](math::Log2Op) { return logarithmBase2(b, x); })
                     .Case([&](math::TanhOp) { return hyperbolicTangent(b, x); });
  return isVector ? result : vector::ExtractOp::create(b, result, 0);
}

static void writeOutHere(func::FuncOp function, VectorShape shape) {
  VectorBuilder b(function.getLoc(), &function.getBody().front(), shape);
  function.walk([&](Operation *op) {
    if (!isWrittenOut(op))
      return;
    b.setInsertionPoint(op);
    b.setLoc(op->getLoc());
    op->replaceAllUsesWith(ValueRange{writeOut(b, op)});
    op->erase();
  });
  if (shape.fusedMultiplyAdd)
    return;
  function.walk([](math::FmaOp op) {
    OpBuilder builder(op);
    Value product = arith::MulFOp::create(builder, op.getLoc(), op.getA(), op.getB());
    op.replaceAllUsesWith(
        arith::AddFOp::create(builder, op.getLoc(), product, op.getC()).getResult());
    op.erase();
  });
}

void tilewright::writeOutMath(func::FuncOp function, VectorShape shape) {
  llvm::MapVector<std::pair<OperationName, Type>, SmallVector<Operation *>> uses;
  function.walk([&](Operation *op) {
    if (isWrittenOut(op))
      uses[{op->getName(), op->getResult(0).getType()}].push_back(op);
  });
  for (auto &[kind, ops] : uses) {
    if (ops.size() <= maxInline)
      continue;
    func::FuncOp callee = outline(function, ops.front());
    for (Operation *op : ops) {
      OpBuilder builder(op);
      auto call = func::CallOp::create(builder, op->getLoc(), callee, op->getOperands());
      op->replaceAllUsesWith(call);
      op->erase();
    }
    writeOutHere(callee, shape);
  }
  writeOutHere(function, shape);
}
