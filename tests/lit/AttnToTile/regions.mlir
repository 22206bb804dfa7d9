// RUN: tilewright-opt %s -split-input-file --assign-schedule='block-q=8 block-kv=4' \
// RUN:   --convert-attn-to-tile --canonicalize --cse | FileCheck %s
// RUN: tilewright-opt %s -split-input-file --assign-schedule --convert-attn-to-tile \
// RUN:   --remarks-filter-missed=convert-attn-to-tile -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK-COUNT-2: every visited block is partial
// REMARK-NOT: every visited block is partial

!qkv = memref<?x?x?x16xf32, strided<[?, ?, ?, 1], offset: ?>>

// What depends on no position stays scalar: the slope is read once a block.
// CHECK-LABEL: func.func @alibi(
// CHECK-SAME: %[[SLOPES:[a-z0-9]*]]: memref<?xf32>)
func.func @alibi(%q: !qkv, %k: !qkv, %v: !qkv, %o: !qkv, %scale: f32, %slopes: memref<?xf32>) {
  // CHECK: scf.for
  // CHECK: %[[S:.*]] = arith.mulf %{{.*}}, %{{.*}} : tensor<8x4xf32>
  // CHECK: %[[QI:.*]] = tile.coord %{{.*}}, dim = 0
  // CHECK: %[[KI:.*]] = tile.coord %{{.*}}, dim = 1
  // CHECK: %[[SLOPE:.*]] = memref.load %[[SLOPES]][%{{.*}}] : memref<?xf32>
  // CHECK: %[[DISTANCE:.*]] = arith.subi %[[KI]], %[[QI]] : tensor<8x4xi32>
  // CHECK: %[[REAL:.*]] = arith.sitofp %[[DISTANCE]] : tensor<8x4xi32> to tensor<8x4xf32>
  // CHECK: %[[TILE:.*]] = tile.broadcast %[[SLOPE]] : f32 -> tensor<8x4xf32>
  // CHECK: %[[BIAS:.*]] = arith.mulf %[[TILE]], %[[REAL]] : tensor<8x4xf32>
  // CHECK: arith.addf %[[S]], %[[BIAS]] : tensor<8x4xf32>
  attn.forward q(%q : !qkv) k(%k : !qkv) v(%v : !qkv) o(%o : !qkv) scale(%scale : f32)
    score {
    ^bb0(%s: f32, %b: i32, %h: i32, %hkv: i32, %qi: i32, %ki: i32, %q_len: i32, %kv_len: i32):
      %slope = attn.element %slopes[%h] : memref<?xf32>
      %distance = arith.subi %ki, %qi : i32
      %real = arith.sitofp %distance : i32 to f32
      %bias = arith.mulf %slope, %real : f32
      %result = arith.addf %s, %bias : f32
      attn.yield %result : f32
    }
  return
}

// -----

!qkv = memref<?x?x?x16xf32, strided<[?, ?, ?, 1], offset: ?>>

// A mask that reads a tensor is residual: one loop, every visited block partial, and a remark. The
// affine conjunct still bounds the blocks.
// CHECK-LABEL: func.func @dense(
func.func @dense(%q: !qkv, %k: !qkv, %v: !qkv, %o: !qkv, %scale: f32, %keep: memref<?x?xi8>) {
  // CHECK: tile.block_ranges {{.*}} where [#tile.half_plane<q = 1, k = -1>](%c0) inexact
  // CHECK: scf.for %{{.*}} = %full_end to %end
  // CHECK: tile.gather %{{.*}}[%{{.*}}, %{{.*}}] : memref<?x?xi8> -> tensor<8x4xi8>
  // CHECK: arith.cmpi ne, %{{.*}}, %{{.*}} : tensor<8x4xi8>
  // CHECK-NOT: scf.for
  attn.forward q(%q : !qkv) k(%k : !qkv) v(%v : !qkv) o(%o : !qkv) scale(%scale : f32)
    mask {
    ^bb0(%b: i32, %h: i32, %hkv: i32, %qi: i32, %ki: i32, %q_len: i32, %kv_len: i32):
      %past = arith.cmpi sle, %ki, %qi : i32
      %byte = attn.element %keep[%qi, %ki] : memref<?x?xi8>
      %zero = arith.constant 0 : i8
      %set = arith.cmpi ne, %byte, %zero : i8
      %both = arith.andi %past, %set : i1
      attn.yield %both : i1
    }
  return
}

