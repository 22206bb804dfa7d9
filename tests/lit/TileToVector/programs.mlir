// RUN: tilewright-opt %s -split-input-file --convert-tile-to-vector --canonicalize --cse | FileCheck %s

// Programs of the grammar that no attention problem becomes.

// No softmax: two products with a function between them. The function's result becomes scratch for the
// second product to read.
// CHECK-LABEL: func.func @two_layers(
// CHECK-DAG: %[[ACCUMULATOR:.*]] = memref.alloca() {alignment = 64 : i64} : memref<12x16xf32>
// CHECK-DAG: %[[HIDDEN:.*]] = memref.alloca() {alignment = 64 : i64} : memref<7x16xf32>
// CHECK-DAG: %[[ACTIVE:.*]] = memref.alloca() {alignment = 64 : i64} : memref<7x16xf32>
// CHECK: vector.fma
// CHECK: vector.store %{{.*}}, %[[HIDDEN]]
// CHECK: vector.load %[[HIDDEN]]
// CHECK: arith.maximumf
// CHECK: vector.store %{{.*}}, %[[ACTIVE]]
// CHECK: vector.load %[[ACTIVE]]
// CHECK: vector.fma
// CHECK: vector.store %{{.*}}, %[[ACCUMULATOR]]
// CHECK-NOT: arith.divf
func.func @two_layers(%x: memref<?x16xf32>, %first: memref<?x16xf32>, %second: memref<?x12xf32>,
                      %out: memref<?x12xf32>) {
  %c0 = arith.constant 0 : index
  %c7 = arith.constant 7 : index
  %c10 = arith.constant 10 : index
  %rows = memref.dim %x, %c0 : memref<?x16xf32>
  %width = memref.dim %first, %c0 : memref<?x16xf32>
  %blocks = arith.ceildivsi %rows, %c10 : index
  scf.forall (%i) in (%blocks) {
    %r = arith.muli %i, %c10 : index
    %a = tile.load %x[%r] : memref<?x16xf32> -> tensor<10x16xf32>
    %z = arith.constant dense<0.0> : tensor<10x12xf32>
    %sum = scf.for %j = %c0 to %width step %c7 iter_args(%acc = %z) -> (tensor<10x12xf32>) {
      %w = tile.load %first[%j] : memref<?x16xf32> -> tensor<7x16xf32>
      %h = tile.mma %a, %w {transpose_rhs} : tensor<10x16xf32>, tensor<7x16xf32> -> tensor<10x7xf32>
      %zero = arith.constant dense<0.0> : tensor<10x7xf32>
      %p = arith.maximumf %h, %zero : tensor<10x7xf32>
      %v = tile.load %second[%j] : memref<?x12xf32> -> tensor<7x12xf32>
      %next = tile.mma %p, %v acc %acc : tensor<10x7xf32>, tensor<7x12xf32> -> tensor<10x12xf32>
      scf.yield %next : tensor<10x12xf32>
    }
    tile.store %sum, %out[%r] : tensor<10x12xf32>, memref<?x12xf32>
  }
  return
}

// -----

