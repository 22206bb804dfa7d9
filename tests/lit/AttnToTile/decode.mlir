// RUN: tilewright-opt %s -split-input-file --assign-schedule='block-q=64 block-kv=32' \
// RUN:   --convert-attn-to-tile='decode-q=8 decode-kv=1024' --cse | FileCheck %s
// RUN: tilewright-opt %s -split-input-file --assign-schedule='block-q=64 block-kv=48' \
// RUN:   --convert-attn-to-tile='decode-q=8 decode-below=12 decode-kv=1024' --cse | FileCheck %s --check-prefix=SMALL

!qkv = memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>

// Few queries may be fewer than a block's, and their blocks of keys smaller: 32 keys and values of 64 f32
// are 16 KiB.
// SMALL-LABEL: func.func @causal(
// SMALL: arith.cmpi slt, %{{.*}}, %c12
// SMALL: tile.mma {{.*}} -> tensor<64x48xf32>
// SMALL: tile.mma {{.*}} -> tensor<8x32xf32>

// Three programs: for 64 queries and more, for fewer, and to combine what the second leaves. A launch
// has work for the first or for the others.
// CHECK-LABEL: func.func @causal(
// CHECK-SAME: %[[Q:arg0]]: memref
func.func @causal(%q: !qkv, %k: !qkv, %v: !qkv, %o: !qkv, %scale: f32) {
  // CHECK: %[[IS_DECODE:.*]] = arith.cmpi slt, %[[LENGTH:.*]], %c64
  // CHECK: %[[BLOCKS:.*]] = arith.select %[[IS_DECODE]], %c0, %{{.*}} : index
  // CHECK: %[[ALL_ROWS:.*]] = arith.muli %[[LENGTH]], %[[GROUP:.*]] : index
  // CHECK: %[[ROWS:.*]] = arith.select %[[IS_DECODE]], %[[ALL_ROWS]], %c0 : index
  // CHECK: %[[ROW_BLOCKS:.*]] = arith.ceildivsi %[[ROWS]], %c8
  // CHECK: %[[SPLITS:.*]] = arith.ceildivsi %{{.*}}, %c1024

  // The queries of a group's heads as rows.
  // CHECK: memref.extract_strided_metadata %[[Q]]
  // CHECK: %[[FOLDED:.*]] = memref.reinterpret_cast {{.*}} sizes: [%{{.*}}, %{{.*}}, %{{.*}}, %[[GROUP]], 64]
  // CHECK: %[[FOLDED_OUT:.*]] = memref.reinterpret_cast
  // CHECK-COUNT-2: memref.alloc({{.*}}, %[[SPLITS]], %[[ROWS]]) : memref<?x?x?x?xf32>
  // CHECK: %[[PARTIAL:.*]] = memref.alloc({{.*}}, %[[SPLITS]], %[[ROWS]]) : memref<?x?x?x?x64xf32>

  // CHECK: scf.forall {{.*}} in (%{{.*}}, %{{.*}}, %[[BLOCKS]])

  // CHECK: scf.forall (%[[B:.*]], %[[HKV:.*]], %[[SPLIT:.*]], %[[BLOCK:.*]]) in (%{{.*}}, %{{.*}}, %[[SPLITS]], %[[ROW_BLOCKS]])
  // CHECK: %[[ROW:.*]] = arith.muli %[[BLOCK]], %c8
  // CHECK: %[[FIRST:.*]] = arith.divui %[[ROW]], %[[GROUP]]
  // CHECK: tile.load %[[FOLDED]][%[[B]], %[[HKV]], %[[ROW]]] {{.*}} -> tensor<8x64xf32>
  // CHECK: tile.block_ranges queries %[[FIRST]] to
  // CHECK: %[[FROM:.*]] = arith.muli %[[SPLIT]], %c32
  // CHECK: %[[TO:.*]] = arith.addi %[[FROM]], %c32
  // CHECK: %[[BEGIN:.*]] = arith.minsi %{{.*}}, %[[TO]]
  // CHECK: %[[END:.*]] = arith.minsi %{{.*}}, %[[TO]]
  // CHECK: scf.for %{{.*}} = %[[BEGIN]] to %[[END]]
  // CHECK: tile.mma {{.*}} -> tensor<8x32xf32>
  // CHECK: %[[ROW_OF:.*]] = tile.coord %[[ROW]], dim = 0 : tensor<8x32xi32>
  // CHECK: %[[GROUPS:.*]] = tile.broadcast
  // CHECK: arith.divui %[[ROW_OF]], %[[GROUPS]]
  // CHECK: tile.store %{{.*}}, %[[PARTIAL]][%[[B]], %[[HKV]], %[[SPLIT]], %[[ROW]]]
  // CHECK-COUNT-2: tile.store
  // CHECK-NEXT: } {tile.columns_on_lanes}

  // CHECK: scf.forall {{.*}} in (%{{.*}}, %{{.*}}, %[[ROW_BLOCKS]])
  // CHECK: scf.for %{{.*}} = %c0 to %[[SPLITS]]
  // CHECK: tile.load %[[PARTIAL]]
  // CHECK: math.exp
  // CHECK: tile.softmax_finalize
  // CHECK: tile.store %{{.*}}, %[[FOLDED_OUT]]
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

// A bound that differs between the heads of a tile bounds no block of it.
// CHECK-LABEL: func.func @window_of_head(
func.func @window_of_head(%q: !qkv, %k: !qkv, %v: !qkv, %o: !qkv, %scale: f32) {
  // CHECK: tile.block_ranges {{.*}} where [#tile.half_plane<q = 1, k = -1>, #tile.half_plane<q = -1, k = 1>](%{{.*}}, %{{.*}}){{$}}
  // CHECK: tile.block_ranges {{.*}} where [#tile.half_plane<q = 1, k = -1>](%{{.*}}) inexact
  attn.forward q(%q : !qkv) k(%k : !qkv) v(%v : !qkv) o(%o : !qkv) scale(%scale : f32)
    mask {
    ^bb0(%b: i32, %h: i32, %hkv: i32, %qi: i32, %ki: i32, %q_len: i32, %kv_len: i32):
      %past = arith.cmpi sle, %ki, %qi : i32
      %distance = arith.subi %qi, %ki : i32
      %near = arith.cmpi slt, %distance, %h : i32
      %keep = arith.andi %past, %near : i1
      attn.yield %keep : i1
    }
  return
}