// -----

!qkv = memref<?x?x?x16xf32, strided<[?, ?, ?, 1], offset: ?>>

// Division by a constant that is neither 0 nor -1 is arith's own; any other is made total.
// CHECK-LABEL: func.func @periodic(
func.func @periodic(%q: !qkv, %k: !qkv, %v: !qkv, %o: !qkv, %scale: f32, %n: i32) {
  // CHECK: %[[D:.*]] = arith.subi %{{.*}}, %{{.*}} : tensor<8x4xi32>
  // CHECK: arith.floordivsi %[[D]], %{{.*}} : tensor<8x4xi32>
  // CHECK: %[[N:.*]] = tile.broadcast %{{.*}} : i32 -> tensor<8x4xi32>
  // CHECK: %[[ZERO:.*]] = arith.cmpi eq, %[[N]], %{{.*}} : tensor<8x4xi32>
  // CHECK: %[[MINUS:.*]] = arith.cmpi eq, %[[N]], %{{.*}} : tensor<8x4xi32>
  // CHECK: %[[EITHER:.*]] = arith.ori %[[ZERO]], %[[MINUS]]
  // CHECK: %[[SAFE:.*]] = arith.select %[[EITHER]]
  // CHECK: arith.floordivsi %[[D]], %[[SAFE]] : tensor<8x4xi32>
  attn.forward q(%q : !qkv) k(%k : !qkv) v(%v : !qkv) o(%o : !qkv) scale(%scale : f32)
    mask {
    ^bb0(%b: i32, %h: i32, %hkv: i32, %qi: i32, %ki: i32, %q_len: i32, %kv_len: i32):
      %d = arith.subi %qi, %ki : i32
      %seven = arith.constant 7 : i32
      %x = attn.floor_mod %d, %seven : i32
      %y = attn.floor_div %d, %n : i32
      %keep = arith.cmpi sle, %x, %y : i32
      attn.yield %keep : i1
    }
  return
}

// -----

!half = memref<?x?x?x16xbf16, strided<[?, ?, ?, 1], offset: ?>>
!rows = memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>

// 16-bit inputs: products in f32, the output rounded once, the log of the sum stored as f32.
// CHECK-LABEL: func.func @bf16(
func.func @bf16(%q: !half, %k: !half, %v: !half, %o: !half, %lse: !rows, %scale: f32) {
  // CHECK: tile.load %{{.*}} -> tensor<8x16xbf16>
  // CHECK: tile.mma %{{.*}}, %{{.*}} {transpose_rhs} : tensor<8x16xbf16>, tensor<4x16xbf16> -> tensor<8x4xf32>
  // CHECK: tile.mma %{{.*}}, %{{.*}} acc %{{.*}} : tensor<8x4xf32>, tensor<4x16xbf16> -> tensor<8x16xf32>
  // CHECK: %[[OUT:.*]], %[[LSE:.*]] = tile.softmax_finalize
  // CHECK: %[[ROUNDED:.*]] = arith.truncf %[[OUT]] : tensor<8x16xf32> to tensor<8x16xbf16>
  // CHECK: tile.store %[[ROUNDED]]
  // CHECK: tile.store %[[LSE]]
  attn.forward q(%q : !half) k(%k : !half) v(%v : !half) o(%o : !half) lse(%lse : !rows) scale(%scale : f32)
  return
}
