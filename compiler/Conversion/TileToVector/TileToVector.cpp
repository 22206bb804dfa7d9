//===- TileToVector.cpp - Programs on tiles as vector code ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/Passes.h"
#include "compiler/Conversion/TileToVector/AmxTiles.h"
#include "compiler/Conversion/TileToVector/TileProgram.h"
#include "compiler/Conversion/TileToVector/WriteOutMath.h"

#include "mlir/Dialect/AMX/AMXDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"

namespace tilewright {
#define GEN_PASS_DEF_CONVERTTILETOVECTOR
#include "compiler/Conversion/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace tilewright;

/// More scratch than this does not fit the stack of an executor's thread.
static constexpr uint64_t maxScratchBytes = 4 << 20;

/// More than any machine has, and few enough that sums do not overflow.
static constexpr int64_t mostBytes = int64_t(1) << 56;

static bool isTileConstant(Operation *op) {
  return isa<arith::ConstantOp>(op) && isa<TensorType>(op->getResultTypes().front());
}

/// A temporary tensor belongs to one launch, is written by one forall and read by later ones.
static LogicalResult verifyTemporary(memref::AllocOp op) {
  if (!op.getType().getLayout().isIdentity() || op.getType().getMemorySpace())
    return op.emitError("a temporary tensor has no layout and no memory space");
  const Type element = op.getType().getElementType();
  if (!element.isF64() && !element.isF32() && !element.isInteger(32))
    return op.emitError("a temporary tensor is of f64, f32 or i32");
  for (Operation *user : op->getUsers())
    if (!user->getParentOfType<scf::ForallOp>())
      return user->emitError("a temporary tensor is used within scf.forall only");
  return success();
}

/// The foralls of a tile program, which end its function; before them it has scalar code, constants
/// and temporary tensors.
static FailureOr<SmallVector<scf::ForallOp>> findPrograms(func::FuncOp function) {
  SmallVector<scf::ForallOp> programs;
  if (!function.getBody().hasOneBlock())
    return function.emitError("a tile program must be one block");
  for (Operation &op : function.getBody().front().without_terminator()) {
    if (auto forall = dyn_cast<scf::ForallOp>(op)) {
      if (forall.getNumResults() != 0)
        return forall.emitError("the scf.forall of a tile program has no results: it stores");
      programs.push_back(forall);
      continue;
    }
    if (isTileConstant(&op)) {
      if (failed(verifyTileOp(&op)))
        return failure();
    } else if (auto temporary = dyn_cast<memref::AllocOp>(op)) {
      if (failed(verifyTemporary(temporary)))
        return failure();
    } else if (op.getNumRegions() != 0 || !isMemoryEffectFree(&op) ||
               llvm::any_of(op.getResultTypes(), llvm::IsaPred<TensorType>)) {
      return op.emitError("outside of the scf.forall, a tile program has only scalar code");
    }
    if (!programs.empty() && !op.hasTrait<OpTrait::ConstantLike>())
      return op.emitError("a tile program ends with its scf.forall");
  }
  return programs;
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
      FailureOr<SmallVector<scf::ForallOp>> programs = findPrograms(function);
      if (failed(programs) || (!programs->empty() && failed(convert(function, *programs))))
        return signalPassFailure();
    }
  }

  LogicalResult verifyOptions() {
    const auto refuse = [&](StringRef name, unsigned value, const Twine &limit) {
      return getOperation().emitError() << name << " = " << value << " is not " << limit;
    };
    if (lanes != 4 && lanes != 8 && lanes != 16)
      return refuse("lanes", lanes, "4, 8 or 16");
    if (vectors < 1 || vectors > maxTileVectors)
      return refuse("vectors", vectors, "in 1 to " + Twine(maxTileVectors));
    if (rows < 1 || rows > maxTileRows)
      return refuse("rows", rows, "in 1 to " + Twine(maxTileRows));
    if (amx && lanes != 16)
      return refuse("lanes", lanes, "16, which amx needs");
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
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (DictionaryAttr attributes = function.getArgAttrDict(i))
        result.setArgAttrs(i, attributes);
    Block *entry = result.addEntryBlock();
    scalars.map(function.getArguments(),
                entry->getArguments().take_front(function.getNumArguments()));
    return result;
  }

  /// One pair of functions for each forall, `X` and `X_items` for the first, `X_2` and `X_2_items`
  /// for the second, which may start when all items of the first are done; and with temporary
  /// tensors one function for the memory that they share.
  LogicalResult convert(func::FuncOp function, ArrayRef<scf::ForallOp> programs) {
    for (scf::ForallOp program : programs)
      if (failed(verifyTileProgram(*program.getBody())))
        return failure();
    // Packing pays where many blocks of queries share their keys, which is in the first program.
    std::optional<AmxProgram> packed;
    if (amx && (packed = matchAmxProgram(programs.front())))
      allocatePacked(*packed, programs.front());

    const std::string name = function.getName().str();
    const bool hasTemporaries = !function.getOps<memref::AllocOp>().empty();
    const size_t firstPhase = packed ? 2 : 1, phases = programs.size() + firstPhase - 1;
    SmallVector<std::string> taken;
    if (hasTemporaries)
      taken.push_back(name + "_workspace");
    for (size_t phase = 1; phase <= phases; ++phase) {
      if (phase > 1)
        taken.push_back(phaseName(name, phase));
      taken.push_back(phaseName(name, phase) + "_items");
    }
    for (const std::string &other : taken)
      if (getOperation().lookupSymbol(other))
        return function.emitError() << "needs the name " << other << ", which is taken";

    function.setName(name + "_tiles");
    if (hasTemporaries)
      emitWorkspace(function, name + "_workspace");
    if (packed)
      emitPackingPhase(function, phaseName(name, 1), *packed);
    for (auto [i, program] : llvm::enumerate(programs))
      if (failed(convert(function, program, phaseName(name, firstPhase + i), hasTemporaries,
                         packed && i == 0 ? &*packed : nullptr)))
        return failure();
    function.erase();
    return success();
  }

  static std::string phaseName(const std::string &name, size_t phase) {
    return phase == 1 ? name : name + "_" + std::to_string(phase);
  }

  LogicalResult convert(func::FuncOp function, scf::ForallOp program, const std::string &name,
                        bool hasTemporaries, const AmxProgram *packed) {
    VectorShape shape = shapeFor(usesDouble(program));
    if (packed)
      shape.columnMultiple = amxRows;
    shape.columnsOnLanes = program->hasAttr(tile::columnsOnLanesAttribute);
    shape.restsInGroups = !packed && !shape.columnsOnLanes;
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
    SmallVector<Type> more;
    if (hasTemporaries)
      more.push_back(workspaceType());
    more.push_back(index);
    auto item = start(function, name, more, {}, itemScalars);
    VectorBuilder b(program.getLoc(), &item.getBody().front(), shape);
    emitItem(b, function, program, item.getArguments().back(), itemScalars);
    if (hasTemporaries)
      emitTemporaries(b, function, item.getArguments().drop_back().back(), itemScalars);
    FailureOr<uint64_t> bytes = emitTileProgram(b, *program.getBody(), itemScalars, packed);
    if (failed(bytes))
      return failure();
    if (*bytes > maxScratchBytes)
      return program.emitError() << "needs " << *bytes << " bytes of scratch; the limit is "
                                 << maxScratchBytes
                                 << "; smaller blocks take less, down to one vector of "
                                    "queries and one key";
    item->setAttr("tilewright.scratch_bytes", b.getI64IntegerAttr(*bytes));
    b.setLoc(function.getLoc());
    func::ReturnOp::create(b);
    writeOutMath(item, shape);
    return success();
  }

  /// Items of the phase that packs keys and values for AMX: one for each head and block of keys.
  void emitPackingPhase(func::FuncOp function, const std::string &name, const AmxProgram &packed) {
    const Type index = IndexType::get(&getContext());
    const auto extentsOf = [&](IRMapping &scalars) {
      auto allocation = packed.packedValue.getDefiningOp<memref::AllocOp>();
      return llvm::map_to_vector(allocation.getDynamicSizes(),
                                 [&](Value extent) { return scalars.lookup(extent); });
    };
    IRMapping scalars;
    auto items = start(function, name + "_items", {}, index, scalars);
    VectorBuilder counting(function.getLoc(), &items.getBody().front(), shapeFor(false));
    emitScalars(counting, function, scalars);
    Value count = counting.index(1);
    for (Value extent : extentsOf(scalars))
      count = arith::MulIOp::create(counting, count, extent);
    func::ReturnOp::create(counting, count);

    IRMapping itemScalars;
    auto item = start(function, name, {workspaceType(), index}, {}, itemScalars);
    VectorBuilder b(function.getLoc(), &item.getBody().front(), shapeFor(false));
    emitScalars(b, function, itemScalars);
    emitTemporaries(b, function, item.getArguments().drop_back().back(), itemScalars);
    const SmallVector<Value> extents = extentsOf(itemScalars);
    Value number = item.getArguments().back();
    SmallVector<Value> position(extents.size());
    for (size_t dim = extents.size(); dim-- > 0;) {
      position[dim] = arith::RemUIOp::create(b, number, extents[dim]);
      number = arith::DivUIOp::create(b, number, extents[dim]);
    }
    emitPacking(b, packed, itemScalars, position);
    func::ReturnOp::create(b);
  }

  VectorShape shapeFor(bool isDouble) const {
    return {isDouble ? lanes / 2 : lanes, vectors, rows, lanes > 4};
  }

  //===--------------------------------------------------------------------===//
  // Temporary tensors
  //===--------------------------------------------------------------------===//

  MemRefType workspaceType() {
    return MemRefType::get({ShapedType::kDynamic}, IntegerType::get(&getContext(), 8));
  }

  /// `name`(arguments...) -> the bytes that the temporary tensors of a launch take together.
  void emitWorkspace(func::FuncOp function, const std::string &name) {
    IRMapping scalars;
    auto workspace = start(function, name, {}, IndexType::get(&getContext()), scalars);
    VectorBuilder b(function.getLoc(), &workspace.getBody().front(), shapeFor(false));
    emitScalars(b, function, scalars);
    Value end = b.index(0);
    for (auto temporary : function.getOps<memref::AllocOp>())
      end = emitEnd(b, temporary, end, scalars);
    func::ReturnOp::create(b, end);
  }

  void emitTemporaries(VectorBuilder &b, func::FuncOp function, Value workspace,
                       IRMapping &scalars) {
    Value offset = b.index(0);
    for (auto temporary : function.getOps<memref::AllocOp>()) {
      SmallVector<Value> extents = llvm::map_to_vector(
          temporary.getDynamicSizes(), [&](Value extent) { return scalars.lookup(extent); });
      scalars.map(temporary.getResult(),
                  memref::ViewOp::create(b, temporary.getType(), workspace, offset, extents));
      offset = emitEnd(b, temporary, offset, scalars);
    }
  }

  /// Where a temporary tensor that starts at `offset` ends, rounded up to whole cache lines.
  /// Extents that no memory could hold give a size that no caller has.
  static Value emitEnd(VectorBuilder &b, memref::AllocOp temporary, Value offset,
                       IRMapping &scalars) {
    const MemRefType type = temporary.getType();
    const Type i64 = b.getI64Type();
    uint64_t known = type.getElementTypeBitWidth() / 8;
    for (int64_t extent : type.getShape())
      known =
          ShapedType::isDynamic(extent) ? known : llvm::SaturatingMultiply<uint64_t>(known, extent);
    Value bytes = b.integer(i64, std::min<uint64_t>(known, mostBytes));
    for (Value extent : temporary.getDynamicSizes()) {
      auto product = arith::MulUIExtendedOp::create(
          b, bytes, arith::IndexCastOp::create(b, i64, scalars.lookup(extent)));
      Value fits =
          arith::CmpIOp::create(b, arith::CmpIPredicate::eq, product.getHigh(), b.integer(i64, 0));
      bytes = arith::SelectOp::create(b, fits, product.getLow(), b.integer(i64, mostBytes));
      bytes = arith::MinUIOp::create(b, bytes, b.integer(i64, mostBytes));
    }
    Value lines = arith::CeilDivUIOp::create(
        b, arith::IndexCastOp::create(b, b.getIndexType(), bytes), b.index(64));
    return arith::AddIOp::create(b, offset, arith::MulIOp::create(b, lines, b.index(64)));
  }

  /// The scalar code of the function.
  static void emitScalars(VectorBuilder &b, func::FuncOp function, IRMapping &scalars) {
    for (Operation &op : function.getBody().front().without_terminator())
      if (!isa<scf::ForallOp, memref::AllocOp>(op) && !isTileConstant(&op))
        b.clone(op, scalars);
  }

  /// The scalar code, and the forall's number of iterations in each dimension.
  SmallVector<Value> emitExtents(VectorBuilder &b, func::FuncOp function, scf::ForallOp program,
                                 IRMapping &scalars) {
    emitScalars(b, function, scalars);
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
