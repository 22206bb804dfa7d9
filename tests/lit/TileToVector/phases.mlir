// RUN: tilewright-opt %s --convert-tile-to-vector --canonicalize --cse | FileCheck %s

// Two foralls are two pairs of functions, and what passes from one to the other rests in memory of the
// caller's, of a size that a function tells.
// CHECK-LABEL: func.func @twice_workspace(
// CHECK-SAME: memref<?x?x4xf32>, %{{.*}}: memref<?x4xf32>) -> index
// CHECK: arith.mului_extended
// CHECK: %[[LINES:.*]] = arith.ceildivui %{{.*}}, %c64
// CHECK: %[[BYTES:.*]] = arith.muli %[[LINES]], %c64
// CHECK: return %[[BYTES]]

// CHECK-LABEL: func.func @twice_items(
// CHECK-LABEL: func.func @twice(
// CHECK-SAME: %[[WORKSPACE:[a-z0-9]*]]: memref<?xi8>, %{{[a-z0-9]*}}: index)
// CHECK: memref.view %[[WORKSPACE]][%c0][%{{.*}}] : memref<?xi8> to memref<?x4xf32>

// Rows over two dimensions.
// CHECK-DAG: arith.divui %{{.*}}, %[[GROUP:.*]] : index
// CHECK-DAG: arith.remui %{{.*}}, %{{.*}} : index

// CHECK-LABEL: func.func @twice_2_items(
// CHECK-LABEL: func.func @twice_2(
// CHECK: memref.view
func.func @twice(%x: memref<?x?x4xf32>, %y: memref<?x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %n = memref.dim %x, %c0 : memref<?x?x4xf32>
  %group = memref.dim %x, %c1 : memref<?x?x4xf32>
  %rows = arith.muli %n, %group : index
  %blocks = arith.ceildivsi %rows, %c8 : index
  %t = memref.alloc(%rows) : memref<?x4xf32>
  scf.forall (%i) in (%blocks) {
    %first = arith.muli %i, %c8 : index
    %a = tile.load %x[%first] : memref<?x?x4xf32> -> tensor<8x4xf32>
    %b = arith.addf %a, %a : tensor<8x4xf32>
    tile.store %b, %t[%first] : tensor<8x4xf32>, memref<?x4xf32>
  }
  scf.forall (%i) in (%blocks) {
    %first = arith.muli %i, %c8 : index
    %a = tile.load %t[%first] : memref<?x4xf32> -> tensor<8x4xf32>
    tile.store %a, %y[%first] : tensor<8x4xf32>, memref<?x4xf32>
  }
  return
}

// A function that occurs often is called.
// CHECK-LABEL: func.func private @often_tanh(
// CHECK-SAME: vector<8xf32>) -> vector<8xf32>
// CHECK-NOT: math.tanh
// CHECK-LABEL: func.func @often(
// CHECK-COUNT-9: call @often_tanh
// CHECK-NOT: math
func.func @often(%x: memref<?x1xf32>, %y: memref<?x1xf32>) {
  scf.forall (%i) in (1) {
    %a = tile.load %x[%i] : memref<?x1xf32> -> tensor<8x1xf32>
    %1 = math.tanh %a : tensor<8x1xf32>
    %2 = math.tanh %1 : tensor<8x1xf32>
    %3 = math.tanh %2 : tensor<8x1xf32>
    %4 = math.tanh %3 : tensor<8x1xf32>
    %5 = math.tanh %4 : tensor<8x1xf32>
    %6 = math.tanh %5 : tensor<8x1xf32>
    %7 = math.tanh %6 : tensor<8x1xf32>
    %8 = math.tanh %7 : tensor<8x1xf32>
    %9 = math.tanh %8 : tensor<8x1xf32>
    tile.store %9, %y[%i] : tensor<8x1xf32>, memref<?x1xf32>
  }
  return
}

// Neighbouring queries read neighbouring elements with one load where the tensor is dense there.
// CHECK-LABEL: func.func @gather(
// CHECK: %[[IS_DENSE:.*]] = arith.cmpi eq, %{{.*}}, %c1
// CHECK: scf.if
// CHECK: vector.load {{.*}} : memref<8xf32, strided<[1], offset: ?>>, vector<8xf32>
// CHECK: } else {
// CHECK-COUNT-8: memref.load
func.func @gather(%x: memref<?xf32, strided<[?], offset: ?>>, %y: memref<?x1xf32>, %shift: i32) {
  scf.forall (%i) in (1) {
    %q = tile.coord %i, dim = 0 : tensor<8x1xi32>
    %k = tile.coord %i, dim = 1 : tensor<8x1xi32>
    %s = tile.broadcast %shift : i32 -> tensor<8x1xi32>
    %0 = arith.subi %q, %k : tensor<8x1xi32>
    %j = arith.addi %s, %0 : tensor<8x1xi32>
    %a = tile.gather %x[%j] : memref<?xf32, strided<[?], offset: ?>> -> tensor<8x1xf32>
    tile.store %a, %y[%i] : tensor<8x1xf32>, memref<?x1xf32>
  }
  return
}
