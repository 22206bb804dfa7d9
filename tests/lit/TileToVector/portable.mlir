// RUN: tilewright-opt %s --convert-tile-to-vector='lanes=4 vectors=2 rows=2' | FileCheck %s
// RUN: not tilewright-opt %s --convert-tile-to-vector='lanes=5' 2>&1 | FileCheck %s --check-prefix=LANES
// RUN: not tilewright-opt %s --convert-tile-to-vector='vectors=0' 2>&1 | FileCheck %s --check-prefix=VECTORS
// RUN: not tilewright-opt %s --convert-tile-to-vector='rows=17' 2>&1 | FileCheck %s --check-prefix=ROWS
// LANES: lanes = 5 is not 4, 8 or 16
// VECTORS: vectors = 0 is not in 1 to 16
// ROWS: rows = 17 is not in 1 to 16

// Not every machine with four lanes has a fused multiply-add; where there is none, LLVM would call a
// function for each element.
// CHECK-LABEL: func.func @product(
// CHECK: %[[SUMS:.*]]:4 = scf.for
// CHECK: %[[PRODUCT:.*]] = arith.mulf %{{.*}} fastmath<contract> : vector<4xf32>
// CHECK: arith.addf %[[PRODUCT]], %{{.*}} fastmath<contract> : vector<4xf32>
// CHECK-NOT: vector.fma
func.func @product(%x: memref<?x4xf32>, %w: memref<?x4xf32>, %y: memref<?x6xf32>) {
  %c0 = arith.constant 0 : index
  scf.forall (%i) in (1) {
    %a = tile.load %x[%c0] : memref<?x4xf32> -> tensor<8x4xf32>
    %b = tile.load %w[%c0] : memref<?x4xf32> -> tensor<6x4xf32>
    %s = tile.mma %a, %b {transpose_rhs} : tensor<8x4xf32>, tensor<6x4xf32> -> tensor<8x6xf32>
    tile.store %s, %y[%c0] : tensor<8x6xf32>, memref<?x6xf32>
  }
  return
}
