// RUN: tilewright-opt %s | tilewright-opt | FileCheck %s

#any4 = strided<[?, ?, ?, 1], offset: ?>
#any3 = strided<[?, ?, 1], offset: ?>

// The whole recurrence, as a target sees it.
// CHECK-LABEL: func.func @causal(
func.func @causal(%query: memref<?x?x?x64xf32, #any4>, %key: memref<?x?x?x64xf32, #any4>,
                  %value: memref<?x?x?x16xf32, #any4>, %out: memref<?x?x?x16xf32, #any4>,
                  %lse: memref<?x?x?xf32, #any3>, %scale: f32, %slope: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c24 = arith.constant 24 : index
  %c96 = arith.constant 96 : index
  %batch = memref.dim %query, %c0 : memref<?x?x?x64xf32, #any4>
  %heads = memref.dim %query, %c1 : memref<?x?x?x64xf32, #any4>
  %q_len = memref.dim %query, %c2 : memref<?x?x?x64xf32, #any4>
  %kv_len = memref.dim %key, %c2 : memref<?x?x?x64xf32, #any4>
  %q_blocks = arith.ceildivsi %q_len, %c24 : index
  scf.forall (%b, %h, %i) in (%batch, %heads, %q_blocks) {
    %q0 = arith.muli %i, %c24 : index
    %q_end = arith.addi %q0, %c24 : index
    %q1 = arith.minsi %q_end, %q_len : index
    // CHECK: tile.load %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] : memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>> -> tensor<24x64xf32>
    %q = tile.load %query[%b, %h, %q0] : memref<?x?x?x64xf32, #any4> -> tensor<24x64xf32>
    // CHECK: tile.softmax_init : tensor<24xf32>
    %m0, %l0 = tile.softmax_init : tensor<24xf32>
    %o0 = arith.constant dense<0.0> : tensor<24x16xf32>
    // CHECK: tile.block_ranges queries %{{.*}} to %{{.*}} keys %{{.*}} block 96 where [#tile.half_plane<q = 1, k = -1>](%{{.*}})
    %begin, %full_begin, %full_end, %end = tile.block_ranges queries %q0 to %q1 keys %kv_len block 96
      where [#tile.half_plane<q = 1, k = -1>](%c0)
    %r:3 = scf.for %j = %begin to %end step %c1 iter_args(%o = %o0, %m = %m0, %l = %l0)
        -> (tensor<24x16xf32>, tensor<24xf32>, tensor<24xf32>) {
      %k0 = arith.muli %j, %c96 : index
      %k = tile.load %key[%b, %h, %k0] : memref<?x?x?x64xf32, #any4> -> tensor<96x64xf32>
      // CHECK: tile.mma %{{.*}}, %{{.*}} {transpose_rhs} : tensor<24x64xf32>, tensor<96x64xf32> -> tensor<24x96xf32>
      %s0 = tile.mma %q, %k {transpose_rhs} : tensor<24x64xf32>, tensor<96x64xf32> -> tensor<24x96xf32>
      // CHECK: tile.broadcast %{{.*}} : f32 -> tensor<24x96xf32>
      %scales = tile.broadcast %scale : f32 -> tensor<24x96xf32>
      %s1 = arith.mulf %s0, %scales : tensor<24x96xf32>
      // CHECK: tile.coord %{{.*}}, dim = 0 : tensor<24x96xi32>
      %qi = tile.coord %q0, dim = 0 : tensor<24x96xi32>
      %ki = tile.coord %k0, dim = 1 : tensor<24x96xi32>
      // CHECK: tile.gather %{{.*}}[%{{.*}}] : memref<?xf32> -> tensor<24x96xf32>
      %bias = tile.gather %slope[%ki] : memref<?xf32> -> tensor<24x96xf32>
      %s2 = arith.addf %s1, %bias : tensor<24x96xf32>
      %keep = arith.cmpi sle, %ki, %qi : tensor<24x96xi32>
      %hidden = arith.constant dense<0xFF800000> : tensor<24x96xf32>
      %s3 = arith.select %keep, %s2, %hidden : tensor<24x96xi1>, tensor<24x96xf32>
      // CHECK: tile.softmax_step %{{.*}}, %{{.*}}, %{{.*}} : tensor<24x96xf32>
      %p, %m1, %l1, %alpha = tile.softmax_step %s3, %m, %l : tensor<24x96xf32>
      // CHECK: tile.rescale %{{.*}}, %{{.*}} : tensor<24x16xf32>
      %o1 = tile.rescale %o, %alpha : tensor<24x16xf32>
      %v = tile.load %value[%b, %h, %k0] : memref<?x?x?x16xf32, #any4> -> tensor<96x16xf32>
      // CHECK: tile.mma %{{.*}}, %{{.*}} acc %{{.*}} : tensor<24x96xf32>, tensor<96x16xf32> -> tensor<24x16xf32>
      %o2 = tile.mma %p, %v acc %o1 : tensor<24x96xf32>, tensor<96x16xf32> -> tensor<24x16xf32>
      scf.yield %o2, %m1, %l1 : tensor<24x16xf32>, tensor<24xf32>, tensor<24xf32>
    }
    // CHECK: tile.softmax_finalize %{{.*}}, %{{.*}}, %{{.*}} : tensor<24x16xf32>
    %result, %log_sum = tile.softmax_finalize %r#0, %r#1, %r#2 : tensor<24x16xf32>
    // CHECK: tile.store %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] : tensor<24x16xf32>, memref<?x?x?x16xf32, strided<[?, ?, ?, 1], offset: ?>>
    tile.store %result, %out[%b, %h, %q0] : tensor<24x16xf32>, memref<?x?x?x16xf32, #any4>
    // CHECK: tile.store %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] : tensor<24xf32>, memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>
    tile.store %log_sum, %lse[%b, %h, %q0] : tensor<24xf32>, memref<?x?x?xf32, #any3>
  }
  return
}

// CHECK-LABEL: func.func @rows(
// CHECK: tile.broadcast %{{.*}} : f32 -> tensor<8xf32>
// CHECK: tile.broadcast %{{.*}} : tensor<8xf32> -> tensor<8x4xf32>
// CHECK: tile.block_ranges queries %{{.*}} to %{{.*}} keys %{{.*}} block 4 where []() inexact
func.func @rows(%x: f32, %n: index) -> tensor<8x4xf32> {
  %row = tile.broadcast %x : f32 -> tensor<8xf32>
  %tile = tile.broadcast %row : tensor<8xf32> -> tensor<8x4xf32>
  %r:4 = tile.block_ranges queries %n to %n keys %n block 4 where []() inexact
  return %tile : tensor<8x4xf32>
}
