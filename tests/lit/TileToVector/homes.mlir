// RUN: tilewright-opt %s -split-input-file --convert-tile-to-vector --canonicalize --cse | FileCheck %s

// f16 and bf16 keys are widened once a tile, as they lie; queries while they are transposed.
// CHECK-LABEL: func.func @widened(
// CHECK-DAG: %[[Q:.*]] = memref.alloca() {alignment = 64 : i64} : memref<77x8xf32>
// CHECK-DAG: %[[K:.*]] = memref.alloca() {alignment = 64 : i64} : memref<12x77xf32>
// CHECK: vector.load %{{.*}} : memref<?x77xbf16, {{.*}}>, vector<8xbf16>
// CHECK: arith.shli
// CHECK: vector.store %{{.*}}, %[[Q]]
// Of a row four vectors are one iteration; then come those that are left, then elements.
// CHECK: %[[ROW:.*]] = memref.reinterpret_cast %{{.*}} sizes: [1, 77]
// CHECK: scf.for %{{.*}} = %c0 to %c64 step %c32
// CHECK-COUNT-4: vector.store %{{.*}}, %[[K]]
// CHECK: vector.load %[[ROW]][%c0, %c64]
// CHECK: arith.shli
// CHECK: vector.store %{{.*}}, %[[K]]
// CHECK: scf.for %{{.*}} = %c72 to %c77
// CHECK: memref.load %[[ROW]]
// CHECK: memref.store %{{.*}}, %[[K]]
// CHECK: memref.reinterpret_cast %[[K]]
func.func @widened(%query: memref<?x77xbf16>, %key: memref<?x77xbf16>, %scores: memref<?x12xf32>) {
  %c0 = arith.constant 0 : index
  scf.forall (%i) in (1) {
    %q = tile.load %query[%c0] : memref<?x77xbf16> -> tensor<8x77xbf16>
    %k = tile.load %key[%c0] : memref<?x77xbf16> -> tensor<12x77xbf16>
    %s = tile.mma %q, %k {transpose_rhs} : tensor<8x77xbf16>, tensor<12x77xbf16> -> tensor<8x12xf32>
    tile.store %s, %scores[%c0] : tensor<8x12xf32>, memref<?x12xf32>
  }
  return
}

// -----

// In an f64 program vectors are half as long, i32 positions included.
// CHECK-LABEL: func.func @double(
// CHECK: memref.alloca() {alignment = 64 : i64} : memref<3x8xf64>
// CHECK: arith.addi %{{.*}} : vector<4xi32>
// CHECK: arith.addf %{{.*}} : vector<4xf64>
// CHECK-NOT: vector<8x
func.func @double(%source: memref<?x3xf64>, %target: memref<?x3xf64>) {
  %c0 = arith.constant 0 : index
  scf.forall (%i) in (1) {
    %x = tile.load %source[%c0] : memref<?x3xf64> -> tensor<5x3xf64>
    %q = tile.coord %c0, dim = 0 : tensor<5x3xi32>
    %f = arith.sitofp %q : tensor<5x3xi32> to tensor<5x3xf64>
    %y = arith.addf %x, %f : tensor<5x3xf64>
    tile.store %y, %target[%c0] : tensor<5x3xf64>, memref<?x3xf64>
  }
  return
}

// -----

// Scores that somebody reads after the step keep their home, and the weights get another.
// CHECK-LABEL: func.func @scores_live_on(
// CHECK: memref.alloca() {alignment = 64 : i64} : memref<4x8xf32>
// CHECK-DAG: %[[S:.*]] = memref.alloca() {alignment = 64 : i64} : memref<6x8xf32>
// CHECK-DAG: %[[P:.*]] = memref.alloca() {alignment = 64 : i64} : memref<6x8xf32>
// CHECK: vector.store %{{.*}}, %[[S]]
// CHECK: vector.load %[[S]]
// CHECK: vector.store %{{.*}}, %[[P]]
// CHECK: vector.load %[[P]]
// CHECK: vector.store %{{.*}}, %[[P]]
// CHECK: vector.load %[[S]]
func.func @scores_live_on(%query: memref<?x4xf32>, %key: memref<?x4xf32>, %scores: memref<?x6xf32>,
                          %weights: memref<?x6xf32>) {
  %c0 = arith.constant 0 : index
  scf.forall (%i) in (1) {
    %q = tile.load %query[%c0] : memref<?x4xf32> -> tensor<8x4xf32>
    %k = tile.load %key[%c0] : memref<?x4xf32> -> tensor<6x4xf32>
    %s = tile.mma %q, %k {transpose_rhs} : tensor<8x4xf32>, tensor<6x4xf32> -> tensor<8x6xf32>
    %m, %l = tile.softmax_init : tensor<8xf32>
    %p, %m1, %l1, %alpha = tile.softmax_step %s, %m, %l : tensor<8x6xf32>
    tile.store %s, %scores[%c0] : tensor<8x6xf32>, memref<?x6xf32>
    tile.store %p, %weights[%c0] : tensor<8x6xf32>, memref<?x6xf32>
  }
  return
}

