// RUN: tilewright-opt %s -split-input-file -verify-diagnostics

// One case for each rule, in the order of the verifiers.

func.func @layout(%q: memref<?x?x?x8xf32>, %k: memref<?x?x?x8xf32, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2 floordiv 2, d3)>>, %v: memref<?x?x?x8xf32>, %o: memref<?x?x?x8xf32>, %scale: f32) {
  // expected-error@+1 {{'attn.forward' op key has a layout that is not strided: 'memref<?x?x?x8xf32, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2 floordiv 2, d3)>>'}}
  attn.forward q(%q : memref<?x?x?x8xf32>) k(%k : memref<?x?x?x8xf32, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2 floordiv 2, d3)>>) v(%v : memref<?x?x?x8xf32>) o(%o : memref<?x?x?x8xf32>) scale(%scale : f32)
  return
}

// -----

func.func @innermost_stride(%q: memref<?x?x?x8xf32, strided<[?, ?, ?, 2]>>, %k: memref<?x?x?x8xf32>, %v: memref<?x?x?x8xf32>, %o: memref<?x?x?x8xf32>, %scale: f32) {
  // expected-error@+1 {{'attn.forward' op query must have an innermost stride of 1, not 2}}
  attn.forward q(%q : memref<?x?x?x8xf32, strided<[?, ?, ?, 2]>>) k(%k : memref<?x?x?x8xf32>) v(%v : memref<?x?x?x8xf32>) o(%o : memref<?x?x?x8xf32>) scale(%scale : f32)
  return
}

// -----

func.func @innermost_stride_unknown(%q: memref<?x?x?x8xf32>, %k: memref<?x?x?x8xf32>, %v: memref<?x?x?x8xf32, strided<[?, ?, ?, ?]>>, %o: memref<?x?x?x8xf32>, %scale: f32) {
  // expected-error@+1 {{'attn.forward' op value must have an innermost stride of 1, not a dynamic one}}
  attn.forward q(%q : memref<?x?x?x8xf32>) k(%k : memref<?x?x?x8xf32>) v(%v : memref<?x?x?x8xf32, strided<[?, ?, ?, ?]>>) o(%o : memref<?x?x?x8xf32>) scale(%scale : f32)
  return
}

// -----

func.func @dynamic_width(%q: memref<?x?x?x?xf32>, %k: memref<?x?x?x?xf32>, %v: memref<?x?x?x?xf32>, %o: memref<?x?x?x?xf32>, %scale: f32) {
  // expected-error@+1 {{'attn.forward' op query must have a static head dim}}
  attn.forward q(%q : memref<?x?x?x?xf32>) k(%k : memref<?x?x?x?xf32>) v(%v : memref<?x?x?x?xf32>) o(%o : memref<?x?x?x?xf32>) scale(%scale : f32)
  return
}

// -----

func.func @zero_width(%q: memref<?x?x?x0xf32>, %k: memref<?x?x?x0xf32>, %v: memref<?x?x?x0xf32>, %o: memref<?x?x?x0xf32>, %scale: f32) {
  // expected-error@+1 {{'attn.forward' op query has head dim 0; it must be positive}}
  attn.forward q(%q : memref<?x?x?x0xf32>) k(%k : memref<?x?x?x0xf32>) v(%v : memref<?x?x?x0xf32>) o(%o : memref<?x?x?x0xf32>) scale(%scale : f32)
  return
}

// -----

func.func @dtype(%q: memref<?x?x?x8xf32>, %k: memref<?x?x?x8xf16>, %v: memref<?x?x?x8xf32>, %o: memref<?x?x?x8xf32>, %scale: f32) {
  // expected-error@+1 {{'attn.forward' op key is 'f16' but query is 'f32'}}
  attn.forward q(%q : memref<?x?x?x8xf32>) k(%k : memref<?x?x?x8xf16>) v(%v : memref<?x?x?x8xf32>) o(%o : memref<?x?x?x8xf32>) scale(%scale : f32)
  return
}

// -----

func.func @query_key_width(%q: memref<?x?x?x8xf32>, %k: memref<?x?x?x16xf32>, %v: memref<?x?x?x8xf32>, %o: memref<?x?x?x8xf32>, %scale: f32) {
  // expected-error@+1 {{'attn.forward' op query and key differ in head dim: 8 and 16}}
  attn.forward q(%q : memref<?x?x?x8xf32>) k(%k : memref<?x?x?x16xf32>) v(%v : memref<?x?x?x8xf32>) o(%o : memref<?x?x?x8xf32>) scale(%scale : f32)
  return
}

