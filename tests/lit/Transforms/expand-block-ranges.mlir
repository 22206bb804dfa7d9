// RUN: tilewright-opt %s --tile-expand-block-ranges | FileCheck %s --check-prefix=CODE
// RUN: tilewright-opt %s --tile-expand-block-ranges --canonicalize | FileCheck %s

// A few scalar operations, and the op is gone.
// CODE-LABEL: func.func @causal(
// CODE-NOT: tile.block_ranges
// CODE: arith.floordivsi

// Causal, queries 128 to 191, 300 keys, blocks of 32: keys 0 to 191 are seen by some query, 0 to 128
// by all, so blocks 0 to 5 are visited and 0 to 3 are full.
// CHECK-LABEL: func.func @causal(
func.func @causal() -> (index, index, index, index) {
  %first = arith.constant 128 : index
  %end = arith.constant 192 : index
  %keys = arith.constant 300 : index
  %zero = arith.constant 0 : index
  %r:4 = tile.block_ranges queries %first to %end keys %keys block 32
    where [#tile.half_plane<q = 1, k = -1>](%zero)
  // CHECK: return %c0, %c0, %c4, %c6
  return %r#0, %r#1, %r#2, %r#3 : index, index, index, index
}

// A window of 100 keys on top: query 128 sees keys from 29, query 191 from 92.
// CHECK-LABEL: func.func @window(
func.func @window() -> (index, index, index, index) {
  %first = arith.constant 128 : index
  %end = arith.constant 192 : index
  %keys = arith.constant 300 : index
  %zero = arith.constant 0 : index
  %window = arith.constant 99 : index
  %r:4 = tile.block_ranges queries %first to %end keys %keys block 32
    where [#tile.half_plane<q = 1, k = -1>, #tile.half_plane<q = -1, k = 1>](%zero, %window)
  // CHECK: return %c0, %c3, %c4, %c6
  return %r#0, %r#1, %r#2, %r#3 : index, index, index, index
}

// A ragged last block is partial: 100 keys, blocks of 32.
// CHECK-LABEL: func.func @ragged(
func.func @ragged() -> (index, index, index, index) {
  %first = arith.constant 0 : index
  %end = arith.constant 64 : index
  %keys = arith.constant 100 : index
  %r:4 = tile.block_ranges queries %first to %end keys %keys block 32 where []()
  // CHECK: return %c0, %c0, %c3, %c4
  return %r#0, %r#1, %r#2, %r#3 : index, index, index, index
}

// Further conditions: nothing is full, everything is in the last range.
// CHECK-LABEL: func.func @inexact(
func.func @inexact() -> (index, index, index, index) {
  %first = arith.constant 128 : index
  %end = arith.constant 192 : index
  %keys = arith.constant 300 : index
  %zero = arith.constant 0 : index
  %r:4 = tile.block_ranges queries %first to %end keys %keys block 32
    where [#tile.half_plane<q = 1, k = -1>](%zero) inexact
  // CHECK: return %c0, %c0, %c0, %c6
  return %r#0, %r#1, %r#2, %r#3 : index, index, index, index
}

// No key is visible: causal at the lower right with fewer keys than queries (2 keys, 5 queries).
// CHECK-LABEL: func.func @empty(
func.func @empty() -> (index, index, index, index) {
  %first = arith.constant 0 : index
  %end = arith.constant 3 : index
  %keys = arith.constant 2 : index
  %shift = arith.constant -3 : index
  %r:4 = tile.block_ranges queries %first to %end keys %keys block 32
    where [#tile.half_plane<q = 1, k = -1>](%shift)
  // CHECK: return %c0, %c0, %c0, %c0
  return %r#0, %r#1, %r#2, %r#3 : index, index, index, index
}

// Coefficients other than one: 2 k <= q, queries 10 to 19: keys 0 to 9, and 0 to 5 for all.
// CHECK-LABEL: func.func @steep(
func.func @steep() -> (index, index, index, index) {
  %first = arith.constant 10 : index
  %end = arith.constant 20 : index
  %keys = arith.constant 100 : index
  %zero = arith.constant 0 : index
  %r:4 = tile.block_ranges queries %first to %end keys %keys block 2
    where [#tile.half_plane<q = 1, k = -2>](%zero)
  // CHECK: return %c0, %c0, %c3, %c5
  return %r#0, %r#1, %r#2, %r#3 : index, index, index, index
}

// A condition on no position: all or nothing.
// CHECK-LABEL: func.func @condition(
func.func @condition() -> (index, index, index, index, index, index, index, index) {
  %first = arith.constant 0 : index
  %end = arith.constant 8 : index
  %keys = arith.constant 8 : index
  %no = arith.constant -1 : index
  %yes = arith.constant 0 : index
  %n:4 = tile.block_ranges queries %first to %end keys %keys block 4
    where [#tile.half_plane<q = 0, k = 0>](%no)
  %y:4 = tile.block_ranges queries %first to %end keys %keys block 4
    where [#tile.half_plane<q = 0, k = 0>](%yes)
  // CHECK: return %c0, %c0, %c0, %c0, %c0, %c0, %c2, %c2
  return %n#0, %n#1, %n#2, %n#3, %y#0, %y#1, %y#2, %y#3
    : index, index, index, index, index, index, index, index
}
