// RUN: tilewright-opt %s --convert-tile-to-vector --canonicalize --cse | FileCheck %s

// One block of the recurrence: 24 queries are three vectors of eight, keys come four at a time.

#any = strided<[?, 1], offset: ?>

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %{{[a-z0-9]+}}: memref<?x16xf32, {{.*}}>, %[[KEY:[a-z0-9]+]]: memref<?x16xf32, {{.*}}>, %[[VALUE:[a-z0-9]+]]: memref<?x8xf32, {{[^%]*}}>, %{{[a-z0-9]+}}: memref<?x8xf32
// CHECK-SAME: tilewright.scratch_bytes = 7200 : i64
// CHECK-DAG: %[[NONE:.*]] = arith.constant dense<0xFF800000> : vector<8xf32>
// CHECK-DAG: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<8xf32>
// CHECK-DAG: %[[LOG2E:.*]] = arith.constant dense<1.44269502> : vector<8xf32>
// CHECK-DAG: %[[LOWEST:.*]] = arith.constant dense<-88.0296936> : vector<8xf32>

// The homes: queries transposed, the accumulator, scores; and one row each for reference, sum and
// alpha: (16 + 8 + 48 + 3) x 24 f32.
// CHECK-DAG: %[[Q:.*]] = memref.alloca() {alignment = 64 : i64} : memref<16x24xf32>
// CHECK-DAG: %[[O:.*]] = memref.alloca() {alignment = 64 : i64} : memref<8x24xf32>
// CHECK-DAG: %[[S:.*]] = memref.alloca() {alignment = 64 : i64} : memref<48x24xf32>

// Constants of the exponential come by way of the frame, where LLVM does not know them.
// CHECK-DAG: vector.store %[[LOG2E]], %[[BASE_PLACE:[a-z0-9_]+]][%c0] : memref<8xf32>
// CHECK-DAG: vector.store %[[LOWEST]], %[[LOWEST_PLACE:[a-z0-9_]+]][%c0] : memref<8xf32>

// S^T = K Q^T: keys are read in place, never past their extent.
// CHECK: %[[EXTENT:.*]] = memref.dim %[[KEY]]
// CHECK: scf.for %{{.*}} = %c0 to %[[EXTENT]] step %c48
// CHECK: %[[LEFT:.*]] = arith.subi %[[EXTENT]],
// CHECK: %[[LIMITED:.*]] = arith.minsi %[[LEFT]], %c48
// CHECK: %[[KEYS:.*]] = arith.maxsi %[[LIMITED]], %c0
// CHECK: memref.subview %[[KEY]]
// CHECK: %[[VALUE_EXTENT:.*]] = memref.dim %[[VALUE]]
// CHECK: arith.subi %[[VALUE_EXTENT]],
// CHECK: arith.minsi
// CHECK: %[[VALUES:.*]] = arith.maxsi
// CHECK: memref.subview %[[VALUE]]
// CHECK: %[[TAIL:.*]] = arith.remui %[[KEYS]], %c4
// CHECK: %[[FOURS:.*]] = arith.subi %[[KEYS]], %[[TAIL]]
// CHECK: scf.for %{{.*}} = %c0 to %[[FOURS]] step %c4 iter_args({{.*}}) -> (vector<8xf32>, vector<8xf32>, vector<8xf32>)
// Values are fetched meanwhile.
// CHECK-COUNT-4: memref.prefetch
// CHECK-COUNT-4: memref.reinterpret_cast
// CHECK: %[[SUMS:.*]]:12 = scf.for %[[X:.*]] = %c0 to %c16 step %c4
// CHECK-COUNT-3: vector.load %[[Q]][%[[X]],
// CHECK: memref.load %{{.*}}[%c0, %[[X]]]
// CHECK: vector.broadcast
// CHECK-COUNT-3: vector.fma
// CHECK: memref.load

// Four steps an iteration, which no load crosses.
// CHECK: llvm.inline_asm has_side_effects "", "~{memory}"
// CHECK: %[[NEXT:.*]] = arith.addi %[[X]], %c1
// CHECK-COUNT-3: vector.load %[[Q]][%[[NEXT]],
// CHECK: llvm.inline_asm
// CHECK: llvm.inline_asm
// CHECK-NOT: llvm.inline_asm
// CHECK: scf.yield

// The score function and the maximum are taken in the registers; scores are stored once.
// CHECK: arith.mulf %[[SUMS]]#0
// CHECK: vector.store %{{.*}}, %[[S]]
// CHECK: arith.cmpf ogt
// CHECK: arith.select

// Keys are left over one by one; those past the extent count as products of nothing.
// CHECK: scf.for %{{.*}} = %[[FOURS]] to %[[KEYS]] step %c1
// CHECK: scf.for %{{.*}} = %[[KEYS]] to %c48 step %c1
// CHECK-NOT: vector.fma

