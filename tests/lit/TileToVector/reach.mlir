// RUN: sed 's/STORED/none/' %s | tilewright-opt --convert-tile-to-vector --canonicalize --cse | FileCheck %s
// RUN: sed 's/STORED/products/' %s | tilewright-opt --convert-tile-to-vector --canonicalize --cse \
// RUN:   | FileCheck %s --check-prefix=PRODUCTS
// RUN: sed 's/STORED/p/' %s | tilewright-opt --convert-tile-to-vector --canonicalize --cse \
// RUN:   | FileCheck %s --check-prefix=WEIGHTS

// Keys that no query of a group may see are left out of both products and of the weights: which are
// seen at most follows from the comparisons of a mask.

#any = strided<[?, 1], offset: ?>

// CHECK-LABEL: func.func @causal(
// CHECK: scf.for %[[K0:.*]] = %c0 to %{{.*}} step %c48
// CHECK: memref.subview
// CHECK: %[[VALUES:.*]] = arith.maxsi
// CHECK: memref.subview

// k < number, and k <= q + shift, which is greatest for the last of 24 queries: 23 more than for the
// first, computed in 32 bits as the program does.
// CHECK: %[[FIRST:.*]] = arith.index_cast %{{.*}} : index to i32
// CHECK: %[[SHIFTED:.*]] = arith.addi %[[FIRST]], %{{.*}} : i32
// CHECK: %[[LIMIT:.*]] = arith.index_cast %[[SHIFTED]] : i32 to index
// CHECK: %[[LAST:.*]] = arith.addi %[[LIMIT]], %c23
// CHECK: %[[DISTANCE:.*]] = arith.subi %[[LAST]], %[[K0]]
// CHECK: %[[SEEN:.*]] = arith.addi %[[DISTANCE]], %c1
// CHECK: %[[NUMBER:.*]] = arith.index_cast %{{.*}} : i32 to index
// CHECK: %[[BELOW:.*]] = arith.subi %[[NUMBER]], %[[K0]]
// CHECK: arith.minsi %[[SEEN]], %[[BELOW]]
// CHECK: arith.minsi %{{.*}}, %c48
// CHECK: %[[REACH:.*]] = arith.maxsi %{{.*}}, %c0
// CHECK: %[[KEYS:.*]] = arith.minsi %{{.*}}, %[[REACH]]
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[KEYS]] step %c1
// CHECK: scf.for %{{.*}} = %[[KEYS]] to %[[REACH]] step %c1
// CHECK-COUNT-3: scf.for %{{.*}} = %c0 to %[[REACH]] step %c1
// CHECK: %[[DEPTH:.*]] = arith.minsi %[[VALUES]], %[[REACH]]
// CHECK: scf.for %{{.*}} to %[[DEPTH]] step %c1 iter_args
func.func @causal(%query: memref<?x16xf32, #any>, %key: memref<?x16xf32, #any>,
                  %value: memref<?x8xf32, #any>, %out: memref<?x8xf32, #any>, %number: i32,
                  %shift: i32) {
  %c0 = arith.constant 0 : index
  %c24 = arith.constant 24 : index
  %c48 = arith.constant 48 : index
  %q_len = memref.dim %query, %c0 : memref<?x16xf32, #any>
  %kv_len = memref.dim %key, %c0 : memref<?x16xf32, #any>
  %blocks = arith.ceildivsi %q_len, %c24 : index
  %none = arith.constant dense<0xFF800000> : tensor<24x48xf32>
  scf.forall (%i) in (%blocks) {
    %q0 = arith.muli %i, %c24 : index
    %q = tile.load %query[%q0] : memref<?x16xf32, #any> -> tensor<24x16xf32>
    %m0, %l0 = tile.softmax_init : tensor<24xf32>
    %o0 = arith.constant dense<0.0> : tensor<24x8xf32>
    %r:3 = scf.for %k0 = %c0 to %kv_len step %c48 iter_args(%o = %o0, %m = %m0, %l = %l0)
        -> (tensor<24x8xf32>, tensor<24xf32>, tensor<24xf32>) {
      %k = tile.load %key[%k0] : memref<?x16xf32, #any> -> tensor<48x16xf32>
      %s0 = tile.mma %q, %k {transpose_rhs} : tensor<24x16xf32>, tensor<48x16xf32> -> tensor<24x48xf32>
      %keys = tile.coord %k0, dim = 1 : tensor<24x48xi32>
      %queries = tile.coord %q0, dim = 0 : tensor<24x48xi32>
      %numbers = tile.broadcast %number : i32 -> tensor<24x48xi32>
      %shifts = tile.broadcast %shift : i32 -> tensor<24x48xi32>
      %last = arith.addi %queries, %shifts : tensor<24x48xi32>
      %a = arith.cmpi sge, %last, %keys : tensor<24x48xi32>
      %b = arith.cmpi slt, %keys, %numbers : tensor<24x48xi32>
      %both = arith.andi %a, %b : tensor<24x48xi1>
      %s = arith.select %both, %s0, %none : tensor<24x48xi1>, tensor<24x48xf32>
      %p, %m1, %l1, %alpha = tile.softmax_step %s, %m, %l : tensor<24x48xf32>
      %o1 = tile.rescale %o, %alpha : tensor<24x8xf32>
      %v = tile.load %value[%k0] : memref<?x8xf32, #any> -> tensor<48x8xf32>
      %o2 = tile.mma %p, %v acc %o1 : tensor<24x48xf32>, tensor<48x8xf32> -> tensor<24x8xf32>
      scf.yield %o2, %m1, %l1 : tensor<24x8xf32>, tensor<24xf32>, tensor<24xf32>
    }
    %result, %lse = tile.softmax_finalize %r#0, %r#1, %r#2 : tensor<24x8xf32>
    tile.store %result, %out[%q0] : tensor<24x8xf32>, memref<?x8xf32, #any>
  }
  return
}

