// RUN: tilewright-opt %s --assign-schedule='block-q=24 block-kv=96' | FileCheck %s
// RUN: not tilewright-opt %s --assign-schedule='block-q=0' 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not tilewright-opt %s --assign-schedule='block-kv=4097' 2>&1 | FileCheck %s --check-prefix=LARGE

// ZERO: error: block_q = 0 is outside of 1 to 4096
// LARGE: error: block_kv = 4097 is outside of 1 to 4096

!qkv = memref<?x?x?x16xf32, strided<[?, ?, ?, 1], offset: ?>>

// CHECK-LABEL: func.func @two(
func.func @two(%q: !qkv, %k: !qkv, %v: !qkv, %o: !qkv, %scale: f32) {
  // CHECK: attn.forward {{.*}} {tile.schedule = #tile.schedule<block_q = 24, block_kv = 96>}
  attn.forward q(%q : !qkv) k(%k : !qkv) v(%v : !qkv) o(%o : !qkv) scale(%scale : f32)
  // A schedule that is stated stays.
  // CHECK: attn.forward {{.*}} {tile.schedule = #tile.schedule<block_q = 7, block_kv = 13>}
  attn.forward q(%q : !qkv) k(%k : !qkv) v(%v : !qkv) o(%o : !qkv) scale(%scale : f32)
    {tile.schedule = #tile.schedule<block_q = 7, block_kv = 13>}
  return
}
