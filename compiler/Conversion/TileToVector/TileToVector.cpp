//===- TileToVector.cpp - Programs on tiles as vector code ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/Passes.h"
#include "dialect/Tile/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace tilewright {
#define GEN_PASS_DEF_CONVERTTILETOVECTOR
#include "compiler/Conversion/Passes.h.inc"
} // namespace tilewright

using namespace mlir;

namespace {
struct TileToVector : tilewright::impl::ConvertTileToVectorBase<TileToVector> {
  using ConvertTileToVectorBase::ConvertTileToVectorBase;
  void runOnOperation() override {
    getOperation().walk([&](scf::ForallOp program) {
      program.emitError("tile programs cannot be turned into vector code yet");
      signalPassFailure();
    });
  }
};
} // namespace
