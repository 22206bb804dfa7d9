//===- SMOps.td - The sm dialect: who does it and when ------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_DIALECT_SM_SMOPS_TD
#define TILEWRIGHT_DIALECT_SM_SMOPS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/TensorEncoding.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def SM_Dialect : Dialect {
  let name = "sm";
  let cppNamespace = "::tilewright::sm";
  let summary = "One multiprocessor's program: who does it and when";
  let description = [{
    An sm program is a function with one `sm.grid`: the same program for every block of work. A block
    has producers (single threads that start copies) and consumers (warpgroups of 128 threads that
    compute), which meet in rings of shared-memory tiles. Register tiles are builtin tensors whose
    encoding says which thread holds which element; elementwise arith and math ops apply to them
    unchanged. Products are asynchronous: a value in flight has a type of its own, and only a wait
    turns it into a tensor.

    Stages, phases, descriptors and lanes are not visible here; they are derived when the program
    is lowered. docs/sm.md gives the grammar and the rules of the protocol.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
}

//===----------------------------------------------------------------------===//
// Register layouts: who holds which element
//===----------------------------------------------------------------------===//
//
// In a warpgroup thread x has warp w = x / 32, lane = x % 32, and in it the group g = lane / 4 and
// the place t = lane % 4; the four threads of a group are a quad.

class SM_Layout<string name, string mnemonic_>
    : AttrDef<SM_Dialect, name, [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let mnemonic = mnemonic_;
}

def SM_AccumulatorAttr : SM_Layout<"Accumulator", "accumulator"> {
  let summary = "the layout of a product of 64 rows in a warpgroup";
  let description = [{
    A tensor 64 x N has N / 2 elements a thread. Element i of thread (w, g, t) is

        row 16 w + g + 8 ((i / 2) % 2), column 8 (i / 4) + 2 t + i % 2

    so a thread sees two rows, a quad shares them, and a warp owns 16 rows.

    Example: `tensor<64x128xf32, #sm.accumulator>`, 64 registers a thread.
  }];
}

def SM_OperandAttr : SM_Layout<"Operand", "operand"> {
  let summary = "the layout of a left operand in registers";
  let description = [{
    A tensor 64 x K of 2-byte elements, two to a register. Each thread holds the elements that it
    holds under `#sm.accumulator`, in the same order: this is why the weights of the softmax feed
    the next product without leaving their registers.

    Example: `tensor<64x128xbf16, #sm.operand>`, 32 registers a thread.
  }];
}

def SM_RowAttr : SM_Layout<"Row", "row"> {
  let summary = "one value a row, the same in all threads of a quad";
  let description = [{
    A tensor of 64 elements, two a thread: rows 16 w + g and 16 w + g + 8.

    Example: `tensor<64xf32, #sm.row>`
  }];
}

def SM_PartialRowAttr : SM_Layout<"PartialRow", "partial_row"> {
  let summary = "one sum a row, spread over the four threads of a quad";
  let description = [{
    As `#sm.row`, but what the four threads of a quad hold adds up to the row's value. Sums stay in
    this form while keys stream by and are added over the quad once, at the end.

    Example: `tensor<64xf32, #sm.partial_row>`
  }];
}

//===----------------------------------------------------------------------===//
// The parameters of a lowered kernel
//===----------------------------------------------------------------------===//

def SM_ParameterKind : I32EnumAttr<"ParameterKind", "what a kernel's parameter is", [
    I32EnumAttrCase<"Scalar", 0, "scalar">,
    I32EnumAttrCase<"Address", 1, "address">,
    I32EnumAttrCase<"Extent", 2, "extent">,
    I32EnumAttrCase<"Stride", 3, "stride">,
    I32EnumAttrCase<"TensorMap", 4, "tensor_map">]> {
  let cppNamespace = "::tilewright::sm";
  let genSpecializedAttr = 0;
}

def SM_ParameterAttr : AttrDef<SM_Dialect, "Parameter"> {
  let mnemonic = "parameter";
  let summary = "where one parameter of a lowered kernel comes from";
  let description = [{
    `argument` is the number of an argument of the sm function. By kind:

    - scalar: the argument itself.
    - address: the address of a tensor's first element, 64 bits.
    - extent, stride: of dimension `detail` of a tensor, 64 bits, in elements.
    - tensor_map: 128 bytes that describe a tensor [.., t, d] to the copy engine, 2-byte elements:
      dimensions d, t and then the outer ones, innermost first; box 64 x `detail` x 1 ..; 128-byte
      swizzle; zero fill.

    Example: `#sm.parameter<kind = stride, argument = 3, detail = 2>`
  }];
  let parameters = (ins EnumParameter<SM_ParameterKind>:$kind, "int64_t":$argument, DefaultValuedParameter<"int64_t", "0">:$detail);
  let assemblyFormat = "`<` struct(params) `>`";
}

def SM_RingPlaceAttr : AttrDef<SM_Dialect, "RingPlace"> {
  let mnemonic = "ring_place";
  let summary = "where one ring of a lowered kernel lies in shared memory";
  let description = [{
    In bytes: `stages` tiles of `stage_bytes` from `offset` on; from `barriers` on, 8 each, the full
    barriers of all stages and then the empty ones. Reports name addresses by it.

    Example: `#sm.ring_place<name = "keys", stages = 2, stage_bytes = 32768, offset = 32768, barriers = 163840>`
  }];
  let parameters = (ins "::mlir::StringAttr":$name, "int64_t":$stages, "int64_t":$stage_bytes,
                        "int64_t":$offset, "int64_t":$barriers);
  let assemblyFormat = "`<` struct(params) `>`";
}

def SM_LaunchAttr : AttrDef<SM_Dialect, "Launch"> {
  let mnemonic = "launch";
  let summary = "how a lowered kernel is launched";
  let description = [{
    The lowering puts it on the kernel under the name `sm.launch`: from there on it is all that is
    known of the sm function and of its grid.

    - `function`, `names`: the type of the sm function and the names of its arguments, empty where
      they have none.
    - `grid`: the bounds of the sm.grid, of which there are as many thread blocks as their product
      says. The symbols are the `extents`.
    - `parameters`: one `#sm.parameter` for each parameter of the kernel.
    - `threads`, `shared_memory`: of a block, the latter in bytes.
    - `rings`: one `#sm.ring_place` for each ring, or nothing.
  }];
  let parameters = (ins "::mlir::FunctionType":$function, "::mlir::ArrayAttr":$names,
                        "::mlir::AffineMap":$grid, "::mlir::ArrayAttr":$extents,
                        "::mlir::ArrayAttr":$parameters, "int64_t":$threads,
                        "int64_t":$shared_memory, OptionalParameter<"::mlir::ArrayAttr">:$rings);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

class SM_Type<string name, string mnemonic_> : TypeDef<SM_Dialect, name> {
  let mnemonic = mnemonic_;
}

def SM_SharedType : SM_Type<"Shared", "shared"> {
  let summary = "a tile in shared memory: one stage of a ring";
  let description = [{
    rows x columns of a 2-byte float type. It lies as columns / 64 chunks (rounded up) of `rows` rows
    of 128 bytes with the 128-byte swizzle; columns beyond the last are zero. Rows are a multiple of
    8 and at most 256.

    Example: `!sm.shared<128x64xbf16>`
  }];
  let parameters = (ins "int64_t":$rows, "int64_t":$columns, "::mlir::Type":$elementType);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Bytes that one tile takes, a multiple of 1024.
    int64_t getBytes() const { return (getColumns() + 63) / 64 * getRows() * 128; }
  }];
}

