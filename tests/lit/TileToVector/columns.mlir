// RUN: tilewright-opt %s --convert-tile-to-vector --canonicalize --cse | FileCheck %s
// RUN: tilewright-opt %s --pass-pipeline='builtin.module(convert-tile-to-vector{lanes=8 vectors=3 rows=4},canonicalize,cse,convert-scf-to-cf,expand-strided-metadata,lower-affine,convert-to-llvm,reconcile-unrealized-casts,canonicalize,cse)' \
// RUN:   | mlir-translate --mlir-to-llvmir | llc -O2 -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3 \
// RUN:   | python3 %S/Inputs/innermost-loops.py | FileCheck %s --check-prefix=AVX2
// RUN: tilewright-opt %s --pass-pipeline='builtin.module(convert-tile-to-vector{lanes=16 vectors=4 rows=6},canonicalize,cse,convert-scf-to-cf,expand-strided-metadata,lower-affine,convert-to-llvm,reconcile-unrealized-casts,canonicalize,cse)' \
// RUN:   | mlir-translate --mlir-to-llvmir | llc -O2 -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512 \
// RUN:   | python3 %S/Inputs/innermost-loops.py | FileCheck %s --check-prefix=AVX512

// With columns on lanes, tiles rest as they lie in memory, keys are read a vector at a time, and only
// rows are computed that are stored. A register tile is of two rows, or one; what is next is fetched.
// CHECK-LABEL: func.func @step(
// CHECK-SAME: %{{.*}}: memref<?x64xf32, {{.*}}>, %[[KEY:[a-z0-9]*]]: {{.*}}, %[[VALUE:[a-z0-9]*]]: {{.*}}, %[[OUT:[a-z0-9]*]]: memref
// CHECK-DAG: %[[Q:.*]] = memref.alloca() {alignment = 64 : i64} : memref<6x64xf32>
// CHECK-DAG: %[[S:.*]] = memref.alloca() {alignment = 64 : i64} : memref<6x48xf32>
// CHECK: memref.dim %[[OUT]], %c0
// CHECK: %[[ROWS:.*]] = arith.maxsi %{{.*}}, %c0 : index
// CHECK: vector.store %{{.*}}, %[[Q]]

// Scores: of eight keys, two rows of four at a time.
// CHECK: memref.prefetch
// CHECK: %[[ODD:.*]] = arith.remui %[[ROWS]], %c2
// CHECK: %[[PAIRED:.*]] = arith.subi %[[ROWS]], %[[ODD]]
// CHECK: scf.for %{{.*}} = %c0 to %[[PAIRED]] step %c2
// CHECK: scf.for {{.*}} -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>)
// CHECK: vector.shuffle {{.*}} [0, 2, 8, 10, 4, 6, 12, 14]
// CHECK: vector.shuffle {{.*}} [1, 3, 9, 11, 5, 7, 13, 15]
// CHECK: vector.shuffle {{.*}} [0, 1, 2, 3, 8, 9, 10, 11]
// CHECK: vector.store %{{.*}}, %[[S]]
// CHECK: scf.for %{{.*}} = %[[PAIRED]] to %[[ROWS]] step %c1

// Maxima and sums go across lanes once a row.
// CHECK: vector.shuffle {{.*}} [4, 5, 6, 7, 0, 1, 2, 3]
// CHECK: memref.store {{.*}} : memref<1x8xf32>

// Outputs: a weight is broadcast for a row of values; the keys of the next block are fetched.
// CHECK: memref.load %[[S]]
// CHECK: vector.broadcast
// CHECK: memref.prefetch
// CHECK: vector.fma

// The loops over two rows of queries: every sum stays in its register.
// AVX2: loop: 8 multiply-adds, 0 broadcasts, 0 frame accesses
// AVX2: loop: 8 multiply-adds, 0 broadcasts, 0 frame accesses
// AVX512: loop: 8 multiply-adds, 0 broadcasts, 0 frame accesses
// AVX512: loop: 8 multiply-adds, 0 broadcasts, 0 frame accesses

