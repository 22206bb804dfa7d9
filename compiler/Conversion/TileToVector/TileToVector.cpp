//===- TileToVector.cpp - Programs on tiles as vector code ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/Passes.h"
#include "compiler/Conversion/TileToVector/TileProgram.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace tilewright {
#define GEN_PASS_DEF_CONVERTTILETOVECTOR
#include "compiler/Conversion/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace tilewright;

/// More scratch than this does not fit the stack of an executor's thread.
static constexpr uint64_t maxScratchBytes = 4 << 20;

static bool isTileConstant(Operation *op) {
  return isa<arith::ConstantOp>(op) && isa<TensorType>(op->getResultTypes().front());
}

/// The forall of a tile program: the only op of its function that is not scalar code, constants
/// aside.
static FailureOr<scf::ForallOp> findProgram(func::FuncOp function) {
  scf::ForallOp program;
  if (!function.getBody().hasOneBlock())
    return function.emitError("a tile program must be one block");
  for (Operation &op : function.getBody().front().without_terminator()) {
    if (auto forall = dyn_cast<scf::ForallOp>(op)) {
      if (program)
        return forall.emitError("a tile program has one scf.forall; this is another");
      if (forall.getNumResults() != 0)
        return forall.emitError("the scf.forall of a tile program has no results: it stores");
      program = forall;
      continue;
    }
    if (isTileConstant(&op)) {
      if (failed(verifyTileOp(&op)))
        return failure();
    } else if (op.getNumRegions() != 0 || !isMemoryEffectFree(&op) ||
               llvm::any_of(op.getResultTypes(), llvm::IsaPred<TensorType>)) {
      return op.emitError("outside of the scf.forall, a tile program has only scalar code");
    }
    if (program)
      return op.emitError("a tile program ends with its scf.forall");
  }
  return program;
}

static bool usesDouble(scf::ForallOp program) {
  return program
      .walk([](Operation *op) {
        const auto isDouble = [](Type type) {
          auto tile = dyn_cast<RankedTensorType>(type);
          return tile && tile.getElementType().isF64();
        };
        return llvm::any_of(op->getResultTypes(), isDouble) ? WalkResult::interrupt()
                                                            : WalkResult::advance();
      })
      .wasInterrupted();
}

namespace {
struct TileToVector : tilewright::impl::ConvertTileToVectorBase<TileToVector> {
  using ConvertTileToVectorBase::ConvertTileToVectorBase;

  void runOnOperation() override {
    if (failed(verifyOptions()))
      return signalPassFailure();
    for (auto function : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      if (function.isExternal())
        continue;
      FailureOr<scf::ForallOp> program = findProgram(function);
      if (failed(program) || (*program && failed(convert(function, *program))))
        return signalPassFailure();
    }
  }

  LogicalResult verifyOptions() {
    const auto refuse = [&](StringRef name, unsigned value, StringRef limit) {
      return getOperation().emitError() << name << " = " << value << " is not " << limit;
    };
    if (lanes != 4 && lanes != 8 && lanes != 16)
      return refuse("lanes", lanes, "4, 8 or 16");
    if (vectors < 1 || vectors > 16)
      return refuse("vectors", vectors, "in 1 to 16");
    if (rows < 1 || rows > 16)
      return refuse("rows", rows, "in 1 to 16");
    return success();
  }

  /// A function like `function` in arguments and scalar code, with more arguments and results.
  func::FuncOp start(func::FuncOp function, const Twine &name, TypeRange more, TypeRange results,
                     IRMapping &scalars) {
    OpBuilder builder(function);
    SmallVector<Type> inputs = llvm::to_vector(function.getArgumentTypes());
    llvm::append_range(inputs, more);
    auto result = func::FuncOp::create(builder, function.getLoc(), name.str(),
                                       builder.getFunctionType(inputs, results));
    result->setAttr("llvm.emit_c_interface", builder.getUnitAttr());
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (DictionaryAttr attributes = function.getArgAttrDict(i))
        result.setArgAttrs(i, attributes);
    Block *entry = result.addEntryBlock();
    scalars.map(function.getArguments(),
                entry->getArguments().take_front(function.getNumArguments()));
    return result;
  }