def SM_RingType : SM_Type<"Ring", "ring"> {
  let summary = "a ring of tiles in shared memory, with a full and an empty barrier a stage";
  let description = [{
    Producers acquire the next empty stage, fill and commit it; consumers wait for the next full
    stage, read and release it. Every role goes round in the same order.

    Example: `!sm.ring<128x64xbf16, stages = 2>`
  }];
  let parameters = (ins "::tilewright::sm::SharedType":$tile, "int64_t":$stages);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def SM_InFlightType : SM_Type<"InFlight", "in_flight"> {
  let summary = "a product that may not have been computed yet";
  let description = [{
    Only `sm.await` turns it into the tensor; until then its registers belong to the tensor core.

    Example: `!sm.in_flight<tensor<64x128xf32, #sm.accumulator>>`
  }];
  let parameters = (ins "::mlir::RankedTensorType":$tensor);
  let assemblyFormat = "`<` $tensor `>`";
  let genVerifyDecl = 1;
}

class SM_TensorWith<string layout, list<Type> elements, string description>
    : Type<And<[TensorOf<elements>.predicate,
        CPred<"::llvm::isa_and_nonnull<::tilewright::sm::" # layout # ">(::llvm::cast<::mlir::RankedTensorType>($_self).getEncoding())">]>,
      description, "::mlir::RankedTensorType">;

def SM_Element : AnyTypeOf<[F32, F16, BF16, I32, I64, I8, I1]>;
def SM_HalfFloat : AnyTypeOf<[F16, BF16]>;
def SM_Accumulator : SM_TensorWith<"AccumulatorAttr", [F32], "an f32 tensor in #sm.accumulator">;
def SM_Tile : SM_TensorWith<"AccumulatorAttr", [F32, F16, BF16, I32, I64, I8, I1], "a tensor in #sm.accumulator">;
def SM_Operand : SM_TensorWith<"OperandAttr", [F16, BF16], "a tensor in #sm.operand">;
def SM_Row : SM_TensorWith<"RowAttr", [F32], "an f32 tensor in #sm.row">;
def SM_PartialRow : SM_TensorWith<"PartialRowAttr", [F32], "an f32 tensor in #sm.partial_row">;

class SM_Op<string mnemonic, list<Trait> traits = []> : Op<SM_Dialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

def SM_GridOp : SM_Op<"grid", [SingleBlock, NoTerminator, RecursiveMemoryEffects]> {
  let summary = "the program of every block of work";
  let description = [{
    `bounds` say how many blocks there are, as a box; the body's arguments are a block's position in
    it, the last one varying fastest. The body is scalar code, rings, and then the roles, which run
    at the same time. A function has one grid, and in front of it nothing but arithmetic on its
    scalars and extents.

    `shared_memory` is the number of bytes of the rings and their barriers; `sm-plan-shared-memory`
    fills it in.

    ```mlir
    sm.grid (%b, %h, %i) in (%batch, %heads, %blocks) { ... }
    ```

    Lowering: one kernel of 128 threads for the producers and 128 for each consumer warpgroup,
    launched with as many thread blocks as the box has points. Whoever launches it computes their
    number, so bounds are sums, differences, products and quotients of extents and numbers.
  }];
  let arguments = (ins Variadic<Index>:$bounds, OptionalAttr<I64Attr>:$shared_memory);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

class SM_Role<string mnemonic> : SM_Op<mnemonic,
    [HasParent<"GridOp">, SingleBlock, NoTerminator, RecursiveMemoryEffects]> {
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def SM_ProducerOp : SM_Role<"producer"> {
  let summary = "a thread that starts copies";
  let description = [{
    The body runs in one thread of a warp of its own, or in all of its lanes if they do the copying
    (see `sm.copy`). All producers, up to four, share the block's
    first warpgroup, whose threads keep `registers` registers each.

    ```mlir
    sm.producer "keys" registers = 24 { ... }
    ```

    Lowering: `setmaxnreg.dec` in the warpgroup, then a branch for lane 0 of the role's warp.
  }];
  let arguments = (ins StrAttr:$name, I64Attr:$registers);
}

def SM_ConsumersOp : SM_Role<"consumers"> {
  let summary = "warpgroups that compute";
  let description = [{
    The body runs in each of `warpgroups` warpgroups of 128 threads; its argument is the number of
    the warpgroup within the role. Each thread has `registers` registers.

    ```mlir
    sm.consumers "softmax" warpgroups = 2 registers = 240 (%warpgroup) { ... }
    ```

    Lowering: `setmaxnreg.inc`, then the body.
  }];
  let arguments = (ins StrAttr:$name, I64Attr:$warpgroups, I64Attr:$registers);
}

//===----------------------------------------------------------------------===//
// Rings
//===----------------------------------------------------------------------===//

def SM_CreateRingOp : SM_Op<"create_ring", [HasParent<"GridOp">, MemoryEffects<[MemAlloc]>]> {
  let summary = "makes a ring of empty stages";
  let description = [{
    `arrivals` is how many warps release a stage before it is empty again: four for each consumer
    warpgroup that reads the ring. `offset` is where the stages begin in shared memory and `barriers`
    where its barriers do, in bytes; `sm-plan-shared-memory` fills them in.

    ```mlir
    %keys = sm.create_ring "keys" arrivals = 8 : !sm.ring<128x64xbf16, stages = 2>
    ```

    Lowering: two mbarriers a stage, full with count 1 and empty with count `arrivals`, initialised by
    one thread before any role starts.
  }];
  let arguments = (ins StrAttr:$name, I64Attr:$arrivals, OptionalAttr<I64Attr>:$offset, OptionalAttr<I64Attr>:$barriers);
  let results = (outs SM_RingType:$ring);
  let assemblyFormat = [{
    $name `arrivals` `=` $arrivals (`offset` `=` $offset^)? (`barriers` `=` $barriers^)? attr-dict `:` qualified(type($ring))
  }];
  let hasVerifier = 1;
}

class SM_TakeStage<string mnemonic> : SM_Op<mnemonic, [MemoryEffects<[MemRead, MemWrite]>]> {
  let arguments = (ins SM_RingType:$ring);
  let results = (outs SM_SharedType:$stage);
  let assemblyFormat = "$ring attr-dict `:` custom<StageOfRing>(type($ring), type($stage))";
  let hasVerifier = 1;
}

def SM_AcquireOp : SM_TakeStage<"acquire"> {
  let summary = "a producer's next stage, once it is empty";
  let description = [{
    Waits until every consumer has released what the stage held before. The stage must be committed
    once, in the same block of code.

    ```mlir
    %stage = sm.acquire %keys : !sm.ring<128x64xbf16, stages = 2>
    ```

    Lowering: a wait for the stage's empty barrier, with the parity of the round before.
  }];
}

def SM_WaitOp : SM_TakeStage<"wait"> {
  let summary = "a consumer's next stage, once it is full";
  let description = [{
    Waits until what the producer has put there has arrived. The stage must be released once, in the
    same block of code.

    ```mlir
    %k = sm.wait %keys : !sm.ring<128x64xbf16, stages = 2>
    ```

    Lowering: a wait for the stage's full barrier, with the parity of the round.
  }];
}

def SM_CommitOp : SM_Op<"commit", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "a producer hands its stage over";
  let description = [{
    Consumers get the stage once all copies that were started into it have arrived.

    ```mlir
    sm.commit %stage : !sm.shared<128x64xbf16>
    ```

    Lowering: an arrival at the full barrier; each `sm.copy` has added its bytes to what the barrier
    expects. In a role whose warp copies itself, a fence that shows the lanes' writes to the tensor
    cores and a meeting of the lanes come first.
  }];
  let arguments = (ins SM_SharedType:$stage);
  let assemblyFormat = "$stage attr-dict `:` qualified(type($stage))";
  let hasVerifier = 1;
}

def SM_ReleaseOp : SM_Op<"release", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "a consumer is done with a stage";
  let description = [{
    No product that reads the stage may be in flight any more. With `after`, the release does not
    happen before that row vector is computed. This is how a program keeps its arithmetic in front
    of a later wait: ptxas moves a wait for products up across arithmetic, but not across a release,
    and the arithmetic would no longer run beside the product.

    ```mlir
    sm.release %k : !sm.shared<128x64xbf16>
    sm.release %k after(%sum : tensor<64xf32, #sm.partial_row>) : !sm.shared<128x64xbf16>
    ```

    Lowering: lane 0 of each warp arrives at the empty barrier, each for its own warp: a warp's wait
    for its products covers that warp's part of them and no other. `after` becomes part of the
    arrival's predicate, compared with a NaN that no arithmetic gives.
  }];
  let arguments = (ins SM_SharedType:$stage, Optional<SM_PartialRow>:$after);
  let assemblyFormat = [{
    $stage (`after` `(` $after^ `:` type($after) `)`)? attr-dict `:` qualified(type($stage))
  }];
  let hasVerifier = 1;
}

def SM_CopyOp : SM_Op<"copy", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "starts a copy of consecutive rows into a stage";
  let description = [{
    Rows from `indices` (the leading indices, then the first row) of a tensor [.., t, d] with d
    columns, of which the stage has the next multiple of 8. Rows and columns outside of the tensor
    arrive as zero.

    ```mlir
    sm.copy %key[%b, %hkv, %first_key], %stage : memref<?x?x?x64xbf16, #any>, !sm.shared<128x64xbf16>
    ```

    Lowering: one bulk tensor copy for each 64 columns through a tensor map that becomes a parameter of
    the kernel, after the stage's full barrier has been told how many bytes to expect. The copy engine
    wants rows at multiples of 16 bytes; where d is no multiple of 8 the role's whole warp copies
    element by element instead, from any address, before its commit.
  }];
  let arguments = (ins AnyMemRef:$source, Variadic<Index>:$indices, SM_SharedType:$stage);
  let assemblyFormat = "$source `[` $indices `]` `,` $stage attr-dict `:` type($source) `,` qualified(type($stage))";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Threads copy the elements, and not the copy engine boxes.
    bool isByThreads();
  }];
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

