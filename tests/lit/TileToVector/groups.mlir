// RUN: tilewright-opt %s --convert-tile-to-vector --canonicalize --cse | FileCheck %s

// 72 queries are three groups of one register tile. Each goes through the whole step of the recurrence
// before the next, so that its scores have one home for all, and all groups meet the same block of
// keys and values.

#any = strided<[?, 1], offset: ?>

// CHECK-LABEL: func.func @groups(
// CHECK-SAME: %[[QUERY:[a-z0-9]+]]: memref<?x16xf32, {{.*}}>, %[[KEY:[a-z0-9]+]]: memref<?x16xf32, {{.*}}>, %[[VALUE:[a-z0-9]+]]: memref<?x8xf32, {{[^%]*}}>, %[[OUT:[a-z0-9]+]]: memref<?x8xf32
// CHECK-DAG: %[[Q:.*]] = memref.alloca() {alignment = 64 : i64} : memref<3x16x24xf32>
// CHECK-DAG: %[[O:.*]] = memref.alloca() {alignment = 64 : i64} : memref<3x8x24xf32>
// CHECK-DAG: %[[S:.*]] = memref.alloca() {alignment = 64 : i64} : memref<48x24xf32>
// CHECK-DAG: %[[ALPHA:.*]] = memref.alloca() {alignment = 64 : i64} : memref<1x24xf32>

// Groups that nothing is stored of are left out, from the start.
// CHECK: %[[OUT_EXTENT:.*]] = memref.dim %[[OUT]]
// CHECK: %[[LEFT:.*]] = arith.subi %[[OUT_EXTENT]],
// CHECK: %[[LIMITED:.*]] = arith.minsi %[[LEFT]], %c72
// CHECK: %[[USED:.*]] = arith.maxsi %[[LIMITED]], %c0
// CHECK: memref.subview %[[QUERY]]
// CHECK: %[[END:.*]] = arith.minsi %[[USED]], %c72
// CHECK: scf.for %{{.*}} = %c0 to %[[END]] step %c24
// CHECK: memref.reinterpret_cast %[[Q]]
// CHECK: scf.for %{{.*}} = %c0 to %[[END]] step %c24
// CHECK: memref.reinterpret_cast %[[O]]
// CHECK: scf.for %[[K0:.*]] = %c0 to %{{.*}} step %c48
// CHECK: memref.subview %[[KEY]]
// CHECK: memref.subview %[[VALUE]]
// CHECK: scf.for %[[FIRST:.*]] = %c0 to %[[END]] step %c24
// CHECK: %[[BEFORE:.*]] = arith.muli %[[FIRST]], %c16
// CHECK: memref.reinterpret_cast %[[Q]] to offset: [%[[BEFORE]]], sizes: [16, 24], strides: [24, 1]
// CHECK: vector.store %{{.*}}, %[[S]]
// CHECK: vector.load %[[S]]
// CHECK: vector.store %{{.*}}, %[[S]]
// CHECK: %[[BEFORE:.*]] = arith.muli %[[FIRST]], %c8
// CHECK: memref.reinterpret_cast %[[O]] to offset: [%[[BEFORE]]], sizes: [8, 24], strides: [24, 1]
// CHECK: vector.load %[[S]]
func.func @groups(%query: memref<?x16xf32, #any>, %key: memref<?x16xf32, #any>,
                  %value: memref<?x8xf32, #any>, %out: memref<?x8xf32, #any>) {
  %c0 = arith.constant 0 : index
  %c72 = arith.constant 72 : index
  %c48 = arith.constant 48 : index
  %q_len = memref.dim %query, %c0 : memref<?x16xf32, #any>
  %kv_len = memref.dim %key, %c0 : memref<?x16xf32, #any>
  %blocks = arith.ceildivsi %q_len, %c72 : index
  scf.forall (%i) in (%blocks) {
    %q0 = arith.muli %i, %c72 : index
    %q = tile.load %query[%q0] : memref<?x16xf32, #any> -> tensor<72x16xf32>
    %m0, %l0 = tile.softmax_init : tensor<72xf32>
    %o0 = arith.constant dense<0.0> : tensor<72x8xf32>
    %r:3 = scf.for %k0 = %c0 to %kv_len step %c48 iter_args(%o = %o0, %m = %m0, %l = %l0)
        -> (tensor<72x8xf32>, tensor<72xf32>, tensor<72xf32>) {
      %k = tile.load %key[%k0] : memref<?x16xf32, #any> -> tensor<48x16xf32>
      %s = tile.mma %q, %k {transpose_rhs} : tensor<72x16xf32>, tensor<48x16xf32> -> tensor<72x48xf32>
      %p, %m1, %l1, %alpha = tile.softmax_step %s, %m, %l : tensor<72x48xf32>
      %o1 = tile.rescale %o, %alpha : tensor<72x8xf32>
      %v = tile.load %value[%k0] : memref<?x8xf32, #any> -> tensor<48x8xf32>
      %o2 = tile.mma %p, %v acc %o1 : tensor<72x48xf32>, tensor<48x8xf32> -> tensor<72x8xf32>
      scf.yield %o2, %m1, %l1 : tensor<72x8xf32>, tensor<72xf32>, tensor<72xf32>
    }
    %result, %lse = tile.softmax_finalize %r#0, %r#1, %r#2 : tensor<72x8xf32>
    tile.store %result, %out[%q0] : tensor<72x8xf32>, memref<?x8xf32, #any>
  }
  return
}