  LogicalResult convert(func::FuncOp function, scf::ForallOp program) {
    if (failed(verifyTileProgram(*program.getBody())))
      return failure();
    const bool isDouble = usesDouble(program);
    VectorShape shape = {isDouble ? lanes / 2 : lanes, vectors, rows, lanes > 4};
    const std::string name = function.getName().str();
    if (getOperation().lookupSymbol(name + "_items"))
      return function.emitError() << "needs the name " << name << "_items, which is taken";
    const Type index = IndexType::get(&getContext());

    IRMapping scalars;
    auto items = start(function, name + "_items", {}, index, scalars);
    VectorBuilder counting(program.getLoc(), &items.getBody().front(), shape);
    SmallVector<Value> extents = emitExtents(counting, function, program, scalars);
    Value count = counting.index(1);
    for (Value extent : extents)
      count = arith::MulIOp::create(counting, count, extent);
    func::ReturnOp::create(counting, count);

    IRMapping itemScalars;
    function.setName(name + "_tiles");
    auto item = start(function, name, index, {}, itemScalars);
    VectorBuilder b(program.getLoc(), &item.getBody().front(), shape);
    emitItem(b, function, program, item.getArguments().back(), itemScalars);
    FailureOr<uint64_t> bytes = emitTileProgram(b, *program.getBody(), itemScalars);
    if (failed(bytes))
      return failure();
    if (*bytes > maxScratchBytes)
      return program.emitError() << "needs " << *bytes << " bytes of scratch; the limit is "
                                 << maxScratchBytes << ", so block_q or block_kv must be smaller";
    item->setAttr("tilewright.scratch_bytes", b.getI64IntegerAttr(*bytes));
    b.setLoc(function.getLoc());
    func::ReturnOp::create(b);
    function.erase();
    writeOutMath(item, shape);
    return success();
  }

  /// What a score function computes in f32 needs no library either.
  static void writeOutMath(func::FuncOp function, VectorShape shape) {
    RewritePatternSet patterns(function.getContext());
    populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
      return llvm::is_contained({"math.exp", "math.log", "math.log2", "math.tanh"}, name);
    });
    walkAndApplyPatterns(function, std::move(patterns));
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

  /// The scalar code before the forall, and the forall's number of iterations in each dimension.
  SmallVector<Value> emitExtents(VectorBuilder &b, func::FuncOp function, scf::ForallOp program,
                                 IRMapping &scalars) {
    for (Operation &op : function.getBody().front()) {
      if (&op == program)
        break;
      if (!isTileConstant(&op))
        b.clone(op, scalars);
    }
    SmallVector<Value> extents;
    for (auto [low, high, step] : llvm::zip_equal(bounds(b, program.getMixedLowerBound(), scalars),
                                                  bounds(b, program.getMixedUpperBound(), scalars),
                                                  bounds(b, program.getMixedStep(), scalars))) {
      Value distance = arith::SubIOp::create(b, high, low);
      Value extent = arith::CeilDivSIOp::create(b, distance, step);
      extents.push_back(arith::MaxSIOp::create(b, extent, b.index(0)));
    }
    return extents;
  }

  static SmallVector<Value> bounds(VectorBuilder &b, ArrayRef<OpFoldResult> values,
                                   IRMapping &scalars) {
    return llvm::map_to_vector(values, [&](OpFoldResult value) {
      if (std::optional<int64_t> known = getConstantIntValue(value))
        return b.index(*known);
      return scalars.lookup(cast<Value>(value));
    });
  }

  /// The induction variables of an item; the last dimension runs fastest.
  void emitItem(VectorBuilder &b, func::FuncOp function, scf::ForallOp program, Value item,
                IRMapping &scalars) {
    SmallVector<Value> extents = emitExtents(b, function, program, scalars);
    SmallVector<Value> lows = bounds(b, program.getMixedLowerBound(), scalars);
    SmallVector<Value> steps = bounds(b, program.getMixedStep(), scalars);
    for (int64_t dim = program.getRank() - 1; dim >= 0; --dim) {
      Value position = item;
      if (dim > 0) {
        position = arith::RemUIOp::create(b, item, extents[dim]);
        item = arith::DivUIOp::create(b, item, extents[dim]);
      }
      Value scaled = arith::MulIOp::create(b, position, steps[dim]);
      scalars.map(program.getInductionVars()[dim], arith::AddIOp::create(b, lows[dim], scaled));
    }
  }
};
} // namespace
