//===- AttnOps.td - The attn dialect: what is computed ------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_DIALECT_ATTN_ATTNOPS_TD
#define TILEWRIGHT_DIALECT_ATTN_ATTNOPS_TD

include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"

def Attn_Dialect : Dialect {
  let name = "attn";
  let cppNamespace = "::tilewright::attn";
  let summary = "An attention problem: what is computed, not how";
  let description = [{
    One op states the whole problem on the caller's tensors; its two regions hold the user's score
    function and mask as scalar code. The dialect knows mathematics and nothing else: no tiles, no
    order of evaluation, no machine.

    A function argument may carry `attn.name = "window"`: the name by which a host, an option or a
    message speaks of it.
  }];
  let hasRegionArgAttrVerify = 1;
  let hasConstantMaterializer = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

class Attn_Op<string mnemonic, list<Trait> traits = []> : Op<Attn_Dialect, mnemonic, traits>;

/// The dtypes of query, key and value.
def Attn_Float : AnyTypeOf<[F64, F32, F16, BF16]>;
def Attn_Tensor : MemRefRankOf<[Attn_Float], [4]>;
def Attn_RowTensor : MemRefRankOf<[AnyTypeOf<[F64, F32]>], [3]>;
/// The type of scores: f64 in an f64 problem, otherwise f32.
def Attn_Real : AnyTypeOf<[F64, F32]>;

def Attn_ForwardOp : Attn_Op<"forward", [SingleBlock]> {
  let summary = "exact attention, forward";
  let description = [{
    For every batch b, query head h and query position q, over all key positions k:

        score(k)  = score_region(scale * dot(query[b, h, q, :], key[b, hkv, k, :]), positions...)
        hidden(k) = not mask_region(positions...)   or   score(k) == -inf
        p(k)      = hidden(k) ? 0 : exp(score(k) - max over visible keys)
        out[b, h, q, :] = sum_k p(k) * value[b, hkv, k, :] / sum_k p(k)
        lse[b, h, q]    = natural log of sum over visible keys of exp(score(k))

    where hkv = h floordiv (query heads / key heads). A row with no visible key gets out = 0 and
    lse = -inf; so does every row when there are no keys at all. A score that is +inf or NaN makes
    its row NaN. Empty batch, heads or queries write nothing.

    Operands, all with any strides but an innermost one of 1:

    | name    | type                | shape                |
    |---------|---------------------|----------------------|
    | query   | f64, f32, f16, bf16 | [b, h, q_len, d]     |
    | key     | as query            | [b, hkv, kv_len, d]  |
    | value   | as query            | [b, hkv, kv_len, dv] |
    | out     | as query, or f32    | [b, h, q_len, dv]    |
    | lse     | f32 (f64 if f64)    | [b, h, q_len]        |
    | scale   | f32 (f64 if f64)    |                      |

    d and dv are static and positive; every other extent may be dynamic; h is a multiple of hkv, a
    condition on the sizes of a launch. The outputs overlap no other tensor.

    The regions see scalars. The score region's arguments are (score, b, h, hkv, q, k, q_len,
    kv_len) and it yields the new score; the mask region's are the same without the score and it
    yields i1, true for a visible key. The order is fixed: scale, score, mask, softmax. Bodies are
    free of side effects: constants, arith and math on scalars, `attn.floor_div`, `attn.floor_mod`,
    and `attn.element` to read a captured tensor. Scalars from outside may be used freely.

    Example, a causal sliding window:

    ```mlir
    attn.forward q(%q : !qkv) k(%k : !qkv) v(%v : !qkv) o(%o : !qkv) scale(%scale : f32)
      mask {
      ^bb0(%b: i32, %h: i32, %hkv: i32, %qi: i32, %ki: i32, %q_len: i32, %kv_len: i32):
        %past = arith.cmpi sle, %ki, %qi : i32
        %distance = arith.subi %qi, %ki : i32
        %near = arith.cmpi slt, %distance, %window : i32
        %keep = arith.andi %past, %near : i1
        attn.yield %keep : i1
      }
    ```

    `convert-attn-to-tile` turns it into a program on tiles.
  }];

  let arguments = (ins
    Arg<Attn_Tensor, "[b, h, q_len, d]", [MemRead]>:$query,
    Arg<Attn_Tensor, "[b, hkv, kv_len, d]", [MemRead]>:$key,
    Arg<Attn_Tensor, "[b, hkv, kv_len, dv]", [MemRead]>:$value,
    Arg<Attn_Tensor, "[b, h, q_len, dv]", [MemWrite]>:$out,
    Arg<Optional<Attn_RowTensor>, "[b, h, q_len]", [MemWrite]>:$lse,
    Attn_Real:$scale);
  let regions = (region MaxSizedRegion<1>:$score, MaxSizedRegion<1>:$mask);

  let assemblyFormat = [{
    `q` `(` $query `:` type($query) `)` `k` `(` $key `:` type($key) `)`
    `v` `(` $value `:` type($value) `)` `o` `(` $out `:` type($out) `)`
    (`lse` `(` $lse^ `:` type($lse) `)`)? `scale` `(` $scale `:` type($scale) `)`
    (`score` $score^)? (`mask` $mask^)? attr-dict
  }];

  let extraClassDeclaration = [{
    /// The positions of the mask region's arguments; the score region's come one later.
    enum Position { Batch, Head, KeyHead, Query, Key, QueryLength, KeyLength, NumPositions };

    /// f64 in an f64 problem, otherwise f32.
    ::mlir::Type getRealType() { return getScale().getType(); }
    int64_t getHeadDim() { return getQuery().getType().getShape()[3]; }
    int64_t getValueDim() { return getValue().getType().getShape()[3]; }

    /// The argument types that each region must have.
    ::llvm::SmallVector<::mlir::Type> getScoreArgumentTypes();
    ::llvm::SmallVector<::mlir::Type> getMaskArgumentTypes();
  }];

  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let hasCanonicalizeMethod = 1;
}

