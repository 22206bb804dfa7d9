// RUN: tilewright-opt %s --split-input-file --convert-tile-to-vector --canonicalize --cse | FileCheck %s

// A row's reciprocal is computed before the loop over columns where there is one; what has none to be hoisted
// before divides where it stands.

// An accumulator that is the same in all columns.
// CHECK-LABEL: func.func @constant_accumulator(
// CHECK: %[[RECIPROCAL:.*]] = arith.divf
// CHECK: arith.mulf {{.*}}%[[RECIPROCAL]]
// CHECK-NOT: arith.divf
func.func @constant_accumulator(%m_: memref<?xf32>, %l_: memref<?xf32>, %out: memref<?x8xf32>) {
  %c0 = arith.constant 0 : index
  %acc = arith.constant dense<2.0> : tensor<8x8xf32>
  scf.forall (%i) in (1) {
    %m = tile.load %m_[%c0] : memref<?xf32> -> tensor<8xf32>
    %l = tile.load %l_[%c0] : memref<?xf32> -> tensor<8xf32>
    %o, %lse = tile.softmax_finalize %acc, %m, %l : tensor<8x8xf32>
    tile.store %o, %out[%c0] : tensor<8x8xf32>, memref<?x8xf32>
  }
  return
}

// -----

// What a product adds to, with columns on the lanes.
// CHECK-LABEL: func.func @added_to(
// CHECK: %[[RECIPROCAL:.*]] = arith.divf
// CHECK: arith.mulf {{.*}}%[[RECIPROCAL]]
func.func @added_to(%m_: memref<?xf32>, %l_: memref<?xf32>, %a_: memref<?x8xf32>, %key: memref<?x8xf32>,
                    %out: memref<?x8xf32>) {
  %c0 = arith.constant 0 : index
  scf.forall (%i) in (1) {
    %m = tile.load %m_[%c0] : memref<?xf32> -> tensor<8xf32>
    %l = tile.load %l_[%c0] : memref<?xf32> -> tensor<8xf32>
    %acc = tile.load %a_[%c0] : memref<?x8xf32> -> tensor<8x8xf32>
    %o, %lse = tile.softmax_finalize %acc, %m, %l : tensor<8x8xf32>
    %k = tile.load %key[%c0] : memref<?x8xf32> -> tensor<8x8xf32>
    %p = tile.mma %acc, %k acc %o {transpose_rhs}
        : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
    tile.store %p, %out[%c0] : tensor<8x8xf32>, memref<?x8xf32>
  } {tile.columns_on_lanes}
  return
}
