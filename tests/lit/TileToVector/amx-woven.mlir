// RUN: tilewright-opt %s --pass-pipeline='builtin.module(convert-tile-to-vector{lanes=16 vectors=4 rows=6 amx=true},canonicalize,cse)' -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: tilewright-opt %t.mlir --pass-pipeline='builtin.module(convert-scf-to-cf,expand-strided-metadata,lower-affine,convert-to-llvm,reconcile-unrealized-casts,canonicalize,cse,assign-tile-registers)' \
// RUN:   | mlir-translate --mlir-to-llvmir | llc -O2 -mtriple=x86_64-linux-gnu -mcpu=sapphirerapids -o %t.s
// RUN: python3 %S/Inputs/tile-instructions.py %t.mlir %t.s | FileCheck %s --check-prefix=TILES

// A loop over blocks of 64 keys for 64 queries, which are two units of 32; 64 keys and columns of values
// are two groups.

// Before the loop: no weights are pending, and the first group's scores are made.
// CHECK-LABEL: func.func @step_2(
// CHECK: scf.if
// CHECK: scf.for
// CHECK: vector.store {{.*}} vector<32xbf16>
// CHECK-COUNT-8: amx.tile_mulf
// CHECK: scf.for
// CHECK-NEXT: arith.muli
// CHECK: scf.for
// CHECK: math.absf
// CHECK: scf.if {{.*}} -> (i1)

// A group: products and scale are one operation of the exponent. Four exponentials, the first tile
// instructions, their weights in pairs, more tile instructions.
// CHECK: scf.for
// CHECK-COUNT-4: vector.load {{.*}} vector<16xf32>
// CHECK-COUNT-4: "llvm.x86.avx512.mask.scalef.ps.512"
// CHECK: amx.tile
// CHECK: llvm.intr.fshl
// CHECK: llvm.inline_asm has_side_effects
// CHECK: amx.tile
// CHECK: amx.tile_mulf
// CHECK: "llvm.x86.avx512.mask.scalef.ps.512"

// Sums are taken over only if they are not too large.
// CHECK: arith.cmpf olt, {{.*}} : vector<16xf32>
// CHECK: scf.if

// Otherwise, and without a reference, block and weights are made again; so far the next scores and the
// pending output still have to be.
// CHECK: } else {
// CHECK-COUNT-8: amx.tile_mulf
// CHECK: amx.tile_load {{.*}} into !amx.tile<16x16xf32>
// CHECK: scf.yield %false
// CHECK: scf.if
// CHECK: vector.reduction <or>

// After the loop: the output of the last unit.
// CHECK: scf.if
// CHECK: amx.tile_store

// TILES: tile_mulf: 56 written, 56 emitted
// TILES: tile_load: 84 written, 84 emitted
// TILES: tile_store: 28 written, 28 emitted
// TILES: tile_zero: 16 written, 16 emitted
// TILES: step_2: 1 ldtilecfg
// TILES: woven: 16 products, 64 exponentials, 0 spilled vectors, at most 5 and 4 in a row

#any = strided<[?, ?, ?, 1], offset: ?>
func.func @step(%query: memref<?x?x?x64xbf16, #any> {attn.name = "query"},
                %key: memref<?x?x?x64xbf16, #any> {attn.name = "key"},
                %value: memref<?x?x?x64xbf16, #any> {attn.name = "value"},
                %out: memref<?x?x?x64xf32, #any> {attn.name = "out"}, %scale: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %batch = memref.dim %query, %c0 : memref<?x?x?x64xbf16, #any>
  %heads = memref.dim %query, %c1 : memref<?x?x?x64xbf16, #any>
  %q_len = memref.dim %query, %c2 : memref<?x?x?x64xbf16, #any>
  %kv_len = memref.dim %key, %c2 : memref<?x?x?x64xbf16, #any>
  %blocks = arith.ceildivsi %q_len, %c64 : index
  %key_blocks = arith.ceildivsi %kv_len, %c64 : index
  scf.forall (%b, %h, %i) in (%batch, %heads, %blocks) {
    %q0 = arith.muli %i, %c64 : index
    %q = tile.load %query[%b, %h, %q0] : memref<?x?x?x64xbf16, #any> -> tensor<64x64xbf16>
    %m0, %l0 = tile.softmax_init : tensor<64xf32>
    %o0 = arith.constant dense<0.0> : tensor<64x64xf32>
    %r:3 = scf.for %n = %c0 to %key_blocks step %c1 iter_args(%o = %o0, %m = %m0, %l = %l0)
        -> (tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>) {
      %k0 = arith.muli %n, %c64 : index
      %k = tile.load %key[%b, %h, %k0] : memref<?x?x?x64xbf16, #any> -> tensor<64x64xbf16>
      %s0 = tile.mma %q, %k {transpose_rhs} : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
      %scales = tile.broadcast %scale : f32 -> tensor<64x64xf32>
      %s = arith.mulf %s0, %scales : tensor<64x64xf32>
      %p, %m1, %l1, %alpha = tile.softmax_step %s, %m, %l : tensor<64x64xf32>
      %o1 = tile.rescale %o, %alpha : tensor<64x64xf32>
      %v = tile.load %value[%b, %h, %k0] : memref<?x?x?x64xbf16, #any> -> tensor<64x64xbf16>
      %o2 = tile.mma %p, %v acc %o1 : tensor<64x64xf32>, tensor<64x64xbf16> -> tensor<64x64xf32>
      scf.yield %o2, %m1, %l1 : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>
    }
    %result, %lse = tile.softmax_finalize %r#0, %r#1, %r#2 : tensor<64x64xf32>
    tile.store %result, %out[%b, %h, %q0] : tensor<64x64xf32>, memref<?x?x?x64xf32, #any>
  }
  return
}