// A score function that is a pass of its own reads of its product what is seen. Nor does a product with
// values that lie transposed read other weights.
// CHECK-LABEL: func.func @long_scores(
// CHECK: memref.subview %{{.*}} to memref<?x48xf32
// CHECK: %[[BEGIN:.*]] = arith.maxsi %{{.*}}, %c0
// CHECK: %[[MOST:.*]] = arith.minsi %{{.*}}, %c48
// CHECK: %[[END:.*]] = arith.maxsi %[[MOST]], %c0
// CHECK: %[[KEYS:.*]] = arith.minsi %{{.*}}, %[[END]]
// CHECK: %[[FIRST:.*]] = arith.minsi %[[BEGIN]], %[[KEYS]]
// CHECK: scf.for %{{.*}} = %[[FIRST]] to %{{.*}} step %c4
// CHECK: scf.for %{{.*}} to %[[KEYS]] step %c1
// CHECK: scf.for %{{.*}} = %[[KEYS]] to %[[END]] step %c1
// CHECK: scf.for %{{.*}} = %[[BEGIN]] to %[[END]] step %c1 iter_args(%{{.*}}, %{{.*}}, %{{.*}}) ->
// CHECK-COUNT-3: scf.for %{{.*}} = %[[BEGIN]] to %[[END]] step %c1 iter_args
// CHECK: %[[DEPTH:.*]] = arith.minsi %[[BEGIN]], %[[END]]
// CHECK: scf.for %{{.*}} = %[[DEPTH]] to %{{.*}} step %c4 iter_args
// CHECK: scf.for %{{.*}} to %[[END]] step %c1 iter_args

// Not so if somebody else reads the product, or the weights.
// PRODUCTS-LABEL: func.func @long_scores(
// PRODUCTS: memref.subview %{{.*}} to memref<?x48xf32
// PRODUCTS: %[[BEGIN:.*]] = arith.maxsi %{{.*}}, %c0
// PRODUCTS: scf.for %{{.*}} = %c0 to %{{.*}} step %c4
// PRODUCTS: scf.for %{{.*}} to %c48 step %c1
// PRODUCTS-COUNT-4: scf.for %{{.*}} = %[[BEGIN]] to %{{.*}} step %c1 iter_args
// WEIGHTS-LABEL: func.func @long_scores(
// WEIGHTS: scf.for %{{.*}} = %c0 to %{{.*}} step %c4
// WEIGHTS-COUNT-4: scf.for %{{.*}} = %c0 to %c48 step %c1 iter_args
func.func @long_scores(%query: memref<?x16xf32, #any>, %key: memref<?x16xf32, #any>,
                       %value: memref<?x48xf32, #any>, %out: memref<?x8xf32, #any>,
                       %scratch: memref<?x48xf32, #any>, %q0: index, %window: i32) {
  %c0 = arith.constant 0 : index
  %c48 = arith.constant 48 : index
  %none = arith.constant dense<0xFF800000> : tensor<24x48xf32>
  %quarter = arith.constant dense<0.25> : tensor<24x48xf32>
  scf.forall (%i) in (1) {
    %q = tile.load %query[%q0] : memref<?x16xf32, #any> -> tensor<24x16xf32>
    %k = tile.load %key[%c48] : memref<?x16xf32, #any> -> tensor<48x16xf32>
    %products = tile.mma %q, %k {transpose_rhs}
      : tensor<24x16xf32>, tensor<48x16xf32> -> tensor<24x48xf32>
    %scaled = arith.mulf %products, %quarter : tensor<24x48xf32>
    %bounded = math.tanh %scaled : tensor<24x48xf32>
    %scores0 = arith.mulf %bounded, %quarter : tensor<24x48xf32>
    %queries = tile.coord %q0, dim = 0 : tensor<24x48xi32>
    %keys = tile.coord %c48, dim = 1 : tensor<24x48xi32>
    %windows = tile.broadcast %window : i32 -> tensor<24x48xi32>
    %behind = arith.subi %queries, %keys : tensor<24x48xi32>
    %near = arith.cmpi slt, %behind, %windows : tensor<24x48xi32>
    %before = arith.cmpi sle, %keys, %queries : tensor<24x48xi32>
    %visible = arith.andi %near, %before : tensor<24x48xi1>
    %scores = arith.select %visible, %scores0, %none : tensor<24x48xi1>, tensor<24x48xf32>
    %m0, %l0 = tile.softmax_init : tensor<24xf32>
    %p, %m, %l, %alpha = tile.softmax_step %scores, %m0, %l0 : tensor<24x48xf32>
    %v = tile.load %value[%c0] : memref<?x48xf32, #any> -> tensor<8x48xf32>
    %o = tile.mma %p, %v {transpose_rhs} : tensor<24x48xf32>, tensor<8x48xf32> -> tensor<24x8xf32>
    %result, %lse = tile.softmax_finalize %o, %m, %l : tensor<24x8xf32>
    tile.store %result, %out[%q0] : tensor<24x8xf32>, memref<?x8xf32, #any>
    tile.store %STORED, %scratch[%q0] : tensor<24x48xf32>, memref<?x48xf32, #any>
  }
  return
}