def SM_MmaOp : SM_Op<"mma", [AttrSizedOperandSegments, MemoryEffects<[MemRead]>]> {
  let summary = "starts a product of 64 rows in a warpgroup";
  let description = [{
    result = lhs * rhs + accumulator, or lhs * rhs without one, in f32. `lhs` is a stage, of which 64
    rows from `row` on take part, or a tensor in `#sm.operand`; `rhs` is a stage, depth x columns, or
    columns x depth with `transpose_rhs`. The product runs beside whatever follows; `sm.await` waits for
    it, in the same block of code, and until then neither the accumulator nor a left operand in
    registers may be touched.

    ```mlir
    %s = sm.mma %q from %row, %k {transpose_rhs}
      : !sm.shared<128x64xbf16>, !sm.shared<96x64xbf16> -> !sm.in_flight<tensor<64x96xf32, #sm.accumulator>>
    %o1 = sm.mma %p, %v acc %o
      : tensor<64x96xbf16, #sm.operand>, !sm.shared<96x64xbf16> -> !sm.in_flight<tensor<64x64xf32, #sm.accumulator>>
    ```

    Lowering: a fence through which accumulator and left operand are tied, one `wgmma` for each 16 of the
    depth, and the commit of one group.
  }];
  let arguments = (ins AnyTypeOf<[SM_SharedType, SM_Operand]>:$lhs, Optional<Index>:$row,
    SM_SharedType:$rhs, Optional<SM_Accumulator>:$accumulator, UnitAttr:$transpose_rhs);
  let results = (outs SM_InFlightType:$result);
  let assemblyFormat = [{
    $lhs (`from` $row^)? `,` $rhs (`acc` $accumulator^)? attr-dict `:` type($lhs) `,` qualified(type($rhs)) `->` qualified(type($result))
    `` custom<AccumulatorOfResult>(ref($accumulator), type($accumulator), ref(type($result)))
  }];
  let hasVerifier = 1;
}

