//===- Passes.td - Transformations within a dialect ---------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TRANSFORMS_PASSES_TD
#define TILEWRIGHT_COMPILER_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def AssignSchedule : Pass<"assign-schedule", "::mlir::ModuleOp"> {
  let summary = "say how each attention problem is to be cut into tiles";
  let description = [{
    Puts `tile.schedule = #tile.schedule<block_q = ..., block_kv = ...>` on every `attn.forward` that
    has none; a schedule that a file states stays as it is.
  }];
  let options = [
    Option<"blockQ", "block-q", "int64_t", "64", "query rows of a tile">,
    Option<"blockKV", "block-kv", "int64_t", "64", "key rows of a tile">];
  let dependentDialects = ["::tilewright::tile::TileDialect"];
}

def ExpandBlockRanges : Pass<"tile-expand-block-ranges", "::mlir::ModuleOp"> {
  let summary = "write block ranges out as index arithmetic";
  let description = [{
    Replaces each `tile.block_ranges` by a few scalar operations: for every half-plane, the keys that
    some query of the block sees and the keys that all of them see, in closed form by floor
    division; then the intersection, rounded outward to blocks for the visited range and inward for
    the full one. Positions stay below 2^31 and coefficients below 2^30, so 64 bits never overflow.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def PlanSharedMemory : Pass<"sm-plan-shared-memory", "::mlir::ModuleOp"> {
  let summary = "give each ring its place in shared memory";
  let description = [{
    Lays the stages of a grid's rings one behind the other in the order of their creation, then the
    barriers, and states the sum on the grid. A sum beyond what a block may have is an error.
  }];
  let dependentDialects = ["::tilewright::sm::SMDialect"];
}

#endif // TILEWRIGHT_COMPILER_TRANSFORMS_PASSES_TD