// -----

func.func @value_out_width(%q: memref<?x?x?x8xf32>, %k: memref<?x?x?x8xf32>, %v: memref<?x?x?x8xf32>, %o: memref<?x?x?x16xf32>, %scale: f32) {
  // expected-error@+1 {{'attn.forward' op value and out differ in head dim: 8 and 16}}
  attn.forward q(%q : memref<?x?x?x8xf32>) k(%k : memref<?x?x?x8xf32>) v(%v : memref<?x?x?x8xf32>) o(%o : memref<?x?x?x16xf32>) scale(%scale : f32)
  return
}

// -----

func.func @batch(%q: memref<2x?x?x8xf32>, %k: memref<3x?x?x8xf32>, %v: memref<?x?x?x8xf32>, %o: memref<?x?x?x8xf32>, %scale: f32) {
  // expected-error@+1 {{'attn.forward' op query and key differ in batch: 2 and 3}}
  attn.forward q(%q : memref<2x?x?x8xf32>) k(%k : memref<3x?x?x8xf32>) v(%v : memref<?x?x?x8xf32>) o(%o : memref<?x?x?x8xf32>) scale(%scale : f32)
  return
}

// -----

func.func @value_batch(%q: memref<2x?x?x8xf32>, %k: memref<?x?x?x8xf32>, %v: memref<3x?x?x8xf32>, %o: memref<?x?x?x8xf32>, %scale: f32) {
  // expected-error@+1 {{'attn.forward' op query and value differ in batch: 2 and 3}}
  attn.forward q(%q : memref<2x?x?x8xf32>) k(%k : memref<?x?x?x8xf32>) v(%v : memref<3x?x?x8xf32>) o(%o : memref<?x?x?x8xf32>) scale(%scale : f32)
  return
}

// -----

func.func @out_batch(%q: memref<2x?x?x8xf32>, %k: memref<?x?x?x8xf32>, %v: memref<?x?x?x8xf32>, %o: memref<3x?x?x8xf32>, %scale: f32) {
  // expected-error@+1 {{'attn.forward' op query and out differ in batch: 2 and 3}}
  attn.forward q(%q : memref<2x?x?x8xf32>) k(%k : memref<?x?x?x8xf32>) v(%v : memref<?x?x?x8xf32>) o(%o : memref<3x?x?x8xf32>) scale(%scale : f32)
  return
}

// -----

func.func @out_heads(%q: memref<?x4x?x8xf32>, %k: memref<?x?x?x8xf32>, %v: memref<?x?x?x8xf32>, %o: memref<?x2x?x8xf32>, %scale: f32) {
  // expected-error@+1 {{'attn.forward' op query and out differ in heads: 4 and 2}}
  attn.forward q(%q : memref<?x4x?x8xf32>) k(%k : memref<?x?x?x8xf32>) v(%v : memref<?x?x?x8xf32>) o(%o : memref<?x2x?x8xf32>) scale(%scale : f32)
  return
}

// -----

func.func @out_length(%q: memref<?x?x100x8xf32>, %k: memref<?x?x?x8xf32>, %v: memref<?x?x?x8xf32>, %o: memref<?x?x99x8xf32>, %scale: f32) {
  // expected-error@+1 {{'attn.forward' op query and out differ in length: 100 and 99}}
  attn.forward q(%q : memref<?x?x100x8xf32>) k(%k : memref<?x?x?x8xf32>) v(%v : memref<?x?x?x8xf32>) o(%o : memref<?x?x99x8xf32>) scale(%scale : f32)
  return
}

// -----

func.func @key_value_heads(%q: memref<?x?x?x8xf32>, %k: memref<?x4x?x8xf32>, %v: memref<?x2x?x8xf32>, %o: memref<?x?x?x8xf32>, %scale: f32) {
  // expected-error@+1 {{'attn.forward' op key and value differ in heads: 4 and 2}}
  attn.forward q(%q : memref<?x?x?x8xf32>) k(%k : memref<?x4x?x8xf32>) v(%v : memref<?x2x?x8xf32>) o(%o : memref<?x?x?x8xf32>) scale(%scale : f32)
  return
}

// -----

func.func @key_value_length(%q: memref<?x?x?x8xf32>, %k: memref<?x?x100x8xf32>, %v: memref<?x?x99x8xf32>, %o: memref<?x?x?x8xf32>, %scale: f32) {
  // expected-error@+1 {{'attn.forward' op key and value differ in length: 100 and 99}}
  attn.forward q(%q : memref<?x?x?x8xf32>) k(%k : memref<?x?x100x8xf32>) v(%v : memref<?x?x99x8xf32>) o(%o : memref<?x?x?x8xf32>) scale(%scale : f32)
  return
}

