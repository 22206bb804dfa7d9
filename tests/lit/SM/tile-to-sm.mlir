// RUN: tilewright-opt %s --assign-schedule='block-q=128 block-kv=64' --convert-attn-to-tile --cse \
// RUN:   --tile-expand-block-ranges --cse --convert-tile-to-sm=stages=3 --canonicalize --cse \
// RUN:   --sm-plan-registers --sm-verify-protocol | FileCheck %s

!query = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!value = memref<?x?x?x128xf16, strided<[?, ?, ?, 1], offset: ?>>
!lse = memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>

// CHECK-LABEL: func.func @causal(
// CHECK: sm.grid (%[[B:.*]], %[[H:.*]], %{{.*}}) in
// CHECK: %[[QUERIES:.*]] = sm.create_ring "queries" arrivals = 8 : !sm.ring<128x64xf16, stages = 1>
// CHECK: %[[KEYS:.*]] = sm.create_ring "keys" arrivals = 8 : !sm.ring<64x64xf16, stages = 3>
// CHECK: %[[VALUES:.*]] = sm.create_ring "values" arrivals = 8 : !sm.ring<64x128xf16, stages = 3>

// One producer for queries and keys: the loops of the program with nothing else in them.
// CHECK: sm.producer "keys" registers = 24 {
// CHECK: sm.acquire %[[QUERIES]]
// CHECK: sm.commit
// CHECK: scf.for
// CHECK-NOT: iter_args
// CHECK: sm.acquire %[[KEYS]]
// CHECK-NOT: sm.acquire
// CHECK: scf.for
// CHECK: sm.acquire %[[KEYS]]
// CHECK: sm.producer "values" registers = 24 {
// CHECK-COUNT-2: sm.acquire %[[VALUES]]

// CHECK: sm.consumers "softmax" warpgroups = 2 registers = 240 (%[[WARPGROUP:.*]]) {
// CHECK: %[[ROW:.*]] = arith.muli %[[WARPGROUP]], %c64
// CHECK: %[[Q:.*]] = sm.wait %[[QUERIES]]
// CHECK: sm.softmax_init : tensor<64xf32, #sm.row>, tensor<64xf32, #sm.partial_row>
// CHECK: scf.for {{.*}} iter_args
// CHECK: %[[K:.*]] = sm.wait %[[KEYS]]
// CHECK: %[[FLIGHT:.*]] = sm.mma %[[Q]] from %[[ROW]], %[[K]] {transpose_rhs}
// CHECK: sm.await %[[FLIGHT]]
// CHECK: sm.release %[[K]]
// CHECK: sm.softmax_step
// CHECK: %[[V:.*]] = sm.wait %[[VALUES]]
// CHECK: sm.pack {{.*}} -> tensor<64x64xf16, #sm.operand>
// CHECK: sm.mma %{{.*}}, %[[V]] acc
// CHECK: sm.release %[[V]]
// The trailing loop has the mask in it, over this warpgroup's rows.
// CHECK: scf.for
// CHECK: %[[FIRST:.*]] = arith.addi %{{.*}}, %[[ROW]]
// CHECK: sm.coord %[[FIRST]], dim = 0
// CHECK: arith.cmpi sle
// CHECK: sm.release %[[Q]]
// CHECK: sm.softmax_finalize
// CHECK: sm.store {{.*}} : tensor<64x128xf16, #sm.accumulator>
// CHECK: sm.store {{.*}} : tensor<64xf32, #sm.row>
func.func @causal(%q: !query, %k: !query, %v: !value, %o: !value, %lse: !lse, %scale: f32) {
  attn.forward q(%q : !query) k(%k : !query) v(%v : !value) o(%o : !value) lse(%lse : !lse) scale(%scale : f32)
    mask {
    ^bb0(%b: i32, %h: i32, %hkv: i32, %qi: i32, %ki: i32, %q_len: i32, %kv_len: i32):
      %keep = arith.cmpi sle, %ki, %qi : i32
      attn.yield %keep : i1
    }
  return
}
