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

def AssignTileRegisters : Pass<"assign-tile-registers", "::mlir::ModuleOp"> {
  let summary = "choose the registers of AMX tiles";
  let description = [{
    In the llvm dialect: replaces intrinsics on tiles as values by those that name a register, and
    sets the unit up once a function. Each tile gets the register that has been free longest, since
    a register that a product still reads cannot be loaded again before it is done; LLVM's allocator
    would take the lowest one that is free. Left operands of products, which are keys and values,
    are loaded with the hint that they need not stay in the cache. Functions with tiles that are not
    whole, that live in more than one block, or that are more than 8 stay as they are, which a
    remark says.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
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

def PlanRegisters : Pass<"sm-plan-registers", "::mlir::ModuleOp"> {
  let summary = "move registers from producers to consumers";
  let description = [{
    A launch gives all threads the same number of registers. Producers keep 24 each, or 72 where
    their threads do the copying, and their warpgroup's rest goes to the consumers in equal parts, in steps of 8 up to 240.
  }];
  let dependentDialects = ["::tilewright::sm::SMDialect"];
}

def PlanSharedMemory : Pass<"sm-plan-shared-memory", "::mlir::ModuleOp"> {
  let summary = "give each ring its place in shared memory";
  let description = [{
    Lays the stages of a grid's rings one behind the other in the order of their creation, then the
    barriers, and states the sum on the grid. A sum beyond what a block may have is an error.
  }];
  let dependentDialects = ["::tilewright::sm::SMDialect"];
}

def VerifyProtocol : Pass<"sm-verify-protocol", "::mlir::ModuleOp"> {
  let summary = "check that the roles of a program fit together";
  let description = [{
    What a type or a single op cannot say. Changes nothing; the first violation is an error.

    - A stage is committed (released) once, in the block of code that acquired (waited for) it; a
      producer fills it by one copy before that; consumers release it after every product that
      reads it has been awaited, and do not read it again.
    - A ring has one producer, and its consumers go round it as often: the trip counts of both
      are equal as polynomials in SSA values. Loops step by 1 and none is taken to run backwards.
      Every path through a condition goes round equally often.
    - `arrivals` is the number of warps that release a stage.
    - A product is awaited once, is under no condition, and nothing touches its accumulator or
      left operand in registers before that.
    - Registers are what `setmaxnreg` takes, at most four producers share one budget, and all budgets
      together fit into what the launch allocates; threads and shared memory fit into a block.
  }];
}

#endif // TILEWRIGHT_COMPILER_TRANSFORMS_PASSES_TD