// -----

func.func @head_groups(%q: memref<?x6x?x8xf32>, %k: memref<?x4x?x8xf32>, %v: memref<?x4x?x8xf32>, %o: memref<?x?x?x8xf32>, %scale: f32) {
  // expected-error@+1 {{'attn.forward' op query heads (6) must be a multiple of key heads (4)}}
  attn.forward q(%q : memref<?x6x?x8xf32>) k(%k : memref<?x4x?x8xf32>) v(%v : memref<?x4x?x8xf32>) o(%o : memref<?x?x?x8xf32>) scale(%scale : f32)
  return
}

// -----

func.func @no_key_heads(%q: memref<?x6x?x8xf32>, %k: memref<?x0x?x8xf32>, %v: memref<?x0x?x8xf32>, %o: memref<?x?x?x8xf32>, %scale: f32) {
  // expected-error@+1 {{'attn.forward' op query heads (6) must be a multiple of key heads (0)}}
  attn.forward q(%q : memref<?x6x?x8xf32>) k(%k : memref<?x0x?x8xf32>) v(%v : memref<?x0x?x8xf32>) o(%o : memref<?x?x?x8xf32>) scale(%scale : f32)
  return
}

// -----

func.func @scale(%q: memref<?x?x?x8xf32>, %k: memref<?x?x?x8xf32>, %v: memref<?x?x?x8xf32>, %o: memref<?x?x?x8xf32>, %scale: f64) {
  // expected-error@+1 {{'attn.forward' op scale is 'f64' but a problem in 'f32' computes in 'f32'}}
  attn.forward q(%q : memref<?x?x?x8xf32>) k(%k : memref<?x?x?x8xf32>) v(%v : memref<?x?x?x8xf32>) o(%o : memref<?x?x?x8xf32>) scale(%scale : f64)
  return
}

// -----

func.func @out_dtype(%q: memref<?x?x?x8xf16>, %k: memref<?x?x?x8xf16>, %v: memref<?x?x?x8xf16>, %o: memref<?x?x?x8xbf16>, %scale: f32) {
  // expected-error@+1 {{'attn.forward' op out is 'bf16'; it must be 'f16' or 'f32'}}
  attn.forward q(%q : memref<?x?x?x8xf16>) k(%k : memref<?x?x?x8xf16>) v(%v : memref<?x?x?x8xf16>) o(%o : memref<?x?x?x8xbf16>) scale(%scale : f32)
  return
}

// -----

func.func @lse_dtype(%q: memref<?x?x?x8xf64>, %k: memref<?x?x?x8xf64>, %v: memref<?x?x?x8xf64>, %o: memref<?x?x?x8xf64>, %lse: memref<?x?x?xf32>, %scale: f64) {
  // expected-error@+1 {{'attn.forward' op lse is 'f32'; it must be 'f64'}}
  attn.forward q(%q : memref<?x?x?x8xf64>) k(%k : memref<?x?x?x8xf64>) v(%v : memref<?x?x?x8xf64>) o(%o : memref<?x?x?x8xf64>) lse(%lse : memref<?x?x?xf32>) scale(%scale : f64)
  return
}

// -----

func.func @lse_length(%q: memref<?x?x100x8xf32>, %k: memref<?x?x?x8xf32>, %v: memref<?x?x?x8xf32>, %o: memref<?x?x?x8xf32>, %lse: memref<?x?x99xf32>, %scale: f32) {
  // expected-error@+1 {{'attn.forward' op query and lse differ in length: 100 and 99}}
  attn.forward q(%q : memref<?x?x100x8xf32>) k(%k : memref<?x?x?x8xf32>) v(%v : memref<?x?x?x8xf32>) o(%o : memref<?x?x?x8xf32>) lse(%lse : memref<?x?x99xf32>) scale(%scale : f32)
  return
}

// -----

func.func @lse_batch(%q: memref<2x?x?x8xf32>, %k: memref<?x?x?x8xf32>, %v: memref<?x?x?x8xf32>, %o: memref<?x?x?x8xf32>, %lse: memref<3x?x?xf32>, %scale: f32) {
  // expected-error@+1 {{'attn.forward' op query and lse differ in batch: 2 and 3}}
  attn.forward q(%q : memref<2x?x?x8xf32>) k(%k : memref<?x?x?x8xf32>) v(%v : memref<?x?x?x8xf32>) o(%o : memref<?x?x?x8xf32>) lse(%lse : memref<3x?x?xf32>) scale(%scale : f32)
  return
}

