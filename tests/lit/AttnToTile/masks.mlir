// RUN: tilewright-opt %s -split-input-file --assign-schedule='block-q=64 block-kv=32' \
// RUN:   --convert-attn-to-tile --canonicalize --cse | FileCheck %s

!qkv = memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>

// Without a mask the key length alone makes the last block partial: a full loop and a trailing one.
// CHECK-LABEL: func.func @no_mask(
func.func @no_mask(%q: !qkv, %k: !qkv, %v: !qkv, %o: !qkv, %scale: f32) {
  // CHECK: scf.forall (%{{.*}}, %{{.*}}, %[[BLOCK:.*]]) in (%{{.*}}, %{{.*}}, %{{.*}})
  // CHECK: %[[FIRST:.*]] = arith.muli %[[BLOCK]], %c64
  // CHECK: %[[END:.*]] = arith.minsi
  // CHECK: %[[Q:.*]] = tile.load
  // CHECK: %[[M0:.*]], %[[L0:.*]] = tile.softmax_init : tensor<64xf32>
  // CHECK: %begin, %full_begin, %full_end, %end = tile.block_ranges queries %[[FIRST]] to %[[END]] keys %{{.*}} block 32 where []()
  // CHECK: %[[FULL:.*]]:3 = scf.for %{{.*}} = %full_begin to %full_end
  // CHECK-NOT: arith.cmpi
  // CHECK-NOT: arith.select
  // CHECK: scf.yield
  // CHECK: scf.for %{{.*}} = %full_end to %end {{.*}} iter_args(%{{.*}} = %[[FULL]]#0
  // CHECK: arith.cmpi slt
  // CHECK: arith.select
  // CHECK: tile.softmax_finalize
  // CHECK-NOT: scf.for
  attn.forward q(%q : !qkv) k(%k : !qkv) v(%v : !qkv) o(%o : !qkv) scale(%scale : f32)
  return
}

// -----

!qkv = memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>

// Causal bounds the keys from above only: no leading partial loop.
// CHECK-LABEL: func.func @causal(
func.func @causal(%q: !qkv, %k: !qkv, %v: !qkv, %o: !qkv, %scale: f32) {
  // CHECK: tile.block_ranges {{.*}} where [#tile.half_plane<q = 1, k = -1>](%c0)
  // CHECK: scf.for %{{.*}} = %full_begin to %full_end
  // CHECK-NOT: arith.cmpi
  // CHECK-NOT: arith.select
  // CHECK: scf.yield
  // CHECK: scf.for %{{.*}} = %full_end to %end
  // CHECK: %[[KI:.*]] = tile.coord %{{.*}}, dim = 1
  // CHECK: %[[QI:.*]] = tile.coord %{{.*}}, dim = 0
  // CHECK: arith.cmpi sle, %[[KI]], %[[QI]]
  // CHECK-NOT: scf.for
  attn.forward q(%q : !qkv) k(%k : !qkv) v(%v : !qkv) o(%o : !qkv) scale(%scale : f32)
    mask {
    ^bb0(%b: i32, %h: i32, %hkv: i32, %qi: i32, %ki: i32, %q_len: i32, %kv_len: i32):
      %keep = arith.cmpi sle, %ki, %qi : i32
      attn.yield %keep : i1
    }
  return
}

// -----

!qkv = memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>

// A window given at launch, aligned at the lower right: three loops, offsets from run-time values.
// CHECK-LABEL: func.func @window(
// CHECK-SAME: %[[WINDOW:[a-z0-9]*]]: i32)
func.func @window(%q: !qkv, %k: !qkv, %v: !qkv, %o: !qkv, %scale: f32, %window: i32) {
  // CHECK: %[[Q_LEN:.*]] = arith.index_cast %{{.*}} : index to i32
  // CHECK: %[[KV_LEN:.*]] = arith.index_cast %{{.*}} : index to i32
  // CHECK: scf.forall
  // CHECK: %[[SHIFT:.*]] = arith.subi %[[KV_LEN]], %[[Q_LEN]]
  // CHECK: %[[ABOVE:.*]] = arith.index_cast %[[SHIFT]] : i32 to index
  // CHECK: %[[W:.*]] = arith.index_cast %[[WINDOW]] : i32 to index
  // CHECK: %[[FROM:.*]] = arith.subi %[[W]], %[[ABOVE]]
  // CHECK: %[[BELOW:.*]] = arith.subi %[[FROM]], %c1
  // CHECK: tile.block_ranges {{.*}} where [#tile.half_plane<q = 1, k = -1>, #tile.half_plane<q = -1, k = 1>](%[[ABOVE]], %[[BELOW]])
  // CHECK: scf.for %{{.*}} = %begin to %full_begin
  // CHECK: scf.for %{{.*}} = %full_begin to %full_end
  // CHECK: scf.for %{{.*}} = %full_end to %end
  attn.forward q(%q : !qkv) k(%k : !qkv) v(%v : !qkv) o(%o : !qkv) scale(%scale : f32)
    mask {
    ^bb0(%b: i32, %h: i32, %hkv: i32, %qi: i32, %ki: i32, %q_len: i32, %kv_len: i32):
      %shift = arith.subi %kv_len, %q_len : i32
      %last = arith.addi %qi, %shift : i32
      %past = arith.cmpi sle, %ki, %last : i32
      %distance = arith.subi %last, %ki : i32
      %near = arith.cmpi slt, %distance, %window : i32
      %keep = arith.andi %past, %near : i1
      attn.yield %keep : i1
    }
  return
}
