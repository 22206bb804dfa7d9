// RUN: tilewright-opt %s -split-input-file --canonicalize | FileCheck %s

!tensor = memref<?x?x?x8xf32>

// A mask that keeps everything is no mask; one that folds to it neither.
// CHECK-LABEL: func.func @keeps_all(
// CHECK: attn.forward
// CHECK-NOT: mask
// CHECK: return
func.func @keeps_all(%q: !tensor, %k: !tensor, %v: !tensor, %o: !tensor, %scale: f32) {
  attn.forward q(%q : !tensor) k(%k : !tensor) v(%v : !tensor) o(%o : !tensor) scale(%scale : f32)
    mask {
    ^bb0(%b: i32, %h: i32, %hkv: i32, %qi: i32, %ki: i32, %q_len: i32, %kv_len: i32):
      %c3 = arith.constant 3 : i32
      %c4 = arith.constant 4 : i32
      %keep = arith.cmpi slt, %c3, %c4 : i32
      attn.yield %keep : i1
    }
  return
}

// -----

!tensor = memref<?x?x?x8xf32>

// A score function that changes nothing is none.
// CHECK-LABEL: func.func @changes_nothing(
// CHECK: attn.forward
// CHECK-NOT: score
// CHECK: return
func.func @changes_nothing(%q: !tensor, %k: !tensor, %v: !tensor, %o: !tensor, %scale: f32) {
  attn.forward q(%q : !tensor) k(%k : !tensor) v(%v : !tensor) o(%o : !tensor) scale(%scale : f32)
    score {
    ^bb0(%s: f32, %b: i32, %h: i32, %hkv: i32, %qi: i32, %ki: i32, %q_len: i32, %kv_len: i32):
      attn.yield %s : f32
    }
  return
}

// -----

!tensor = memref<?x?x?x8xf32>

// A mask that hides everything stays: rows without a visible key are not rows without a mask.
// CHECK-LABEL: func.func @hides_all(
// CHECK: mask {
// CHECK: attn.yield %false : i1
func.func @hides_all(%q: !tensor, %k: !tensor, %v: !tensor, %o: !tensor, %scale: f32) {
  attn.forward q(%q : !tensor) k(%k : !tensor) v(%v : !tensor) o(%o : !tensor) scale(%scale : f32)
    mask {
    ^bb0(%b: i32, %h: i32, %hkv: i32, %qi: i32, %ki: i32, %q_len: i32, %kv_len: i32):
      %keep = arith.constant false
      attn.yield %keep : i1
    }
  return
}

// -----

!tensor = memref<?x?x?x8xf32>

// Divisions fold with the language's rules: toward minus infinity, 0 for a zero divisor, wrapping.
// CHECK-LABEL: func.func @divisions(
// CHECK-DAG: %[[DIV:.*]] = arith.constant -3 : i32
// CHECK-DAG: %[[MOD:.*]] = arith.constant 2 : i32
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : i32
// CHECK-DAG: %[[LEAST:.*]] = arith.constant -2147483648 : i32
// CHECK: arith.cmpi slt, %{{.*}}, %[[DIV]]
// CHECK: arith.cmpi slt, %{{.*}}, %[[MOD]]
// CHECK: arith.cmpi slt, %{{.*}}, %[[ZERO]]
// CHECK: arith.cmpi sgt, %{{.*}}, %[[ZERO]]
// CHECK: arith.cmpi sgt, %{{.*}}, %[[LEAST]]
func.func @divisions(%q: !tensor, %k: !tensor, %v: !tensor, %o: !tensor, %scale: f32) {
  attn.forward q(%q : !tensor) k(%k : !tensor) v(%v : !tensor) o(%o : !tensor) scale(%scale : f32)
    mask {
    ^bb0(%b: i32, %h: i32, %hkv: i32, %qi: i32, %ki: i32, %q_len: i32, %kv_len: i32):
      %zero = arith.constant 0 : i32
      %one = arith.constant -1 : i32
      %seven = arith.constant -7 : i32
      %three = arith.constant 3 : i32
      %least = arith.constant -2147483648 : i32
      %div = attn.floor_div %seven, %three : i32
      %mod = attn.floor_mod %seven, %three : i32
      %div0 = attn.floor_div %seven, %zero : i32
      %mod0 = attn.floor_mod %seven, %zero : i32
      %wrapped = attn.floor_div %least, %one : i32
      %a = arith.cmpi slt, %qi, %div : i32
      %b1 = arith.cmpi slt, %qi, %mod : i32
      %c = arith.cmpi slt, %qi, %div0 : i32
      %d = arith.cmpi sgt, %qi, %mod0 : i32
      %e = arith.cmpi sgt, %qi, %wrapped : i32
      %ab = arith.andi %a, %b1 : i1
      %cd = arith.andi %c, %d : i1
      %abcd = arith.ori %ab, %cd : i1
      %keep = arith.ori %abcd, %e : i1
      attn.yield %keep : i1
    }
  return
}