def Attn_YieldOp : Attn_Op<"yield", [Pure, Terminator, HasParent<"ForwardOp">]> {
  let summary = "the result of a score or mask region";
  let description = [{
    Yields the new score (the problem's real type) or whether the key is visible (i1).
  }];
  let arguments = (ins AnyTypeOf<[F64, F32, I1]>:$value);
  let assemblyFormat = "$value `:` type($value) attr-dict";
}

/// What a captured tensor may hold; i8 stands for both u8 and bool.
def Attn_Element : AnyTypeOf<[F64, F32, F16, BF16, I64, I32, I8]>;

def Attn_ElementOp : Attn_Op<"element", [HasParent<"ForwardOp">,
    TypesMatchWith<"the result has the tensor's element type", "tensor", "result",
                   "::llvm::cast<::mlir::MemRefType>($_self).getElementType()">]> {
  let summary = "reads one element of a captured tensor";
  let description = [{
    The only way in which a region reads memory. Indices are i32, one for each dimension, and must
    lie inside the tensor for every position of a launch: a launch that could read outside is
    refused before it starts. The result is the element as it is stored; widening is written out.

    Example: a bias per head, `slope[h]`:

    ```mlir
    %slope = attn.element %slopes[%h] : memref<?xf32, strided<[?], offset: ?>>
    ```
  }];
  let arguments = (ins
    Arg<MemRefOf<[Attn_Element]>, "the captured tensor", [MemRead]>:$tensor,
    Variadic<I32>:$indices);
  let results = (outs Attn_Element:$result);
  let assemblyFormat = "$tensor `[` $indices `]` `:` type($tensor) attr-dict";
  let hasVerifier = 1;
}

class Attn_DivisionOp<string mnemonic> : Attn_Op<mnemonic, [Pure, SameOperandsAndResultType]> {
  let arguments = (ins I32:$lhs, I32:$rhs);
  let results = (outs I32:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($result)";
  let hasFolder = 1;
}

def Attn_FloorDivOp : Attn_DivisionOp<"floor_div"> {
  let summary = "integer quotient rounded toward minus infinity";
  let description = [{
    Total: a zero divisor gives 0, and -2^31 by -1 wraps to -2^31. arith's divisions leave both
    undefined, so user code never uses them.
  }];
}

def Attn_FloorModOp : Attn_DivisionOp<"floor_mod"> {
  let summary = "integer remainder with the sign of the divisor";
  let description = [{
    lhs - floor_div(lhs, rhs) * rhs for a divisor other than zero, and 0 for zero. With a positive
    divisor the result is periodic: `(q - k) floor_mod n` lies in [0, n).
  }];
}

#endif // TILEWRIGHT_DIALECT_ATTN_ATTNOPS_TD