// -----

func.func @lse_heads(%q: memref<?x2x?x8xf32>, %k: memref<?x?x?x8xf32>, %v: memref<?x?x?x8xf32>, %o: memref<?x?x?x8xf32>, %lse: memref<?x3x?xf32>, %scale: f32) {
  // expected-error@+1 {{'attn.forward' op query and lse differ in heads: 2 and 3}}
  attn.forward q(%q : memref<?x2x?x8xf32>) k(%k : memref<?x?x?x8xf32>) v(%v : memref<?x?x?x8xf32>) o(%o : memref<?x?x?x8xf32>) lse(%lse : memref<?x3x?xf32>) scale(%scale : f32)
  return
}

// -----

func.func @mask_arguments(%q: memref<?x?x?x8xf32>, %k: memref<?x?x?x8xf32>, %v: memref<?x?x?x8xf32>, %o: memref<?x?x?x8xf32>, %scale: f32) {
  // expected-error@+1 {{'attn.forward' op mask region must have the arguments ('i32', 'i32', 'i32', 'i32', 'i32', 'i32', 'i32'), not ('i32', 'i64')}}
  attn.forward q(%q : memref<?x?x?x8xf32>) k(%k : memref<?x?x?x8xf32>) v(%v : memref<?x?x?x8xf32>) o(%o : memref<?x?x?x8xf32>) scale(%scale : f32) mask {
  ^bb0(%a: i32, %b: i64):
    %t = arith.constant true
    attn.yield %t : i1
  }
  return
}

// -----

func.func @score_arguments(%q: memref<?x?x?x8xf32>, %k: memref<?x?x?x8xf32>, %v: memref<?x?x?x8xf32>, %o: memref<?x?x?x8xf32>, %scale: f32) {
  // expected-error@+1 {{'attn.forward' op score region must have the arguments ('f32', 'i32', 'i32', 'i32', 'i32', 'i32', 'i32', 'i32'), not ('f64', 'i32', 'i32', 'i32', 'i32', 'i32', 'i32', 'i32')}}
  attn.forward q(%q : memref<?x?x?x8xf32>) k(%k : memref<?x?x?x8xf32>) v(%v : memref<?x?x?x8xf32>) o(%o : memref<?x?x?x8xf32>) scale(%scale : f32) score {
  ^bb0(%s: f64, %b: i32, %h: i32, %hkv: i32, %qi: i32, %ki: i32, %q_len: i32, %kv_len: i32):
    attn.yield %s : f64
  }
  return
}

// -----

func.func @mask_result(%q: memref<?x?x?x8xf32>, %k: memref<?x?x?x8xf32>, %v: memref<?x?x?x8xf32>, %o: memref<?x?x?x8xf32>, %scale: f32) {
  // expected-error@+1 {{'attn.forward' op mask region must end in attn.yield of 'i1'}}
  attn.forward q(%q : memref<?x?x?x8xf32>) k(%k : memref<?x?x?x8xf32>) v(%v : memref<?x?x?x8xf32>) o(%o : memref<?x?x?x8xf32>) scale(%scale : f32) mask {
  ^bb0(%b: i32, %h: i32, %hkv: i32, %qi: i32, %ki: i32, %q_len: i32, %kv_len: i32):
    %x = arith.constant 1.0 : f32
    attn.yield %x : f32
  }
  return
}

// -----

func.func @score_result(%q: memref<?x?x?x8xf32>, %k: memref<?x?x?x8xf32>, %v: memref<?x?x?x8xf32>, %o: memref<?x?x?x8xf32>, %scale: f32) {
  // expected-error@+1 {{'attn.forward' op score region must end in attn.yield of 'f32'}}
  attn.forward q(%q : memref<?x?x?x8xf32>) k(%k : memref<?x?x?x8xf32>) v(%v : memref<?x?x?x8xf32>) o(%o : memref<?x?x?x8xf32>) scale(%scale : f32) score {
  ^bb0(%s: f32, %b: i32, %h: i32, %hkv: i32, %qi: i32, %ki: i32, %q_len: i32, %kv_len: i32):
    %x = arith.constant true
    attn.yield %x : i1
  }
  return
}

// -----

