// RUN: tilewright-opt %s --convert-tile-to-vector | FileCheck %s

// The iterations of the forall become the items of a function that counts them and one that does one.
// CHECK-LABEL: func.func @copy_items(
// CHECK-SAME: %[[SOURCE:.*]]: memref<?x?x4xf32>, %{{.*}}: memref<?x?x4xf32>) -> index
// CHECK: %[[HEADS:.*]] = memref.dim %[[SOURCE]]
// CHECK: %[[BLOCKS:.*]] = arith.ceildivsi
// CHECK: %[[HEAD_COUNT:.*]] = arith.maxsi
// CHECK: %[[BLOCK_COUNT:.*]] = arith.maxsi
// CHECK: %[[COUNT:.*]] = arith.muli %{{.*}}, %[[HEAD_COUNT]] : index
// CHECK: %[[ITEMS:.*]] = arith.muli %[[COUNT]], %[[BLOCK_COUNT]] : index
// CHECK: return %[[ITEMS]] : index

// The last dimension runs fastest.
// CHECK-LABEL: func.func @copy(
// CHECK-SAME: %{{.*}}: memref<?x?x4xf32>, %{{.*}}: memref<?x?x4xf32>, %[[ITEM:.*]]: index)
// CHECK-SAME: attributes {tilewright.scratch_bytes =
// CHECK: %[[BLOCK_EXTENT:.*]] = arith.maxsi
// CHECK: %[[BLOCK_EXTENT:.*]] = arith.maxsi
// CHECK: %[[BLOCK:.*]] = arith.remui %[[ITEM]], %[[BLOCK_EXTENT]] : index
// CHECK: arith.divui %[[ITEM]], %[[BLOCK_EXTENT]] : index
// CHECK-NOT: scf.forall
func.func @copy(%source: memref<?x?x4xf32>, %target: memref<?x?x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %heads = memref.dim %source, %c0 : memref<?x?x4xf32>
  %rows = memref.dim %source, %c1 : memref<?x?x4xf32>
  %blocks = arith.ceildivsi %rows, %c8 : index
  scf.forall (%h, %i) in (%heads, %blocks) {
    %first = arith.muli %i, %c8 : index
    %tile = tile.load %source[%h, %first] : memref<?x?x4xf32> -> tensor<8x4xf32>
    tile.store %tile, %target[%h, %first] : tensor<8x4xf32>, memref<?x?x4xf32>
  }
  return
}
