//===- TileOps.td - The tile dialect: in which order --------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_DIALECT_TILE_TILEOPS_TD
#define TILEWRIGHT_DIALECT_TILE_TILEOPS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::tilewright::tile";
  let summary = "One block's program on tiles: in which order";
  let description = [{
    A tile program is a function with one `scf.forall` over independent blocks of work. Inside,
    values are tiles: builtin ranked tensors with static shape, as SSA values, without threads and
    without memory spaces. Elementwise arith and math ops apply to tiles unchanged, so a user's
    scalar function is inlined over a tile by cloning it. Loops are `scf.for`.

    docs/tile.md gives the grammar that targets accept.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let hasOperationAttrVerify = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

def Tile_ScheduleAttr : AttrDef<Tile_Dialect, "Schedule"> {
  let mnemonic = "schedule";
  let summary = "how a problem is cut into tiles";
  let description = [{
    block_q query rows and block_kv key rows a tile, both at least 1 and at most 4096. The attribute
    sits on `attn.forward` under the name `tile.schedule`; `convert-attn-to-tile` turns it into
    the shapes of tiles, after which it is gone.

    Example: `#tile.schedule<block_q = 64, block_kv = 96>`
  }];
  let parameters = (ins "int64_t":$block_q, "int64_t":$block_kv);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Tile_HalfPlaneAttr : AttrDef<Tile_Dialect, "HalfPlane"> {
  let mnemonic = "half_plane";
  let summary = "the coefficients of one affine visibility condition";
  let description = [{
    The pair (q, k) of the condition `q * query + k * key + offset >= 0`; the offset is an operand
    of the op that carries the attribute. `k <= q` is `<q = 1, k = -1>` with offset 0.
  }];
  let parameters = (ins "int64_t":$q, "int64_t":$k);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}
def Tile_HalfPlanes : TypedArrayAttrBase<Tile_HalfPlaneAttr, "array of half-planes">;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

def Tile_Element : AnyTypeOf<[F64, F32, F16, BF16, I64, I32, I8, I1]>;
def Tile_Float : AnyTypeOf<[F64, F32, F16, BF16]>;
def Tile_Real : AnyTypeOf<[F64, F32]>;

class Tile_StaticShaped<Type type> : ConfinedType<type,
  [CPred<"::llvm::cast<::mlir::ShapedType>($_self).hasStaticShape()">], type.summary # " with a static shape">;

/// A tile: rows x columns.
class Tile_Tile<Type element> : Tile_StaticShaped<TensorRankOf<[element], [2]>>;
/// One value a row.
class Tile_Row<Type element> : Tile_StaticShaped<TensorRankOf<[element], [1]>>;
class Tile_TileOrRow<Type element> : Tile_StaticShaped<TensorRankOf<[element], [1, 2]>>;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

class Tile_Op<string mnemonic, list<Trait> traits = []> : Op<Tile_Dialect, mnemonic, traits>;

def Tile_LoadOp : Tile_Op<"load"> {
  let summary = "reads a tile of consecutive rows";
  let description = [{
    A rank-2 tile M x N from a tensor of rank r: `indices` are the r - 2 leading indices and then
    the first row; columns are the whole innermost dimension, whose static extent is N. A rank-1
    tile takes r indices, the last being the first element. Rows past the tensor's extent are
    filled with zero and never read. Elements keep the tensor's type.

    With one index fewer, rows run over two dimensions: of a tensor [.., n, g, columns], row i is
    element [i floordiv g, i mod g]. So a tile can hold the queries of several heads.

    ```mlir
    %k = tile.load %key[%b, %hkv, %first_key] : memref<?x?x?x64xf32, #any> -> tensor<96x64xf32>
    ```
  }];
  let arguments = (ins
    Arg<AnyMemRef, "tensor in global memory", [MemRead]>:$source,
    Variadic<Index>:$indices);
  let results = (outs Tile_TileOrRow<Tile_Element>:$result);
  let assemblyFormat = "$source `[` $indices `]` attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_StoreOp : Tile_Op<"store"> {
  let summary = "writes a tile of consecutive rows";
  let description = [{
    The counterpart of `tile.load`, with the same indices: rows past the tensor's extent are not
    written.

    ```mlir
    tile.store %o, %out[%b, %h, %first_query] : tensor<64x64xf32>, memref<?x?x?x64xf32, #any>
    ```
  }];
  let arguments = (ins
    Tile_TileOrRow<Tile_Element>:$value,
    Arg<AnyMemRef, "tensor in global memory", [MemWrite]>:$target,
    Variadic<Index>:$indices);
  let assemblyFormat = "$value `,` $target `[` $indices `]` attr-dict `:` type($value) `,` type($target)";
  let hasVerifier = 1;
}

def Tile_GatherOp : Tile_Op<"gather"> {
  let summary = "reads one element of a tensor for each element of a tile";
  let description = [{
    result[i, j] = source[indices[0][i, j], indices[1][i, j], ...]. Each index is clamped to its
    extent, so that the rows and keys by which a tile reaches past the problem read something
    harmless instead of foreign memory; inside the problem a launch has shown every index to be in
    range. Offsets are computed in 64 bits.

    ```mlir
    %bias = tile.gather %table[%h, %distance] : memref<?x?xf32, #any> -> tensor<64x96xf32>
    ```
  }];
  let arguments = (ins
    Arg<AnyMemRef, "tensor in global memory", [MemRead]>:$source,
    Variadic<Tile_Tile<I32>>:$indices);
  let results = (outs Tile_Tile<Tile_Element>:$result);
  let assemblyFormat = [{
    $source `[` $indices `]` attr-dict `:` type($source) `->` type($result)
    `` custom<IndexTypes>(ref($indices), type($indices), ref(type($result)))
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Tiles from scalars and rows
//===----------------------------------------------------------------------===//

def Tile_CoordOp : Tile_Op<"coord", [Pure]> {
  let summary = "the positions of a tile's rows or columns";
  let description = [{
    result[i, j] = first + i for `dim = 0`, first + j for `dim = 1`. Positions are below 2^31.

    ```mlir
    %q = tile.coord %first_query, dim = 0 : tensor<64x96xi32>
    ```
  }];
  let arguments = (ins Index:$first, ConfinedAttr<I64Attr, [IntNonNegative, IntMaxValue<1>]>:$dim);
  let results = (outs Tile_Tile<I32>:$result);
  let assemblyFormat = "$first `,` `dim` `=` $dim attr-dict `:` type($result)";
}

def Tile_BroadcastOp : Tile_Op<"broadcast", [Pure]> {
  let summary = "a tile of one scalar, or of one value a row";
  let description = [{
    From a scalar: result[i, j] = source (or result[i] = source). From a row vector: result[i, j] =
    source[i].

    ```mlir
    %scales = tile.broadcast %scale : f32 -> tensor<64x96xf32>
    %shifts = tile.broadcast %lse : tensor<64xf32> -> tensor<64x96xf32>
    ```
  }];
  let arguments = (ins AnyTypeOf<[Tile_Element, Tile_Row<Tile_Element>]>:$source);
  let results = (outs Tile_TileOrRow<Tile_Element>:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

def Tile_MmaOp : Tile_Op<"mma", [Pure]> {
  let summary = "matrix product with an accumulator";
  let description = [{
    result = lhs * rhs + accumulator, or lhs * rhs without one; with `transpose_rhs` the product
    takes rhs as columns x depth, which is how keys lie in memory. Operands of any float type are
    widened exactly; products are summed in the result's type, f32 (f64 for f64 operands), in an
    order that is the target's.

    A row of rhs beyond the tensor it was loaded from adds nothing to a result.

    ```mlir
    %s = tile.mma %q, %k {transpose_rhs} : tensor<64x64xf32>, tensor<96x64xf32> -> tensor<64x96xf32>
    %o = tile.mma %p, %v acc %o0 : tensor<64x96xf32>, tensor<96x64xf32> -> tensor<64x64xf32>
    ```
  }];
  let arguments = (ins
    Tile_Tile<Tile_Float>:$lhs, Tile_Tile<Tile_Float>:$rhs,
    Optional<Tile_Tile<Tile_Real>>:$accumulator, UnitAttr:$transpose_rhs);
  let results = (outs Tile_Tile<Tile_Real>:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs (`acc` $accumulator^)? attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)
    `` custom<AccumulatorType>(ref($accumulator), type($accumulator), ref(type($result)))
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// The online softmax
//===----------------------------------------------------------------------===//
//
// For each row the recurrence carries a reference m and a sum l = sum over the visible keys seen so
// far of exp(s - m). m is a reference and not the maximum: it is finite once the row has seen a
// visible key and -inf ("none") before; nothing else may be assumed of it. A running maximum, a
// lazily raised one and the first block's maximum are all correct, and l * exp(m) is the same for
// all. Base e and natural scores are inherent to the ops.

def Tile_SoftmaxInitOp : Tile_Op<"softmax_init", [Pure]> {
  let summary = "the state of rows that have seen no key";
  let description = [{
    m = -inf (none) and l = 0 in every row.

    ```mlir
    %m, %l = tile.softmax_init : tensor<64xf32>
    ```
  }];
  let results = (outs Tile_Row<Tile_Real>:$reference, Tile_Row<Tile_Real>:$sum);
  let assemblyFormat = "attr-dict `:` custom<SameType>(type($reference), type($sum))";
  let hasVerifier = 1;
}

def Tile_SoftmaxStepOp : Tile_Op<"softmax_step", [Pure, InferTypeOpAdaptor]> {
  let summary = "takes one tile of scores into the online softmax";
  let description = [{
    With a new reference m' for each row (here: max(m, the row's largest score)):

        p = exp(s - m'),  alpha = exp(m - m'),  l' = l * alpha + sum of p over the row

    A score of -inf is a hidden key and has p = 0 exactly, also in rows whose m' is none; alpha is 0
    while m is none. With a running maximum alpha lies in [0, 1]. The subtraction comes before any
    multiplication by a constant of the base change, so that huge finite scores stay exact. A score
    of +inf or NaN makes l' NaN.

    ```mlir
    %p, %m1, %l1, %alpha = tile.softmax_step %s, %m, %l : tensor<64x96xf32>
    ```
  }];
  let arguments = (ins Tile_Tile<Tile_Real>:$scores, Tile_Row<Tile_Real>:$reference, Tile_Row<Tile_Real>:$sum);
  let results = (outs Tile_Tile<Tile_Real>:$weights, Tile_Row<Tile_Real>:$new_reference,
                      Tile_Row<Tile_Real>:$new_sum, Tile_Row<Tile_Real>:$alpha);
  let assemblyFormat = [{
    $scores `,` $reference `,` $sum attr-dict `:` type($scores)
    `` custom<StateOfScores>(ref(type($scores)), type($reference), type($sum))
  }];
  let hasVerifier = 1;
}

def Tile_RescaleOp : Tile_Op<"rescale", [Pure, AllTypesMatch<["accumulator", "result"]>]> {
  let summary = "moves an accumulator to a new reference";
  let description = [{
    result[i, j] = accumulator[i, j] * alpha[i]. An op of its own so that it can be made lazy or be
    done by somebody else than the one who takes the step.

    ```mlir
    %o1 = tile.rescale %o, %alpha : tensor<64x64xf32>
    ```
  }];
  let arguments = (ins Tile_Tile<Tile_Real>:$accumulator, Tile_Row<Tile_Real>:$alpha);
  let results = (outs Tile_Tile<Tile_Real>:$result);
  let assemblyFormat = "$accumulator `,` $alpha attr-dict `:` type($accumulator) `` custom<RowOfTile>(ref(type($accumulator)), type($alpha))";
  let hasVerifier = 1;
}

def Tile_SoftmaxFinalizeOp : Tile_Op<"softmax_finalize", [Pure, AllTypesMatch<["accumulator", "out"]>, AllTypesMatch<["reference", "sum", "lse"]>]> {
  let summary = "divides by the sum, and decides what an empty row is";
  let description = [{
    out = accumulator / l and lse = m + ln(l); rows that have seen no key (l = 0) get out = 0 and
    lse = -inf. The only division of the recurrence; a CPU divides once for each row.

    ```mlir
    %out, %lse = tile.softmax_finalize %o, %m, %l : tensor<64x64xf32>
    ```
  }];
  let arguments = (ins Tile_Tile<Tile_Real>:$accumulator, Tile_Row<Tile_Real>:$reference, Tile_Row<Tile_Real>:$sum);
  let results = (outs Tile_Tile<Tile_Real>:$out, Tile_Row<Tile_Real>:$lse);
  let assemblyFormat = [{
    $accumulator `,` $reference `,` $sum attr-dict `:` type($accumulator)
    `` custom<StateOfScores>(ref(type($accumulator)), type($reference), type($sum))
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Block ranges
//===----------------------------------------------------------------------===//

def Tile_BlockRangesOp : Tile_Op<"block_ranges", [Pure]> {
  let summary = "which key blocks a block of queries visits";
  let description = [{
    For the queries in [first_query, end_query) and the key blocks [j * block_kv, (j + 1) *
    block_kv), four block numbers begin <= full_begin <= full_end <= end:

        [begin, full_begin)     partial: some key may be hidden from some query
        [full_begin, full_end)  full: every key is visible to every query and below key_count
        [full_end, end)         partial

    and every block outside [begin, end) is hidden from all of these queries. A key is visible to a
    query where every half-plane holds, `q * query + k * key + offset >= 0`, and the key is below
    key_count. With `inexact` the mask has further conditions, unknown here: nothing is full. Where
    nothing is full, all partial blocks are in the last range; the first one is not empty only if
    some half-plane has k > 0.

    Example: causal, blocks of 96 keys.

    ```mlir
    %ranges:4 = tile.block_ranges queries %q0 to %q1 keys %kv_len block 96
      where [#tile.half_plane<q = 1, k = -1>](%zero)
    ```

    `tile-expand-block-ranges` writes it out as index arithmetic.
  }];
  let arguments = (ins Index:$first_query, Index:$end_query, Index:$key_count,
    Variadic<Index>:$offsets, ConfinedAttr<I64Attr, [IntPositive]>:$block_kv,
    Tile_HalfPlanes:$half_planes, UnitAttr:$inexact);
  let results = (outs Index:$begin, Index:$full_begin, Index:$full_end, Index:$end);
  let assemblyFormat = [{
    `queries` $first_query `to` $end_query `keys` $key_count `block` $block_kv
    `where` $half_planes `(` $offsets `)` (`inexact` $inexact^)? attr-dict
  }];
  let hasVerifier = 1;
}

#endif // TILEWRIGHT_DIALECT_TILE_TILEOPS_TD