#any = strided<[?, 1], offset: ?>
func.func @step(%query: memref<?x64xf32, #any>, %key: memref<?x64xf32, #any>,
                %value: memref<?x64xf32, #any>, %out: memref<?x64xf32, #any>) {
  %c0 = arith.constant 0 : index
  %c6 = arith.constant 6 : index
  %c48 = arith.constant 48 : index
  %q_len = memref.dim %query, %c0 : memref<?x64xf32, #any>
  %kv_len = memref.dim %key, %c0 : memref<?x64xf32, #any>
  %blocks = arith.ceildivsi %q_len, %c6 : index
  scf.forall (%i) in (%blocks) {
    %q0 = arith.muli %i, %c6 : index
    %q = tile.load %query[%q0] : memref<?x64xf32, #any> -> tensor<6x64xf32>
    %m0, %l0 = tile.softmax_init : tensor<6xf32>
    %o0 = arith.constant dense<0.0> : tensor<6x64xf32>
    %r:3 = scf.for %k0 = %c0 to %kv_len step %c48 iter_args(%o = %o0, %m = %m0, %l = %l0)
        -> (tensor<6x64xf32>, tensor<6xf32>, tensor<6xf32>) {
      %k = tile.load %key[%k0] : memref<?x64xf32, #any> -> tensor<48x64xf32>
      %s = tile.mma %q, %k {transpose_rhs} : tensor<6x64xf32>, tensor<48x64xf32> -> tensor<6x48xf32>
      %p, %m1, %l1, %alpha = tile.softmax_step %s, %m, %l : tensor<6x48xf32>
      %o1 = tile.rescale %o, %alpha : tensor<6x64xf32>
      %v = tile.load %value[%k0] : memref<?x64xf32, #any> -> tensor<48x64xf32>
      %o2 = tile.mma %p, %v acc %o1 : tensor<6x48xf32>, tensor<48x64xf32> -> tensor<6x64xf32>
      scf.yield %o2, %m1, %l1 : tensor<6x64xf32>, tensor<6xf32>, tensor<6xf32>
    }
    %result, %lse = tile.softmax_finalize %r#0, %r#1, %r#2 : tensor<6x64xf32>
    tile.store %result, %out[%q0] : tensor<6x64xf32>, memref<?x64xf32, #any>
  } {tile.columns_on_lanes}
  return
}

// Of bf16, two vectors are read at once: even columns are shifted into place, odd ones are in place.
// Queries, which are natural, are split for that, and sums of outputs joined at the end.
// CHECK-LABEL: func.func @pairs(
// CHECK: vector.shuffle {{.*}} [0, 2, 4, 6, 8, 10, 12, 14]
// CHECK: %[[PAIRS:.*]] = vector.load {{.*}} vector<16xbf16>
// CHECK: %[[BITS:.*]] = vector.bitcast %[[PAIRS]] : vector<16xbf16> to vector<8xi32>
// CHECK: arith.shli %[[BITS]]
// CHECK: arith.andi %[[BITS]]
// CHECK: vector.load {{.*}} vector<8xbf16>
// CHECK: vector.load {{.*}} vector<16xbf16>
// CHECK: vector.shuffle {{.*}} [4, 12, 5, 13, 6, 14, 7, 15]
// CHECK: vector.shuffle {{.*}} [0, 8, 1, 9, 2, 10, 3, 11]
func.func @pairs(%query: memref<?x24xbf16, #any>, %key: memref<?x24xbf16, #any>,
                 %value: memref<?x16xbf16, #any>, %out: memref<?x16xf32, #any>) {
  %c0 = arith.constant 0 : index
  scf.forall (%i) in (1) {
    %q = tile.load %query[%c0] : memref<?x24xbf16, #any> -> tensor<1x24xbf16>
    %k = tile.load %key[%c0] : memref<?x24xbf16, #any> -> tensor<48x24xbf16>
    %s = tile.mma %q, %k {transpose_rhs} : tensor<1x24xbf16>, tensor<48x24xbf16> -> tensor<1x48xf32>
    %v = tile.load %value[%c0] : memref<?x16xbf16, #any> -> tensor<48x16xbf16>
    %o = tile.mma %s, %v : tensor<1x48xf32>, tensor<48x16xbf16> -> tensor<1x16xf32>
    tile.store %o, %out[%c0] : tensor<1x16xf32>, memref<?x16xf32, #any>
  } {tile.columns_on_lanes}
  return
}