def SM_AwaitOp : SM_Op<"await", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits for a product and gives its tensor";
  let description = [{
    Waits for `product` and all that were started before it in this block of code; later ones stay in
    flight. `held` are tensors that pass through unchanged: what is computed from the results comes
    after the wait, what made them before.

    ```mlir
    %s = sm.await %product : !sm.in_flight<tensor<64x96xf32, #sm.accumulator>>
    %o, %p = sm.await %next hold(%weights : tensor<64x96xf32, #sm.accumulator>) : !sm.in_flight<tensor<64x64xf32, #sm.accumulator>>
    ```

    Lowering: `wgmma.wait_group` with the number of products started since, with every register of the
    results tied through it.
  }];
  let arguments = (ins SM_InFlightType:$product, Variadic<SM_Tile>:$held);
  let results = (outs SM_Accumulator:$result, Variadic<SM_Tile>:$passed);
  let assemblyFormat = [{
    $product (`hold` `(` $held^ `:` type($held) `)`)? attr-dict `:` qualified(type($product))
    `` custom<TensorOfProduct>(ref(type($product)), type($result), ref(type($held)), type($passed))
  }];
  let hasVerifier = 1;
}

def SM_PackOp : SM_Op<"pack", [Pure]> {
  let summary = "rounds a product to a left operand";
  let description = [{
    The same elements in the same threads, rounded to nearest even.

    ```mlir
    %p16 = sm.pack %p : tensor<64x96xf32, #sm.accumulator> -> tensor<64x96xbf16, #sm.operand>
    ```

    Lowering: one conversion for two elements; nothing moves between threads.
  }];
  let arguments = (ins SM_Accumulator:$source);
  let results = (outs SM_Operand:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Tiles from scalars and positions
//===----------------------------------------------------------------------===//

def SM_CoordOp : SM_Op<"coord", [Pure]> {
  let summary = "the positions of a tile's rows or columns";
  let description = [{
    result[i, j] = first + i for `dim = 0`, first + j for `dim = 1`. Positions are below 2^31.

    ```mlir
    %k = sm.coord %first_key, dim = 1 : tensor<64x96xi32, #sm.accumulator>
    ```

    Lowering: the thread's place in the layout, one addition for each element or row.
  }];
  let arguments = (ins Index:$first, ConfinedAttr<I64Attr, [IntNonNegative, IntMaxValue<1>]>:$dim);
  let results = (outs SM_TensorWith<"AccumulatorAttr", [I32], "an i32 tensor in #sm.accumulator">:$result);
  let assemblyFormat = "$first `,` `dim` `=` $dim attr-dict `:` type($result)";
}

def SM_BroadcastOp : SM_Op<"broadcast", [Pure]> {
  let summary = "a tile of one scalar, or of one value a row";
  let description = [{
    result[i, j] = source, or source[i].

    ```mlir
    %scales = sm.broadcast %scale : f32 -> tensor<64x96xf32, #sm.accumulator>
    %shifts = sm.broadcast %m : tensor<64xf32, #sm.row> -> tensor<64x96xf32, #sm.accumulator>
    ```
  }];
  let arguments = (ins AnyTypeOf<[SM_Element, SM_Row]>:$source);
  let results = (outs SM_Tile:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def SM_GatherOp : SM_Op<"gather", [MemoryEffects<[MemRead]>]> {
  let summary = "reads one element of a tensor for each element of a tile";
  let description = [{
    result[i, j] = source[indices[0][i, j], ...]. Each index is clamped to its extent, as
    `tile.gather` says; offsets are computed in 64 bits. A tensor with an extent of zero gives zeros.

    ```mlir
    %bias = sm.gather %table[%h, %distance] : memref<?x?xf32, #any> -> tensor<64x96xf32, #sm.accumulator>
    ```

    Lowering: one load for each element that a thread holds.
  }];
  let arguments = (ins AnyMemRef:$source, Variadic<SM_Tile>:$indices);
  let results = (outs SM_Tile:$result);
  let assemblyFormat = [{
    $source `[` $indices `]` attr-dict `:` type($source) `->` type($result)
    `` custom<IndexTypes>(ref($indices), type($indices), ref(type($result)))
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// The online softmax, as in the tile dialect, with its rows in registers
//===----------------------------------------------------------------------===//

def SM_SoftmaxInitOp : SM_Op<"softmax_init", [Pure]> {
  let summary = "the state of rows that have seen no key";
  let description = [{
    m = -inf (none) and l = 0 in every row.

    ```mlir
    %m, %l = sm.softmax_init : tensor<64xf32, #sm.row>, tensor<64xf32, #sm.partial_row>
    ```
  }];
  let results = (outs SM_Row:$reference, SM_PartialRow:$sum);
  let assemblyFormat = "attr-dict `:` type($reference) `,` type($sum)";
}

def SM_SoftmaxStepOp : SM_Op<"softmax_step", [Pure]> {
  let summary = "takes one tile of scores into the online softmax";
  let description = [{
    The law of `tile.softmax_step` with a running maximum: m' = max(m, the row's largest score),

        p = exp(s - m'),  alpha = exp(m - m'),  l' = l * alpha + sum of p over the row

    where p is 0 for a score of -inf, alpha is 0 while m is none, and the sum stays spread over the
    quad. The subtraction comes before the change of base, so that huge finite scores stay exact.

    ```mlir
    %p, %m1, %l1, %alpha = sm.softmax_step %s, %m, %l : tensor<64x96xf32, #sm.accumulator>
    ```

    Lowering: maxima in the thread, two exchanges in the quad, then `ex2.approx.ftz` of the scaled
    differences.
  }];
  let arguments = (ins SM_Accumulator:$scores, SM_Row:$reference, SM_PartialRow:$sum);
  let results = (outs SM_Accumulator:$weights, SM_Row:$new_reference, SM_PartialRow:$new_sum, SM_Row:$alpha);
  let assemblyFormat = [{
    $scores `,` $reference `,` $sum attr-dict `:` type($scores)
    `` custom<StepTypes>(ref(type($scores)), type($reference), type($sum), type($weights), type($new_reference), type($new_sum), type($alpha))
  }];
}

def SM_RescaleOp : SM_Op<"rescale", [Pure, AllTypesMatch<["accumulator", "result"]>]> {
  let summary = "moves an accumulator to a new reference";
  let description = [{
    result[i, j] = accumulator[i, j] * alpha[i].

    ```mlir
    %o1 = sm.rescale %o, %alpha : tensor<64x64xf32, #sm.accumulator>
    ```
  }];
  let arguments = (ins SM_Accumulator:$accumulator, SM_Row:$alpha);
  let results = (outs SM_Accumulator:$result);
  let assemblyFormat = "$accumulator `,` $alpha attr-dict `:` type($accumulator) `` custom<RowOfTile>(ref(type($accumulator)), type($alpha))";
}

def SM_SoftmaxFinalizeOp : SM_Op<"softmax_finalize", [Pure, AllTypesMatch<["accumulator", "out"]>]> {
  let summary = "divides by the sum, and decides what an empty row is";
  let description = [{
    out = accumulator / l and lse = m + ln(l), with the sum added over the quad first; rows that have
    seen no key (l = 0) get out = 0 and lse = -inf.

    ```mlir
    %out, %lse = sm.softmax_finalize %o, %m, %l : tensor<64x64xf32, #sm.accumulator>
    ```
  }];
  let arguments = (ins SM_Accumulator:$accumulator, SM_Row:$reference, SM_PartialRow:$sum);
  let results = (outs SM_Accumulator:$out, SM_Row:$lse);
  let assemblyFormat = [{
    $accumulator `,` $reference `,` $sum attr-dict `:` type($accumulator)
    `` custom<FinalizeTypes>(ref(type($accumulator)), type($reference), type($sum), type($lse))
  }];
}

def SM_StoreOp : SM_Op<"store", [MemoryEffects<[MemWrite]>]> {
  let summary = "writes a tile of consecutive rows to global memory";
  let description = [{
    A tile in `#sm.accumulator` or a row vector in `#sm.row`, to `indices` (leading indices, then the
    first row). Rows past the tensor's extent are not written, nor are the columns by which a tile is
    wider than the tensor.

    ```mlir
    sm.store %o, %out[%b, %h, %first_query] : tensor<64x64xbf16, #sm.accumulator>, memref<?x?x?x64xbf16, #any>
    ```

    Lowering: each thread writes two neighbouring elements at a time, or one where the tensor has an
    odd number of columns; of a row vector, the first thread of each quad writes.
  }];
  let arguments = (ins AnyTypeOf<[SM_Tile, SM_Row]>:$value, AnyMemRef:$target, Variadic<Index>:$indices);
  let assemblyFormat = "$value `,` $target `[` $indices `]` attr-dict `:` type($value) `,` type($target)";
  let hasVerifier = 1;
}

#endif // TILEWRIGHT_DIALECT_SM_SMOPS_TD