// -----

// Rows may change places in a loop; they are copied.
// CHECK-LABEL: func.func @rows_change_places(
// CHECK: scf.for
// CHECK: %[[A:.*]] = vector.load %[[A_HOME:.*]][%c0, %c0]
// CHECK: vector.store %[[A]], %[[A_PLACE:.*]][%c0, %c0]
// CHECK: %[[B:.*]] = vector.load %[[B_HOME:.*]][%c0, %c0]
// CHECK: vector.store %[[B]], %[[B_PLACE:.*]][%c0, %c0]
// CHECK: vector.load %[[A_PLACE]]
// CHECK: vector.store %{{.*}}, %[[B_HOME]]
// CHECK: vector.load %[[B_PLACE]]
// CHECK: vector.store %{{.*}}, %[[A_HOME]]
func.func @rows_change_places(%source: memref<?xf32>, %target: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.forall (%i) in (1) {
    %a = tile.load %source[%c0] : memref<?xf32> -> tensor<8xf32>
    %b = arith.constant dense<1.0> : tensor<8xf32>
    %r:2 = scf.for %j = %c0 to %n step %c1 iter_args(%x = %a, %y = %b) -> (tensor<8xf32>, tensor<8xf32>) {
      scf.yield %y, %x : tensor<8xf32>, tensor<8xf32>
    }
    tile.store %r#0, %target[%c0] : tensor<8xf32>, memref<?xf32>
  }
  return
}

// -----

// Scratch of one loop is the next one's. Bytes: 64 x 8 of queries, 8 x 8 of output, two times 8 of
// state and 8 of alpha, 12 x 8 of scores, all f32.
// CHECK-LABEL: func.func @two_loops(
// CHECK-SAME: tilewright.scratch_bytes = 2784 : i64
func.func @two_loops(%query: memref<?x64xf32>, %key: memref<?x64xf32>, %value: memref<?x8xf32>,
                     %out: memref<?x8xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c12 = arith.constant 12 : index
  scf.forall (%i) in (1) {
    %q = tile.load %query[%c0] : memref<?x64xf32> -> tensor<8x64xf32>
    %m0, %l0 = tile.softmax_init : tensor<8xf32>
    %o0 = arith.constant dense<0.0> : tensor<8x8xf32>
    %r:3 = scf.for %k0 = %c0 to %n step %c12 iter_args(%o = %o0, %m = %m0, %l = %l0)
        -> (tensor<8x8xf32>, tensor<8xf32>, tensor<8xf32>) {
      %k = tile.load %key[%k0] : memref<?x64xf32> -> tensor<12x64xf32>
      %s = tile.mma %q, %k {transpose_rhs} : tensor<8x64xf32>, tensor<12x64xf32> -> tensor<8x12xf32>
      %p, %m1, %l1, %alpha = tile.softmax_step %s, %m, %l : tensor<8x12xf32>
      %o1 = tile.rescale %o, %alpha : tensor<8x8xf32>
      %v = tile.load %value[%k0] : memref<?x8xf32> -> tensor<12x8xf32>
      %o2 = tile.mma %p, %v acc %o1 : tensor<8x12xf32>, tensor<12x8xf32> -> tensor<8x8xf32>
      scf.yield %o2, %m1, %l1 : tensor<8x8xf32>, tensor<8xf32>, tensor<8xf32>
    }
    %t:3 = scf.for %k0 = %n to %c12 step %c12 iter_args(%o = %r#0, %m = %r#1, %l = %r#2)
        -> (tensor<8x8xf32>, tensor<8xf32>, tensor<8xf32>) {
      %k = tile.load %key[%k0] : memref<?x64xf32> -> tensor<12x64xf32>
      %s = tile.mma %q, %k {transpose_rhs} : tensor<8x64xf32>, tensor<12x64xf32> -> tensor<8x12xf32>
      %p, %m1, %l1, %alpha = tile.softmax_step %s, %m, %l : tensor<8x12xf32>
      %o1 = tile.rescale %o, %alpha : tensor<8x8xf32>
      %v = tile.load %value[%k0] : memref<?x8xf32> -> tensor<12x8xf32>
      %o2 = tile.mma %p, %v acc %o1 : tensor<8x12xf32>, tensor<12x8xf32> -> tensor<8x8xf32>
      scf.yield %o2, %m1, %l1 : tensor<8x8xf32>, tensor<8xf32>, tensor<8xf32>
    }
    %result, %lse = tile.softmax_finalize %t#0, %t#1, %t#2 : tensor<8x8xf32>
    tile.store %result, %out[%c0] : tensor<8x8xf32>, memref<?x8xf32>
  }
  return
}