func.func @undefined_division(%q: memref<?x?x?x8xf32>, %k: memref<?x?x?x8xf32>, %v: memref<?x?x?x8xf32>, %o: memref<?x?x?x8xf32>, %scale: f32) {
  attn.forward q(%q : memref<?x?x?x8xf32>) k(%k : memref<?x?x?x8xf32>) v(%v : memref<?x?x?x8xf32>) o(%o : memref<?x?x?x8xf32>) scale(%scale : f32) mask {
  ^bb0(%b: i32, %h: i32, %hkv: i32, %qi: i32, %ki: i32, %q_len: i32, %kv_len: i32):
    // expected-error@+1 {{'arith.divsi' op is not allowed in a mask region: it holds scalar arith and math, attn.floor_div, attn.floor_mod and attn.element}}
    %x = arith.divsi %qi, %ki : i32
    %t = arith.cmpi eq, %x, %qi : i32
    attn.yield %t : i1
  }
  return
}

// -----

func.func @vectors(%q: memref<?x?x?x8xf32>, %k: memref<?x?x?x8xf32>, %v: memref<?x?x?x8xf32>, %o: memref<?x?x?x8xf32>, %scale: f32) {
  attn.forward q(%q : memref<?x?x?x8xf32>) k(%k : memref<?x?x?x8xf32>) v(%v : memref<?x?x?x8xf32>) o(%o : memref<?x?x?x8xf32>) scale(%scale : f32) score {
  ^bb0(%s: f32, %b: i32, %h: i32, %hkv: i32, %qi: i32, %ki: i32, %q_len: i32, %kv_len: i32):
    // expected-error@+1 {{'arith.constant' op is not allowed in a score region}}
    %x = arith.constant dense<0.0> : vector<4xf32>
    attn.yield %s : f32
  }
  return
}

// -----

func.func @side_effects(%q: memref<?x?x?x8xf32>, %k: memref<?x?x?x8xf32>, %v: memref<?x?x?x8xf32>, %o: memref<?x?x?x8xf32>, %scale: f32, %t: memref<?xf32>, %i: index) {
  attn.forward q(%q : memref<?x?x?x8xf32>) k(%k : memref<?x?x?x8xf32>) v(%v : memref<?x?x?x8xf32>) o(%o : memref<?x?x?x8xf32>) scale(%scale : f32) score {
  ^bb0(%s: f32, %b: i32, %h: i32, %hkv: i32, %qi: i32, %ki: i32, %q_len: i32, %kv_len: i32):
    // expected-error@+1 {{'memref.load' op is not allowed in a score region}}
    %x = memref.load %t[%i] : memref<?xf32>
    attn.yield %x : f32
  }
  return
}

// -----

func.func @element_rank(%q: memref<?x?x?x8xf32>, %k: memref<?x?x?x8xf32>, %v: memref<?x?x?x8xf32>, %o: memref<?x?x?x8xf32>, %scale: f32, %t: memref<?x?xf32>) {
  attn.forward q(%q : memref<?x?x?x8xf32>) k(%k : memref<?x?x?x8xf32>) v(%v : memref<?x?x?x8xf32>) o(%o : memref<?x?x?x8xf32>) scale(%scale : f32) score {
  ^bb0(%s: f32, %b: i32, %h: i32, %hkv: i32, %qi: i32, %ki: i32, %q_len: i32, %kv_len: i32):
    // expected-error@+1 {{'attn.element' op has 1 indices for a tensor of rank 2}}
    %x = attn.element %t[%qi] : memref<?x?xf32>
    attn.yield %x : f32
  }
  return
}

// -----

// expected-error@+1 {{'func.func' op argument 0 has the unknown attribute 'attn.label'; the attn dialect knows 'attn.name'}}
func.func @argument_attribute(%x: i32 {attn.label = "window"}) {
  return
}

// -----

// expected-error@+1 {{'func.func' op argument 1 has 'attn.name' = "7up"; it must be a string with letters, digits and '_'}}
func.func @argument_name(%x: i32, %y: i32 {attn.name = "7up"}) {
  return
}

// -----

// expected-error@+1 {{'func.func' op argument 0 has 'attn.name' = 7 : i64; it must be a string with letters, digits and '_'}}
func.func @argument_name_type(%x: i32 {attn.name = 7}) {
  return
}

// -----

func.func @yield_outside(%x: f32) {
  // expected-error@+1 {{'attn.yield' op expects parent op 'attn.forward'}}
  attn.yield %x : f32
}

// -----

func.func @element_outside(%t: memref<?xf32>, %i: i32) {
  // expected-error@+1 {{'attn.element' op expects parent op 'attn.forward'}}
  %x = attn.element %t[%i] : memref<?xf32>
  return
}