// No reference yet: 0 is subtracted. The subtraction comes before the change of base.
// CHECK: %[[BASE:.*]] = vector.load %[[BASE_PLACE]]
// CHECK: %[[LOW:.*]] = vector.load %[[LOWEST_PLACE]]
// CHECK: %[[HAS_NONE:.*]] = arith.cmpf oeq, %{{.*}}, %[[NONE]]
// CHECK: %[[SHIFT:.*]] = arith.select %[[HAS_NONE]], %[[ZERO]],
// CHECK: %[[DIFFERENCE:.*]] = arith.subf %{{.*}}, %[[SHIFT]]
// CHECK: %[[IS_LOWER:.*]] = arith.cmpf ogt, %[[LOW]], %[[DIFFERENCE]]
// CHECK: %[[LIMITED:.*]] = arith.select %[[IS_LOWER]], %[[LOW]], %[[DIFFERENCE]]
// CHECK: vector.fma %[[LIMITED]], %[[BASE]],

// Weights take the place of the scores, one vector of queries after the other.
// CHECK: scf.for %[[K:.*]] = %c0 to %c48 step %c1 iter_args(%{{.*}} = %{{.*}}) -> (vector<8xf32>)
// CHECK: vector.load %[[S]][%[[K]], %c0]
// CHECK: vector.store %{{.*}}, %[[S]][%[[K]], %c0]
// CHECK: scf.for %[[K:.*]] = %c0 to %c48 step %c1 iter_args(%{{.*}} = %{{.*}}) -> (vector<8xf32>)
// CHECK: vector.load %[[S]][%[[K]], %c8]

// O^T = V^T P^T: the rescaling is the load of the accumulator, and the sum stays in its home.
// CHECK: scf.for %[[N:.*]] = %c0 to %c8 step %c4
// CHECK: %[[OLD:.*]] = vector.load %[[O]][%[[N]], %c0]
// CHECK: %[[START:.*]] = arith.mulf %[[OLD]],
// CHECK: arith.remui %[[VALUES]], %c4
// CHECK: %[[MAIN:.*]] = arith.subi %[[VALUES]],
// CHECK: %[[SUMS:.*]]:12 = scf.for {{.*}} to %[[MAIN]] step %c4 iter_args(%{{.*}} = %[[START]],
// CHECK: vector.load %[[S]]
// CHECK: vector.fma
// CHECK: scf.for {{.*}} = %[[MAIN]] to %[[VALUES]] step %c1 iter_args(%{{.*}} = %[[SUMS]]#0,

// Addresses are computed again and not kept in registers.
// CHECK: %[[NUMBER:.*]] = arith.index_cast %[[N]] : index to i64
// CHECK: %[[SAME:.*]] = llvm.inline_asm "", "=r,0" %[[NUMBER]]
// CHECK: %[[ROW:.*]] = arith.index_cast %[[SAME]] : i64 to index
// CHECK: vector.store %{{.*}}, %[[O]][%[[ROW]], %c0]

// The only division, once for all columns; no key, no output.
// CHECK: %[[RECIPROCAL:.*]] = arith.divf %{{.*}}, %[[SUM:[a-z0-9_]+]] :
// CHECK: %[[QUOTIENT:.*]] = arith.mulf %{{.*}}, %[[RECIPROCAL]]
// CHECK: %[[IS_EMPTY:.*]] = arith.cmpf oeq, %[[SUM]], %[[ZERO]]
// CHECK: arith.select %[[IS_EMPTY]], %[[ZERO]], %[[QUOTIENT]]
// CHECK-NOT: arith.divf
// CHECK-NOT: tile.
func.func @step(%query: memref<?x16xf32, #any>, %key: memref<?x16xf32, #any>,
                %value: memref<?x8xf32, #any>, %out: memref<?x8xf32, #any>, %scale: f32) {
  %c0 = arith.constant 0 : index
  %c24 = arith.constant 24 : index
  %c48 = arith.constant 48 : index
  %q_len = memref.dim %query, %c0 : memref<?x16xf32, #any>
  %kv_len = memref.dim %key, %c0 : memref<?x16xf32, #any>
  %blocks = arith.ceildivsi %q_len, %c24 : index
  scf.forall (%i) in (%blocks) {
    %q0 = arith.muli %i, %c24 : index
    %q = tile.load %query[%q0] : memref<?x16xf32, #any> -> tensor<24x16xf32>
    %m0, %l0 = tile.softmax_init : tensor<24xf32>
    %o0 = arith.constant dense<0.0> : tensor<24x8xf32>
    %r:3 = scf.for %k0 = %c0 to %kv_len step %c48 iter_args(%o = %o0, %m = %m0, %l = %l0)
        -> (tensor<24x8xf32>, tensor<24xf32>, tensor<24xf32>) {
      %k = tile.load %key[%k0] : memref<?x16xf32, #any> -> tensor<48x16xf32>
      %s0 = tile.mma %q, %k {transpose_rhs} : tensor<24x16xf32>, tensor<48x16xf32> -> tensor<24x48xf32>
      %scales = tile.broadcast %scale : f32 -> tensor<24x48xf32>
      %s = arith.mulf %s0, %scales : tensor<24x48xf32>
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
