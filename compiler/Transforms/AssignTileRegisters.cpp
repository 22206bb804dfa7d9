//===- AssignTileRegisters.cpp - Tiles in registers of our choice ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"

#include "llvm/ADT/StringSwitch.h"

namespace tilewright {
#define GEN_PASS_DEF_ASSIGNTILEREGISTERS
#include "compiler/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace tilewright;

static constexpr int64_t registerCount = 8, tileRows = 16, rowBytes = 64;

namespace {
enum class Kind { None, Load, Zero, Product, Store, Other };

/// The registers of one function.
struct Assignment {
  explicit Assignment(LLVM::LLVMFuncOp function) : function(function) {}

  LLVM::LLVMFuncOp function;
  SmallVector<LLVM::CallIntrinsicOp> calls;
  llvm::DenseMap<Value, int64_t> registerOf;
  /// Left operands of products.
  llvm::DenseSet<Value> lefts;
  StringRef problem;

  static Kind kindOf(LLVM::CallIntrinsicOp call) {
    StringRef name = call.getIntrin();
    if (!name.consume_front("llvm.x86.t"))
      return Kind::None;
    return llvm::StringSwitch<Kind>(name)
        .Case("ileloadd64.internal", Kind::Load)
        .Case("ilezero.internal", Kind::Zero)
        .Case("dpbf16ps.internal", Kind::Product)
        .Case("ilestored64.internal", Kind::Store)
        .StartsWith("ile", Kind::Other)
        .StartsWith("dp", Kind::Other)
        .Default(Kind::None);
  }

  static bool isTile(Value value) { return isa<LLVM::LLVMX86AMXType>(value.getType()); }

  bool require(bool condition, StringRef message) {
    if (!condition && problem.empty())
      problem = message;
    return condition;
  }

  static bool isWhole(LLVM::CallIntrinsicOp call) {
    for (Value argument : call.getArgs()) {
      if (!argument.getType().isInteger(16))
        continue;
      APInt extent;
      if (!matchPattern(argument, m_ConstantInt(&extent)) ||
          (extent != tileRows && extent != rowBytes))
        return false;
    }
    return true;
  }

  bool assign() {
    for (Block &block : function.getBody())
      if (!assign(block))
        return false;
    return true;
  }

  /// The register that has been free longest gets the next tile.
  bool assign(Block &block) {
    SmallVector<int64_t> free = llvm::to_vector(llvm::seq<int64_t>(0, registerCount));
    const auto release = [&](Value tile, Operation *user) {
      const auto isLater = [&](Operation *other) { return user->isBeforeInBlock(other); };
      if (llvm::none_of(tile.getUsers(), isLater))
        free.push_back(registerOf.lookup(tile));
    };
    for (Operation &op : block) {
      auto call = dyn_cast<LLVM::CallIntrinsicOp>(op);
      const Kind kind = call ? kindOf(call) : Kind::None;
      if (kind == Kind::None) {
        const auto touches = [](auto values) { return llvm::any_of(values, isTile); };
        if (!require(!touches(op.getOperands()) && !touches(op.getResults()),
                     "something else than a load, a product or a store has a tile"))
          return false;
        continue;
      }
      if (!require(kind != Kind::Other && isWhole(call),
                   "tiles are not all of 16 x 16 f32 or 16 x 32 bf16"))
        return false;
      SmallVector<Value> tiles = llvm::filter_to_vector(call.getArgs(), isTile);
      if (!require(llvm::all_of(tiles, [&](Value tile) { return registerOf.contains(tile); }) &&
                       llvm::none_of(op.getUsers(),
                                     [&](Operation *user) { return user->getBlock() != &block; }),
                   "a tile is used in another block of code than its own"))
        return false;
      calls.push_back(call);
      if (kind == Kind::Product) {
        // The sum stays where it is.
        if (!require(tiles[0].hasOneUse(), "a sum is read after a product has been added to it"))
          return false;
        registerOf[op.getResult(0)] = registerOf.lookup(tiles[0]);
        lefts.insert(tiles[1]);
        release(tiles[1], &op);
        if (tiles[2] != tiles[1])
          release(tiles[2], &op);
      } else if (kind == Kind::Store) {
        release(tiles[0], &op);
      } else {
        if (!require(!free.empty(), "more than 8 tiles are live"))
          return false;
        registerOf[op.getResult(0)] = free.front();
        free.erase(free.begin());
      }
    }
    return true;
  }

  void rewrite() {
    ImplicitLocOpBuilder b(function.getLoc(), function.getContext());
    const auto call = [&](StringRef name, ValueRange operands) {
      LLVM::CallIntrinsicOp::create(b, b.getStringAttr(name), operands);
    };
    const auto constant = [&](Type type, int64_t value) -> Value {
      return LLVM::ConstantOp::create(b, type, b.getIntegerAttr(type, value));
    };
    for (LLVM::CallIntrinsicOp old : calls) {
      b.setInsertionPoint(old);
      b.setLoc(old.getLoc());
      const auto number = [&](Value tile) {
        return constant(b.getI8Type(), registerOf.lookup(tile));
      };
      const auto args = old.getArgs();
      switch (kindOf(old)) {
      case Kind::Load:
        call(lefts.contains(old.getResult(0)) ? "llvm.x86.tileloaddt164" : "llvm.x86.tileloadd64",
             {number(old.getResult(0)), args[2], args[3]});
        break;
      case Kind::Zero:
        call("llvm.x86.tilezero", {number(old.getResult(0))});
        break;
      case Kind::Product:
        call("llvm.x86.tdpbf16ps", {number(args[3]), number(args[4]), number(args[5])});
        break;
      default:
        call("llvm.x86.tilestored64", {number(args[4]), args[2], args[3]});
      }
    }
    for (LLVM::CallIntrinsicOp old : llvm::reverse(calls))
      old.erase();
    configure(b, call, constant);
  }

  /// All registers are whole tiles from the function's start to its end.
  void configure(ImplicitLocOpBuilder &b, auto call, auto constant) {
    const Type i8 = b.getI8Type(), i16 = b.getI16Type();
    auto pointer = LLVM::LLVMPointerType::get(b.getContext());
    b.setLoc(function.getLoc());
    b.setInsertionPointToStart(&function.getBody().front());
    Value table = LLVM::AllocaOp::create(b, pointer, i8, constant(b.getI64Type(), 64), 64);
    LLVM::MemsetOp::create(b, table, constant(i8, 0), constant(b.getI64Type(), 64), false);
    const auto store = [&](Type type, int64_t value, int64_t offset) {
      Value place = LLVM::GEPOp::create(b, pointer, i8, table,
                                        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)});
      LLVM::StoreOp::create(b, constant(type, value), place);
    };
    store(i8, 1, 0);
    for (int64_t i = 0; i < registerCount; ++i) {
      store(i16, rowBytes, 16 + 2 * i);
      store(i8, tileRows, 48 + i);
    }
    call("llvm.x86.ldtilecfg", {table});
    function.walk([&](LLVM::ReturnOp end) {
      b.setInsertionPoint(end);
      call("llvm.x86.tilerelease", {});
    });
  }
};

struct AssignTileRegisters : tilewright::impl::AssignTileRegistersBase<AssignTileRegisters> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<LLVM::LLVMFuncOp>()) {
      Assignment assignment(function);
      if (!assignment.assign())
        remark::missed(
            function.getLoc(),
            remark::RemarkOpts::name("no-tile-registers").category("assign-tile-registers"))
            << remark::add("LLVM chooses the registers of tiles: {0}", assignment.problem);
      else if (!assignment.calls.empty())
        assignment.rewrite();
    }
  }
};
} // namespace
