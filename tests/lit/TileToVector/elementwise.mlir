// RUN: tilewright-opt %s -split-input-file --convert-tile-to-vector --canonicalize --cse | FileCheck %s

// What all queries share stays scalar, what all keys share is computed before the loop over keys.
// CHECK-LABEL: func.func @documents(
// CHECK-SAME: %[[SOURCE:.*]]: memref<?x6xf32>, %[[DOC:.*]]: memref<?xi32>,
// CHECK: vector.from_elements {{.*}} : vector<8xi32>
// CHECK: scf.for
// CHECK-NOT: vector.from_elements
// CHECK: %[[OF_KEY:.*]] = memref.load %[[DOC]]
// CHECK: vector.broadcast %[[OF_KEY]] : i32 to vector<8xi32>
// CHECK: arith.cmpi eq, %{{.*}} : vector<8xi32>
// CHECK: arith.select %{{.*}} : vector<8xi1>, vector<8xf32>
func.func @documents(%source: memref<?x6xf32>, %doc: memref<?xi32>, %target: memref<?x6xf32>) {
  %c0 = arith.constant 0 : index
  scf.forall (%i) in (1) {
    %x = tile.load %source[%c0] : memref<?x6xf32> -> tensor<8x6xf32>
    %q = tile.coord %c0, dim = 0 : tensor<8x6xi32>
    %k = tile.coord %c0, dim = 1 : tensor<8x6xi32>
    %dq = tile.gather %doc[%q] : memref<?xi32> -> tensor<8x6xi32>
    %dk = tile.gather %doc[%k] : memref<?xi32> -> tensor<8x6xi32>
    %same = arith.cmpi eq, %dq, %dk : tensor<8x6xi32>
    %none = arith.constant dense<0xFF800000> : tensor<8x6xf32>
    %y = arith.select %same, %x, %none : tensor<8x6xi1>, tensor<8x6xf32>
    tile.store %y, %target[%c0] : tensor<8x6xf32>, memref<?x6xf32>
  }
  return
}

// -----

// Indices are clamped, elements read one by one, with offsets in 64 bits.
// CHECK-LABEL: func.func @bias(
// CHECK-SAME: %{{.*}}, %[[BIAS:.*]]: memref<?x?xf16>,
// CHECK: arith.minsi %{{.*}} : vector<8xi32>
// CHECK: arith.maxsi %{{.*}} : vector<8xi32>
// CHECK: arith.index_cast %{{.*}} : i32 to index
// CHECK: memref.load %[[BIAS]][%{{.*}}, %{{.*}}] : memref<?x?xf16>
// CHECK: vector.from_elements
// CHECK: arith.extf %{{.*}} : vector<8xf16> to vector<8xf32>
func.func @bias(%source: memref<?x6xf32>, %bias: memref<?x?xf16>, %target: memref<?x6xf32>) {
  %c0 = arith.constant 0 : index
  scf.forall (%i) in (1) {
    %x = tile.load %source[%c0] : memref<?x6xf32> -> tensor<8x6xf32>
    %q = tile.coord %c0, dim = 0 : tensor<8x6xi32>
    %k = tile.coord %c0, dim = 1 : tensor<8x6xi32>
    %b = tile.gather %bias[%q, %k] : memref<?x?xf16> -> tensor<8x6xf16>
    %w = arith.extf %b : tensor<8x6xf16> to tensor<8x6xf32>
    %y = arith.addf %x, %w : tensor<8x6xf32>
    tile.store %y, %target[%c0] : tensor<8x6xf32>, memref<?x6xf32>
  }
  return
}

// -----

// A value that is used twice is computed once, and no math function is left in f32.
// CHECK-LABEL: func.func @softcap(
// CHECK: arith.divf
// CHECK-NOT: math.tanh
// CHECK-NOT: math.exp
func.func @softcap(%source: memref<?x6xf32>, %target: memref<?x6xf32>) {
  %c0 = arith.constant 0 : index
  scf.forall (%i) in (1) {
    %x = tile.load %source[%c0] : memref<?x6xf32> -> tensor<8x6xf32>
    %t = math.tanh %x : tensor<8x6xf32>
    %e = math.exp2 %t : tensor<8x6xf32>
    %y = arith.mulf %t, %e : tensor<8x6xf32>
    tile.store %y, %target[%c0] : tensor<8x6xf32>, memref<?x6xf32>
  }
  return
}

// -----

// Scores that read memory leave the accumulators no registers: they get a pass of their own.
// CHECK-LABEL: func.func @biased_scores(
// CHECK: %[[S:.*]] = memref.alloca() {alignment = 64 : i64} : memref<6x8xf32>
// CHECK: vector.fma
// CHECK: vector.store %{{.*}}, %[[S]]
// CHECK: vector.from_elements
// CHECK: vector.load %[[S]]
// CHECK: arith.addf
// CHECK: vector.store %{{.*}}, %[[S]]
// CHECK: arith.cmpf ogt
func.func @biased_scores(%query: memref<?x4xf32>, %key: memref<?x4xf32>, %bias: memref<?x?xf32>,
                         %weights: memref<?x6xf32>) {
  %c0 = arith.constant 0 : index
  scf.forall (%i) in (1) {
    %q = tile.load %query[%c0] : memref<?x4xf32> -> tensor<8x4xf32>
    %k = tile.load %key[%c0] : memref<?x4xf32> -> tensor<6x4xf32>
    %s = tile.mma %q, %k {transpose_rhs} : tensor<8x4xf32>, tensor<6x4xf32> -> tensor<8x6xf32>
    %qi = tile.coord %c0, dim = 0 : tensor<8x6xi32>
    %ki = tile.coord %c0, dim = 1 : tensor<8x6xi32>
    %b = tile.gather %bias[%qi, %ki] : memref<?x?xf32> -> tensor<8x6xf32>
    %t = arith.addf %s, %b : tensor<8x6xf32>
    %m, %l = tile.softmax_init : tensor<8xf32>
    %p, %m1, %l1, %alpha = tile.softmax_step %t, %m, %l : tensor<8x6xf32>
    tile.store %p, %weights[%c0] : tensor<8x6xf32>, memref<?x6xf32>
  }
  return
}
