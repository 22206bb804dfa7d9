// RUN: tilewright-opt %s --pass-pipeline='builtin.module(convert-tile-to-vector{lanes=16 vectors=4 rows=6 amx=true},canonicalize,cse)' -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: tilewright-opt %t.mlir --pass-pipeline='builtin.module(convert-scf-to-cf,expand-strided-metadata,lower-affine,convert-to-llvm,reconcile-unrealized-casts,canonicalize,cse)' \
// RUN:   | mlir-translate --mlir-to-llvmir | llc -O2 -mtriple=x86_64-linux-gnu -mcpu=sapphirerapids -o %t.s
// RUN: python3 %S/Inputs/tile-instructions.py %t.mlir %t.s | FileCheck %s --check-prefix=TILES
// RUN: tilewright-opt %s --pass-pipeline='builtin.module(convert-tile-to-vector{lanes=16 vectors=4 rows=6})' | FileCheck %s --check-prefix=WITHOUT

// Three phases: none is seen here but by its functions. Values are packed as 4 x 2 tiles of V^T for
// each block of 64 keys; keys, 40 wide, as 4 x 2 tiles as well. The loop does not count blocks of
// keys, so that it is serial.

// CHECK-LABEL: func.func @step_workspace
// CHECK-LABEL: func.func @step_items
// CHECK-LABEL: func.func @step(
// CHECK: memref.view %{{.*}} : memref<?xi8> to memref<?x?x?x128x32xbf16>
// CHECK: memref.view %{{.*}} : memref<?xi8> to memref<?x?x?x128x32xbf16>
// CHECK-LABEL: func.func @step_2_items
// CHECK-LABEL: func.func @step_2(

// The scores of 2 x 2 tiles of keys and queries: 40 columns are two tiles deep.
// CHECK: scf.for
// CHECK-COUNT-4: amx.tile_zero
// CHECK-COUNT-8: amx.tile_mulf
// CHECK-COUNT-4: amx.tile_store

// Two passes over them. Weights are paired without a permutation.
// CHECK: vector.reduction <or>
// CHECK: scf.if
// CHECK: scf.for
// CHECK-COUNT-4: llvm.intr.fshl

// Outputs start from what is there; 64 keys are two tiles deep.
// CHECK: scf.for
// CHECK-COUNT-4: amx.tile_load {{.*}} into !amx.tile<16x16xf32>
// CHECK-COUNT-8: amx.tile_mulf
// CHECK-COUNT-4: amx.tile_store

// A product takes one load, no tile is spilled, and the unit is set up once.
// TILES: tile_mulf: 16 written, 16 emitted
// TILES: tile_load: 20 written, 20 emitted
// TILES: tile_store: 8 written, 8 emitted
// TILES: step_2: 1 ldtilecfg
// TILES-NOT: woven

// WITHOUT-NOT: amx.
// WITHOUT: vector.fma

#any = strided<[?, ?, ?, 1], offset: ?>
func.func @step(%query: memref<?x?x?x40xbf16, #any> {attn.name = "query"},
                %key: memref<?x?x?x40xbf16, #any> {attn.name = "key"},
                %value: memref<?x?x?x64xbf16, #any> {attn.name = "value"},
                %out: memref<?x?x?x64xf32, #any> {attn.name = "out"}, %scale: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %batch = memref.dim %query, %c0 : memref<?x?x?x40xbf16, #any>
  %heads = memref.dim %query, %c1 : memref<?x?x?x40xbf16, #any>
  %q_len = memref.dim %query, %c2 : memref<?x?x?x40xbf16, #any>
  %kv_len = memref.dim %key, %c2 : memref<?x?x?x40xbf16, #any>
  %blocks = arith.ceildivsi %q_len, %c64 : index
  scf.forall (%b, %h, %i) in (%batch, %heads, %blocks) {
    %q0 = arith.muli %i, %c64 : index
    %q = tile.load %query[%b, %h, %q0] : memref<?x?x?x40xbf16, #any> -> tensor<64x40xbf16>
    %m0, %l0 = tile.softmax_init : tensor<64xf32>
    %o0 = arith.constant dense<0.0> : tensor<64x64xf32>
    %r:3 = scf.for %k0 = %c0 to %kv_len step %c64 iter_args(%o = %o0, %m = %m0, %l = %l0)
        -> (tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>) {
      %k = tile.load %key[%b, %h, %k0] : memref<?x?x?x40xbf16, #any> -> tensor<64x40xbf16>
      %s0 = tile.mma %q, %k {transpose_rhs} : tensor<64x40xbf16>, tensor<64x40xbf16> -> tensor<64x64xf32>
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
