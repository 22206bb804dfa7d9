// RUN: tilewright-opt %s --convert-attn-to-tile -verify-diagnostics

!qkv = memref<?x?x?x16xf32, strided<[?, ?, ?, 1], offset: ?>>

func.func @no_schedule(%q: !qkv, %k: !qkv, %v: !qkv, %o: !qkv, %scale: f32) {
  // expected-error @+1 {{'attn.forward' op has no 'tile.schedule'; run assign-schedule before this pass}}
  attn.forward q(%q : !qkv) k(%k : !qkv) v(%v : !qkv) o(%o : !qkv) scale(%scale : f32)
  return
}
