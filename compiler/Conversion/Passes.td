//===- Passes.td - Conversions between dialects -------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_CONVERSION_PASSES_TD
#define TILEWRIGHT_COMPILER_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertAttnToTile : Pass<"convert-attn-to-tile", "::mlir::ModuleOp"> {
  let summary = "turn attention problems into programs on tiles";
  let description = [{
    Each `attn.forward` becomes one `scf.forall` over (batch, head, query block). Its body loads the
    query tile, walks the key blocks that `tile.block_ranges` yields with the online softmax, and
    stores the output tile. There is one loop for each range that can have blocks, over one of two
    bodies: full blocks carry the score function and no mask code, partial ones the mask and the
    bound of the key length too. The user's regions are inlined over tiles by cloning.

    The op must carry its schedule, `tile.schedule = #tile.schedule<...>` (see `assign-schedule`).
    Conditions of the mask that are not affine in the positions make every block partial; a remark
    names the first of them.

    With `decode-q` there are two further programs, for launches of fewer queries than `decode-below`
    (half of that in f64) and than block_q, which the first then leaves alone. Tiles of `decode-q` rows
    hold the queries of all heads that share their keys, blocks of keys are small, each item takes a
    run of about `decode-kv` keys, and what the items leave for a
    row is combined by the last program. Their states pass through temporary tensors, and both carry
    `tile.columns_on_lanes`.
  }];
  let options = [
    Option<"decodeQ", "decode-q", "int64_t", "0", "rows of a tile of few queries; 0: no programs of their own">,
    Option<"decodeBelow", "decode-below", "int64_t", "4096", "queries that are not few">,
    Option<"decodeKV", "decode-kv", "int64_t", "2048", "keys of an item with few queries">];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::tilewright::tile::TileDialect"];
}

def ConvertTileToVector : Pass<"convert-tile-to-vector", "::mlir::ModuleOp"> {
  let summary = "turn programs on tiles into vector code for a CPU";
  let description = [{
    Queries lie on the lanes of vectors: scores are computed as S^T = K Q^T and outputs as O^T = V^T
    P^T, so that maxima, sums, rescaling and masks are plain vertical operations and keys and values
    are read in place by broadcast (the scheme and its measurements: docs/cpu.md).

    The program's `scf.forall` becomes two functions: `<name>_items(arguments...) -> index` counts the
    independent items of work, `<name>(arguments..., item)` does one. Every tile value gets a home by
    its op: a view for keys and values, scratch on the stack for scores, transposed queries and
    accumulators. A program that would need a copy between two homes is refused at the op.

    Of a forall with `tile.columns_on_lanes`, columns lie on the lanes instead: keys and values are
    read a vector at a time, and rows are computed one or two at a time, only those that are stored.

    `lanes` is the number of f32 in a vector; a tile of the micro-kernel is `rows` broadcasts by
    `vectors` vectors.

    With `amx`, the recurrence of attention in bf16 runs on AMX: a phase of its own packs keys
    and values into the workspace, where all blocks of queries find them. Products of one block and
    exponentials of another alternate. Remarks say what keeps a program in bf16 from either.
  }];
  let options = [
    Option<"lanes", "lanes", "unsigned", "8", "f32 elements of one vector: 4, 8 or 16">,
    Option<"vectors", "vectors", "unsigned", "3", "vectors of queries of a register tile">,
    Option<"rows", "rows", "unsigned", "4", "broadcast rows of a register tile">,
    Option<"amx", "amx", "bool", "false", "multiply bf16 with AMX, for 16 lanes">];
  let dependentDialects = [
    "::mlir::amx::AMXDialect", "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def ConvertTileToSM : Pass<"convert-tile-to-sm", "::mlir::ModuleOp"> {
  let summary = "spread programs on tiles over one multiprocessor";
  let description = [{
    The program's `scf.forall` becomes an `sm.grid`. Loads whose tiles feed products become rings: a
    producer for queries and keys and one for values walk the loops for nothing but these loads.
    The rest is done by consumers, one warpgroup for each 64 rows of a block; tiles get the layouts
    that products have, weights are rounded to the values' dtype in their registers, each product
    is awaited at once, and stages are released after their last use.

    The roles' registers are what a launch gives all threads (see `sm-plan-registers`). A program
    that would need more, such as a loaded tile in arithmetic, is refused at the op.
  }];
  let options = [Option<"stages", "stages", "int64_t", "2", "stages of the rings of keys and values">];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::tilewright::sm::SMDialect"];
}

def ConvertSMToNVVM : Pass<"convert-sm-to-nvvm", "::mlir::ModuleOp"> {
  let summary = "turn programs for a multiprocessor into kernels";
  let description = [{
    Each function with an `sm.grid` becomes an `llvm.func` of the same name, a kernel for sm_90a: what
    one thread does. Register tiles become vectors of the elements that a thread holds, stages and
    phases of rings become loop-carried integers, products become inline PTX with their
    accumulators tied through it, and control flow stays `scf`.

    Tensors become addresses, extents, strides and tensor maps, only those in use; `sm.parameters` on
    the kernel says which parameter is what, `sm.shared_memory` how many bytes to launch with.
    Every ring must have its place in shared memory (see `sm-plan-shared-memory`).
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

#endif // TILEWRIGHT_COMPILER_CONVERSION_PASSES_TD