// Two accumulators, each with a home of its own, over one tile of weights.
// CHECK-LABEL: func.func @two_accumulators(
// CHECK-DAG: %[[FIRST:.*]] = memref.alloca() {alignment = 64 : i64} : memref<5x8xf32>
// CHECK-DAG: %[[SECOND:.*]] = memref.alloca() {alignment = 64 : i64} : memref<9x8xf32>
// CHECK-DAG: %[[WEIGHTS:.*]] = memref.alloca() {alignment = 64 : i64} : memref<11x8xf32>
// CHECK: vector.load %[[FIRST]]
// CHECK: vector.load %[[WEIGHTS]]
// CHECK: vector.store %{{.*}}, %[[FIRST]]
// CHECK: vector.load %[[SECOND]]
// CHECK: vector.load %[[WEIGHTS]]
// CHECK: vector.store %{{.*}}, %[[SECOND]]
func.func @two_accumulators(%query: memref<?x8xf32>, %key: memref<?x8xf32>, %v: memref<?x5xf32>,
                            %w: memref<?x9xf32>, %ov: memref<?x5xf32>, %ow: memref<?x9xf32>,
                            %keys: index) {
  %c0 = arith.constant 0 : index
  %c11 = arith.constant 11 : index
  scf.forall (%i) in (1) {
    %q = tile.load %query[%c0] : memref<?x8xf32> -> tensor<6x8xf32>
    %zv = arith.constant dense<0.0> : tensor<6x5xf32>
    %zw = arith.constant dense<0.0> : tensor<6x9xf32>
    %m0, %l0 = tile.softmax_init : tensor<6xf32>
    %r:4 = scf.for %k0 = %c0 to %keys step %c11 iter_args(%a = %zv, %b = %zw, %m = %m0, %l = %l0)
        -> (tensor<6x5xf32>, tensor<6x9xf32>, tensor<6xf32>, tensor<6xf32>) {
      %k = tile.load %key[%k0] : memref<?x8xf32> -> tensor<11x8xf32>
      %s = tile.mma %q, %k {transpose_rhs} : tensor<6x8xf32>, tensor<11x8xf32> -> tensor<6x11xf32>
      %p, %m1, %l1, %alpha = tile.softmax_step %s, %m, %l : tensor<6x11xf32>
      %tv = tile.load %v[%k0] : memref<?x5xf32> -> tensor<11x5xf32>
      %tw = tile.load %w[%k0] : memref<?x9xf32> -> tensor<11x9xf32>
      %a1 = tile.rescale %a, %alpha : tensor<6x5xf32>
      %b1 = tile.rescale %b, %alpha : tensor<6x9xf32>
      %a2 = tile.mma %p, %tv acc %a1 : tensor<6x11xf32>, tensor<11x5xf32> -> tensor<6x5xf32>
      %b2 = tile.mma %p, %tw acc %b1 : tensor<6x11xf32>, tensor<11x9xf32> -> tensor<6x9xf32>
      scf.yield %a2, %b2, %m1, %l1 : tensor<6x5xf32>, tensor<6x9xf32>, tensor<6xf32>, tensor<6xf32>
    }
    %fa, %lse_a = tile.softmax_finalize %r#0, %r#2, %r#3 : tensor<6x5xf32>
    %fb, %lse_b = tile.softmax_finalize %r#1, %r#2, %r#3 : tensor<6x9xf32>
    tile.store %fa, %ov[%c0] : tensor<6x5xf32>, memref<?x5xf32>
    tile.store %fb, %ow[%c0] : tensor<6x9xf32>, memref<?x9xf32>
  }
  return
}

// -----

// The score tile stored to memory, scaled, before the softmax overwrites it.
// CHECK-LABEL: func.func @scores_stored(
// CHECK-SAME: %[[OUT:[a-z0-9]+]]: memref<?x8xf32>, %{{[a-z0-9]+}}: f32
// CHECK: %[[S:.*]] = memref.alloca() {alignment = 64 : i64} : memref<8x8xf32>
// CHECK: memref.subview %[[OUT]]
// CHECK: vector.load %[[S]]
// CHECK: arith.mulf
// CHECK-COUNT-24: vector.shuffle
// CHECK: vector.store %{{.*}} memref<?x8xf32
// CHECK: arith.cmpf ogt
// CHECK: vector.store %{{.*}}, %[[S]]
func.func @scores_stored(%query: memref<?x4xf32>, %key: memref<?x4xf32>, %lse: memref<?xf32>,
                         %scores: memref<?x8xf32>, %scale: f32) {
  %c0 = arith.constant 0 : index
  scf.forall (%i) in (1) {
    %q = tile.load %query[%c0] : memref<?x4xf32> -> tensor<8x4xf32>
    %k = tile.load %key[%c0] : memref<?x4xf32> -> tensor<8x4xf32>
    %s0 = tile.mma %q, %k {transpose_rhs} : tensor<8x4xf32>, tensor<8x4xf32> -> tensor<8x8xf32>
    %scales = tile.broadcast %scale : f32 -> tensor<8x8xf32>
    %s = arith.mulf %s0, %scales : tensor<8x8xf32>
    tile.store %s, %scores[%c0] : tensor<8x8xf32>, memref<?x8xf32>
    %m, %l = tile.softmax_init : tensor<8xf32>
    %p, %m1, %l1, %alpha = tile.softmax_step %s, %m, %l : tensor<8x8xf32>
    %o, %log_sum = tile.softmax_finalize %p, %m1, %l1 : tensor<8x8xf32>
    tile.store %log_sum, %lse[%c0] : tensor<8xf32>, memref<?xf32>
  }
  return
}
