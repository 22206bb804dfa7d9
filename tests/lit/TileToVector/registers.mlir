// RUN: tilewright-opt %s --pass-pipeline='builtin.module(convert-tile-to-vector{lanes=8 vectors=3 rows=4},canonicalize,cse,convert-scf-to-cf,expand-strided-metadata,lower-affine,convert-to-llvm,reconcile-unrealized-casts,canonicalize,cse)' \
// RUN:   | mlir-translate --mlir-to-llvmir | llc -O2 -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3 \
// RUN:   | python3 %S/Inputs/innermost-loops.py | FileCheck %s --check-prefix=AVX2
// RUN: tilewright-opt %s --pass-pipeline='builtin.module(convert-tile-to-vector{lanes=16 vectors=4 rows=6},canonicalize,cse,convert-scf-to-cf,expand-strided-metadata,lower-affine,convert-to-llvm,reconcile-unrealized-casts,canonicalize,cse)' \
// RUN:   | mlir-translate --mlir-to-llvmir | llc -O2 -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512 \
// RUN:   | python3 %S/Inputs/innermost-loops.py | FileCheck %s --check-prefix=AVX512

// What all the structure is for: in the loops of the two products every sum stays in its register.
// A step loads three (four) vectors of queries, broadcasts four (six) numbers, and does nothing twice;
// an iteration is four steps. Keys are left over one by one, and the second product, of as many keys as
// there are, ends with single steps. In between, the weights: constants stay in registers too.

// AVX2: loop: 48 multiply-adds, 16 broadcasts, 0 frame accesses
// AVX2-NEXT: loop: 3 multiply-adds, 1 broadcasts, 0 frame accesses
// AVX2-COUNT-3: loop: 8 multiply-adds, 0 broadcasts,
// AVX2-NEXT: loop: 48 multiply-adds, 16 broadcasts, 0 frame accesses
// AVX2-NEXT: loop: 12 multiply-adds, 4 broadcasts, 0 frame accesses
// AVX512: loop: 96 multiply-adds, 24 broadcasts, 0 frame accesses
// AVX512-NEXT: loop: 4 multiply-adds, 1 broadcasts, 0 frame accesses
// AVX512-COUNT-4: loop: 5 multiply-adds, 0 broadcasts, 0 frame accesses
// AVX512-NEXT: loop: 96 multiply-adds, 24 broadcasts, 0 frame accesses
// AVX512-NEXT: loop: 24 multiply-adds, 6 broadcasts, 0 frame accesses

#any = strided<[?, 1], offset: ?>
func.func @step(%query: memref<?x64xf32, #any>, %key: memref<?x64xf32, #any>,
                %value: memref<?x96xf32, #any>, %out: memref<?x96xf32, #any>, %scale: f32) {
  %c0 = arith.constant 0 : index
  %c192 = arith.constant 192 : index
  %c96 = arith.constant 96 : index
  %q_len = memref.dim %query, %c0 : memref<?x64xf32, #any>
  %kv_len = memref.dim %key, %c0 : memref<?x64xf32, #any>
  %blocks = arith.ceildivsi %q_len, %c192 : index
  scf.forall (%i) in (%blocks) {
    %q0 = arith.muli %i, %c192 : index
    %q = tile.load %query[%q0] : memref<?x64xf32, #any> -> tensor<192x64xf32>
    %m0, %l0 = tile.softmax_init : tensor<192xf32>
    %o0 = arith.constant dense<0.0> : tensor<192x96xf32>
    %r:3 = scf.for %k0 = %c0 to %kv_len step %c96 iter_args(%o = %o0, %m = %m0, %l = %l0)
        -> (tensor<192x96xf32>, tensor<192xf32>, tensor<192xf32>) {
      %k = tile.load %key[%k0] : memref<?x64xf32, #any> -> tensor<96x64xf32>
      %s0 = tile.mma %q, %k {transpose_rhs} : tensor<192x64xf32>, tensor<96x64xf32> -> tensor<192x96xf32>
      %scales = tile.broadcast %scale : f32 -> tensor<192x96xf32>
      %s = arith.mulf %s0, %scales : tensor<192x96xf32>
      %p, %m1, %l1, %alpha = tile.softmax_step %s, %m, %l : tensor<192x96xf32>
      %o1 = tile.rescale %o, %alpha : tensor<192x96xf32>
      %v = tile.load %value[%k0] : memref<?x96xf32, #any> -> tensor<96x96xf32>
      %o2 = tile.mma %p, %v acc %o1 : tensor<192x96xf32>, tensor<96x96xf32> -> tensor<192x96xf32>
      scf.yield %o2, %m1, %l1 : tensor<192x96xf32>, tensor<192xf32>, tensor<192xf32>
    }
    %result, %lse = tile.softmax_finalize %r#0, %r#1, %r#2 : tensor<192x96xf32>
    tile.store %result, %out[%q0] : tensor<192x96xf32>, memref<?x96xf32, #any>
  }
  return
}
