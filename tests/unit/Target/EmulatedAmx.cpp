//===- EmulatedAmx.cpp - Kernels for AMX where there is none --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/unit/Target/EmulatedAmx.h"
#include "compiler/Conversion/TileToVector/VectorMath.h"
#include "compiler/Driver/CompilationAccess.h"
#include "tests/unit/Target/VectorKernel.h"

#include "mlir/Dialect/AMX/AMXDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;

namespace tilewright::test {

namespace {
class WriteOut {
public:
  explicit WriteOut(func::FuncOp function)
      : function(function), b(function.getLoc(), &function.getBody().front(),
                              {.lanes = 16, .vectors = 4, .rows = 4, .fusedMultiplyAdd = true}) {}

  void run() {
    SmallVector<Operation *> done;
    function.walk([&](Operation *op) {
      b.setInsertionPoint(op);
      if (auto load = dyn_cast<amx::TileLoadOp>(op))
        copy(load.getBase(), load.getIndices(), bufferFor(load), {});
      else if (auto zero = dyn_cast<amx::TileZeroOp>(op))
        fill(bufferFor(zero));
      else if (auto store = dyn_cast<amx::TileStoreOp>(op))
        copy(tiles.lookup(store.getVal()), {}, store.getBase(), store.getIndices());
      else if (auto product = dyn_cast<amx::TileMulFOp>(op))
        multiply(product);
      else if (auto call = dyn_cast<LLVM::CallIntrinsicOp>(op))
        call.replaceAllUsesWith(ValueRange{replace(call)});
      else if (auto pin = dyn_cast<LLVM::InlineAsmOp>(op))
        pin.replaceAllUsesWith(pin.getOperands());
      else
        return;
      done.push_back(op);
    });
    for (Operation *op : llvm::reverse(done))
      op->erase();
  }

private:
  func::FuncOp function;
  VectorBuilder b;
  llvm::DenseMap<Value, Value> tiles;

  Value bufferFor(Operation *op) {
    auto type = cast<amx::TileType>(op->getResult(0).getType());
    return tiles[op->getResult(0)] =
               b.allocate(MemRefType::get(type.getShape(), type.getElementType()));
  }

  /// One row of a tile: 64 bytes.
  VectorType rowType(Value buffer) {
    const Type element = cast<MemRefType>(buffer.getType()).getElementType();
    return VectorType::get({element.isF32() ? 16 : 32}, element);
  }
  SmallVector<Value> at(ValueRange start, Value row) {
    if (start.empty())
      return {row, b.index(0)};
    return {arith::AddIOp::create(b, start[0], row), start[1]};
  }
  Value loadRow(Value buffer, ValueRange start, Value row) {
    return vector::LoadOp::create(b, rowType(buffer), buffer, at(start, row));
  }
  void forEachRow(function_ref<void(Value)> body) { b.loop(b.index(0), b.index(16), 1, body); }

  void copy(Value from, ValueRange source, Value to, ValueRange target) {
    forEachRow([&](Value row) {
      vector::StoreOp::create(b, loadRow(from, source, row), to, at(target, row));
    });
  }

  void fill(Value buffer) {
    Value zeros = b.real(rowType(buffer), 0);
    forEachRow([&](Value row) { b.store(zeros, buffer, row, b.index(0)); });
  }

  void multiply(amx::TileMulFOp product) {
    Value left = tiles.lookup(product.getLhs()), right = tiles.lookup(product.getRhs()),
          start = tiles.lookup(product.getAcc()), result = bufferFor(product);
    const Type f32 = b.getF32Type();
    forEachRow([&](Value row) {
      const SmallVector<Value> sum = b.loop(
          b.index(0), b.index(16), 1, loadRow(start, {}, row), [&](Value pair, ValueRange sums) {
            auto halves = vector::DeinterleaveOp::create(b, loadRow(right, {}, pair));
            Value sum = sums[0];
            for (int64_t i = 0; i < 2; ++i) {
              Value column = b.offset(arith::MulIOp::create(b, pair, b.index(2)), i);
              Value factor = memref::LoadOp::create(b, left, ValueRange{row, column});
              sum = b.multiplyAdd(b.broadcast(b.widen(factor, f32)),
                                  b.widen(halves.getResult(i), f32), sum);
            }
            return SmallVector<Value>{sum};
          });
      b.store(sum[0], result, row, b.index(0));
    });
  }

  Value replace(LLVM::CallIntrinsicOp call) {
    Value x = call.getArgs()[0];
    const Type type = x.getType();
    if (call.getIntrin() == "llvm.x86.avx512.mask.reduce.ps.512") {
      Value fraction = b.subtract(x, math::FloorOp::create(b, x));
      Value size = math::AbsFOp::create(b, x);
      return b.choose(arith::CmpFPredicate::OEQ, size,
                      b.real(type, std::numeric_limits<double>::infinity()), b.real(type, 0),
                      fraction);
    }
    EXPECT_EQ(call.getIntrin(), "llvm.x86.avx512.mask.scalef.ps.512");
    return b.multiply(x, exponentialBase2(b, math::FloorOp::create(b, call.getArgs()[1])));
  }
};
} // namespace

void writeOutAmx(ModuleOp module) {
  module.getContext()->loadDialect<math::MathDialect>();
  for (auto function : module.getOps<func::FuncOp>())
    WriteOut(function).run();
}

Result<Kernel> emulateAmx(const Compilation &compilation) {
  Result<std::string> text = compilation.text(Stage::Vector);
  if (!text)
    return text.error();
  VectorModule module(*text);
  writeOutAmx(*module);
  Result<Signature> signature = extractSignature(*module);
  if (!signature)
    return signature.error();
  Result<CpuTarget> target = CpuTarget::host();
  if (!target)
    return target.error();
  LaunchExpressions expressions;
  if (const ParsedProblem *problem = CompilationAccess::problem(compilation))
    expressions = {problem->declarations, problem->scores, problem->masks};
  return makeCpuKernel(module.lower(), *target, *signature, expressions);
}

} // namespace tilewright::test
