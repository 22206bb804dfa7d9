// RUN: tilewright-opt %s | tilewright-opt | FileCheck %s
// RUN: tilewright-opt %s -mlir-print-op-generic | tilewright-opt | FileCheck %s

#any4 = strided<[?, ?, ?, 1], offset: ?>
#any3 = strided<[?, ?, 1], offset: ?>

// Everything optional is left out; d and dv differ.
// CHECK-LABEL: func.func @plain(
// CHECK-SAME: %[[Q:.*]]: memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>, %[[K:[^:]*]]: {{.*}}, %[[V:[^:]*]]: memref<?x?x?x16xf32, {{.*}}>, %[[O:[^:]*]]: {{.*}}, %[[SCALE:[^:]*]]: f32
// CHECK-NEXT: attn.forward q(%[[Q]] : memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>) k(%[[K]] : {{.*}}) v(%[[V]] : {{.*}}) o(%[[O]] : {{.*}}) scale(%[[SCALE]] : f32){{$}}
func.func @plain(%q: memref<?x?x?x64xf32, #any4>, %k: memref<?x?x?x64xf32, #any4>,
                 %v: memref<?x?x?x16xf32, #any4>, %o: memref<?x?x?x16xf32, #any4>, %scale: f32) {
  attn.forward q(%q : memref<?x?x?x64xf32, #any4>) k(%k : memref<?x?x?x64xf32, #any4>)
    v(%v : memref<?x?x?x16xf32, #any4>) o(%o : memref<?x?x?x16xf32, #any4>) scale(%scale : f32)
  return
}

// bf16 inputs, f32 output, static extents, grouped heads.
// CHECK-LABEL: func.func @grouped(
// CHECK: attn.forward {{.*}} lse(%{{.*}} : memref<2x8x100xf32>) scale(%{{.*}} : f32) {tile.schedule = #tile.schedule<block_q = 24, block_kv = 96>}
func.func @grouped(%q: memref<2x8x100x32xbf16>, %k: memref<2x2x200x32xbf16>,
                   %v: memref<2x2x200x32xbf16>, %o: memref<2x8x100x32xf32>,
                   %lse: memref<2x8x100xf32>, %scale: f32) {
  attn.forward q(%q : memref<2x8x100x32xbf16>) k(%k : memref<2x2x200x32xbf16>)
    v(%v : memref<2x2x200x32xbf16>) o(%o : memref<2x8x100x32xf32>) lse(%lse : memref<2x8x100xf32>)
    scale(%scale : f32) {tile.schedule = #tile.schedule<block_q = 24, block_kv = 96>}
  return
}

// Both regions, with every op of the dialect.
// CHECK-LABEL: func.func @regions(
// CHECK-SAME: %[[WINDOW:[^ ]*]]: i32 {attn.name = "window"}, %[[SLOPE:[^ ]*]]: memref<?xbf16, strided<[?], offset: ?>> {attn.name = "slope"}
func.func @regions(%q: memref<?x?x?x64xf64, #any4>, %k: memref<?x?x?x64xf64, #any4>,
                   %v: memref<?x?x?x64xf64, #any4>, %o: memref<?x?x?x64xf64, #any4>,
                   %lse: memref<?x?x?xf64, #any3>, %scale: f64,
                   %window: i32 {attn.name = "window"},
                   %slope: memref<?xbf16, strided<[?], offset: ?>> {attn.name = "slope"}) {
  // CHECK: attn.forward {{.*}} score {
  // CHECK-NEXT: ^bb0(%[[S:[^:]*]]: f64, %{{[^:]*}}: i32, %[[H:[^:]*]]: i32, %{{[^:]*}}: i32, %[[QI:[^:]*]]: i32, %[[KI:[^:]*]]: i32, %{{[^:]*}}: i32, %{{[^:]*}}: i32):
  attn.forward q(%q : memref<?x?x?x64xf64, #any4>) k(%k : memref<?x?x?x64xf64, #any4>)
    v(%v : memref<?x?x?x64xf64, #any4>) o(%o : memref<?x?x?x64xf64, #any4>)
    lse(%lse : memref<?x?x?xf64, #any3>) scale(%scale : f64)
    score {
    ^bb0(%s: f64, %b: i32, %h: i32, %hkv: i32, %qi: i32, %ki: i32, %q_len: i32, %kv_len: i32):
      // CHECK: %[[E:.*]] = attn.element %[[SLOPE]][%[[H]]] : memref<?xbf16, strided<[?], offset: ?>>
      // CHECK: arith.extf %[[E]] : bf16 to f64
      %e = attn.element %slope[%h] : memref<?xbf16, strided<[?], offset: ?>>
      %x = arith.extf %e : bf16 to f64
      %new = arith.addf %s, %x : f64
      // CHECK: attn.yield %{{.*}} : f64
      attn.yield %new : f64
    }
    mask {
    ^bb0(%b: i32, %h: i32, %hkv: i32, %qi: i32, %ki: i32, %q_len: i32, %kv_len: i32):
      // CHECK: } mask {
      // CHECK: %[[DIV:.*]] = attn.floor_div %{{.*}}, %[[WINDOW]]
      // CHECK: %[[MOD:.*]] = attn.floor_mod %{{.*}}, %[[WINDOW]]
      %div = attn.floor_div %qi, %window : i32
      %mod = attn.floor_mod %ki, %window : i32
      %keep = arith.cmpi sle, %mod, %div : i32
      // CHECK: attn.yield %{{.*}} : i1
      attn.yield %keep : i1
    }
  return
}
