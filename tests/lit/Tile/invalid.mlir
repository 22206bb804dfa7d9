// RUN: tilewright-opt %s -split-input-file -verify-diagnostics

// One case for each rule, in the order of the ops' definitions.

// expected-error@+1 {{block_q = 0 is outside of 1 to 4096}}
func.func private @schedule_block_q() attributes {tile.schedule = #tile.schedule<block_q = 0, block_kv = 64>}

// -----

// expected-error@+1 {{block_kv = 4097 is outside of 1 to 4096}}
func.func private @schedule_block_kv() attributes {tile.schedule = #tile.schedule<block_q = 64, block_kv = 4097>}

// -----

// expected-error@+1 {{coefficient q = 1073741825 is outside of -2^30 to 2^30}}
func.func private @half_plane_q() attributes {tile.h = #tile.half_plane<q = 1073741825, k = 0>}

// -----

// expected-error@+1 {{coefficient k = -1073741825 is outside of -2^30 to 2^30}}
func.func private @half_plane_k() attributes {tile.h = #tile.half_plane<q = 0, k = -1073741825>}

// -----

func.func @load_element(%t: memref<?x?x?x8xf32>, %i: index) {
  // expected-error@+1 {{'tile.load' op tile of 'f16' for a tensor of 'f32'}}
  %x = tile.load %t[%i, %i, %i] : memref<?x?x?x8xf32> -> tensor<4x8xf16>
  return
}

// -----

func.func @load_layout(%t: memref<?x?x?x8xf32, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2 floordiv 2, d3)>>, %i: index) {
  // expected-error@+1 {{'tile.load' op tensor has a layout that is not strided}}
  %x = tile.load %t[%i, %i, %i] : memref<?x?x?x8xf32, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2 floordiv 2, d3)>> -> tensor<4x8xf32>
  return
}

// -----

func.func @load_rank(%t: memref<?xf32>, %i: index) {
  // expected-error@+1 {{'tile.load' op tile of rank 2 in a tensor of rank 1}}
  %x = tile.load %t[%i] : memref<?xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @load_indices(%t: memref<?x?x?x8xf32>, %i: index) {
  // expected-error@+1 {{'tile.load' op has 1 indices; a tile of rank 2 in a tensor of rank 4 takes 3, or one fewer where rows run over two dimensions}}
  %x = tile.load %t[%i] : memref<?x?x?x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @load_row_indices(%t: memref<?x?x?xf32>, %i: index) {
  // expected-error@+1 {{'tile.load' op has 1 indices; a tile of rank 1 in a tensor of rank 3 takes 3, or one fewer where rows run over two dimensions}}
  %x = tile.load %t[%i] : memref<?x?x?xf32> -> tensor<4xf32>
  return
}

// -----

func.func @load_columns(%t: memref<?x?x?x8xf32>, %i: index) {
  // expected-error@+1 {{'tile.load' op tile has 16 columns, but rows of the tensor have 8}}
  %x = tile.load %t[%i, %i, %i] : memref<?x?x?x8xf32> -> tensor<4x16xf32>
  return
}

// -----

func.func @load_dynamic_columns(%t: memref<?x?xf32>, %i: index) {
  // expected-error@+1 {{'tile.load' op tile has 16 columns, but rows of the tensor have a dynamic number}}
  %x = tile.load %t[%i] : memref<?x?xf32> -> tensor<4x16xf32>
  return
}

// -----

func.func @load_stride(%t: memref<?x8xf32, strided<[8, 2]>>, %i: index) {
  // expected-error@+1 {{'tile.load' op the tensor's innermost stride must be 1}}
  %x = tile.load %t[%i] : memref<?x8xf32, strided<[8, 2]>> -> tensor<4x8xf32>
  return
}

// -----

func.func @load_dynamic_tile(%t: memref<?x?x?x8xf32>, %i: index) {
  // expected-error@+1 {{'tile.load' op result #0 must be}}
  %x = tile.load %t[%i, %i, %i] : memref<?x?x?x8xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @store_columns(%x: tensor<4x16xf32>, %t: memref<?x?x?x8xf32>, %i: index) {
  // expected-error@+1 {{'tile.store' op tile has 16 columns, but rows of the tensor have 8}}
  tile.store %x, %t[%i, %i, %i] : tensor<4x16xf32>, memref<?x?x?x8xf32>
  return
}

// -----

func.func @gather_element(%t: memref<?xf32>, %j: tensor<4x8xi32>) {
  // expected-error@+1 {{'tile.gather' op result of 'f16' from a tensor of 'f32'}}
  %x = tile.gather %t[%j] : memref<?xf32> -> tensor<4x8xf16>
  return
}

// -----

func.func @gather_indices(%t: memref<?x?xf32>, %j: tensor<4x8xi32>) {
  // expected-error@+1 {{'tile.gather' op has 1 indices for a tensor of rank 2}}
  %x = tile.gather %t[%j] : memref<?x?xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @gather_shape(%t: memref<?xf32>, %j: tensor<4x4xi32>) {
  // expected-error@+1 {{'tile.gather' op index 'tensor<4x4xi32>' differs in shape from the result 'tensor<4x8xf32>'}}
  %x = "tile.gather"(%t, %j) : (memref<?xf32>, tensor<4x4xi32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @coord_dim(%i: index) {
  // expected-error@+1 {{'tile.coord' op attribute 'dim' failed to satisfy constraint}}
  %x = tile.coord %i, dim = 2 : tensor<4x8xi32>
  return
}

// -----

func.func @broadcast_element(%s: f16) {
  // expected-error@+1 {{'tile.broadcast' op broadcasts 'f16' to a tile of 'f32'}}
  %x = tile.broadcast %s : f16 -> tensor<4x8xf32>
  return
}

// -----

func.func @broadcast_rows(%s: tensor<8xf32>) {
  // expected-error@+1 {{'tile.broadcast' op a row vector 'tensor<8xf32>' needs a tile with as many rows, not 'tensor<4x8xf32>'}}
  %x = tile.broadcast %s : tensor<8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @broadcast_row_to_row(%s: tensor<4xf32>) {
  // expected-error@+1 {{'tile.broadcast' op a row vector 'tensor<4xf32>' needs a tile with as many rows, not 'tensor<4xf32>'}}
  %x = tile.broadcast %s : tensor<4xf32> -> tensor<4xf32>
  return
}

// -----

func.func @mma_depth(%a: tensor<4x8xf32>, %b: tensor<7x5xf32>) {
  // expected-error@+1 {{'tile.mma' op depths differ: 8 columns of lhs, 7 rows of rhs}}
  %x = tile.mma %a, %b : tensor<4x8xf32>, tensor<7x5xf32> -> tensor<4x5xf32>
  return
}

// -----

func.func @mma_depth_transposed(%a: tensor<4x8xf32>, %b: tensor<5x7xf32>) {
  // expected-error@+1 {{'tile.mma' op depths differ: 8 columns of lhs, 7 columns of rhs}}
  %x = tile.mma %a, %b {transpose_rhs} : tensor<4x8xf32>, tensor<5x7xf32> -> tensor<4x5xf32>
  return
}

// -----

func.func @mma_result(%a: tensor<4x8xf32>, %b: tensor<8x5xf32>) {
  // expected-error@+1 {{'tile.mma' op result must be 4 x 5, not 4 x 6}}
  %x = tile.mma %a, %b : tensor<4x8xf32>, tensor<8x5xf32> -> tensor<4x6xf32>
  return
}

// -----

func.func @mma_result_transposed(%a: tensor<4x8xf32>, %b: tensor<5x8xf32>) {
  // expected-error@+1 {{'tile.mma' op result must be 4 x 5, not 4 x 8}}
  %x = tile.mma %a, %b {transpose_rhs} : tensor<4x8xf32>, tensor<5x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @mma_sums_f64(%a: tensor<4x8xf64>, %b: tensor<8x5xf64>) {
  // expected-error@+1 {{'tile.mma' op result of 'f32' from operands of 'f64' and 'f64'}}
  %x = tile.mma %a, %b : tensor<4x8xf64>, tensor<8x5xf64> -> tensor<4x5xf32>
  return
}

// -----

func.func @mma_sums_bf16(%a: tensor<4x8xbf16>, %b: tensor<8x5xbf16>) {
  // expected-error@+1 {{'tile.mma' op result of 'f64' from operands of 'bf16' and 'bf16'}}
  %x = tile.mma %a, %b : tensor<4x8xbf16>, tensor<8x5xbf16> -> tensor<4x5xf64>
  return
}

// -----

func.func @mma_accumulator(%a: tensor<4x8xf32>, %b: tensor<8x5xf32>, %c: tensor<4x6xf32>) {
  // expected-error@+1 {{'tile.mma' op accumulator 'tensor<4x6xf32>' differs from the result 'tensor<4x5xf32>'}}
  %x = "tile.mma"(%a, %b, %c) : (tensor<4x8xf32>, tensor<8x5xf32>, tensor<4x6xf32>) -> tensor<4x5xf32>
  return
}

// -----

func.func @softmax_init() {
  // expected-error@+1 {{'tile.softmax_init' op reference 'tensor<4xf32>' and sum 'tensor<5xf32>' differ}}
  %m, %l = "tile.softmax_init"() : () -> (tensor<4xf32>, tensor<5xf32>)
  return
}

// -----

func.func @softmax_step_reference(%s: tensor<4x8xf32>, %m: tensor<5xf32>, %l: tensor<4xf32>) {
  // expected-error@+1 {{'tile.softmax_step' op reference must be 'tensor<4xf32>' for a tile 'tensor<4x8xf32>', not 'tensor<5xf32>'}}
  %r:4 = "tile.softmax_step"(%s, %m, %l) : (tensor<4x8xf32>, tensor<5xf32>, tensor<4xf32>) -> (tensor<4x8xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>)
  return
}

// -----

func.func @softmax_step_sum(%s: tensor<4x8xf32>, %m: tensor<4xf32>, %l: tensor<5xf32>) {
  // expected-error@+1 {{'tile.softmax_step' op sum must be 'tensor<4xf32>' for a tile 'tensor<4x8xf32>', not 'tensor<5xf32>'}}
  %r:4 = "tile.softmax_step"(%s, %m, %l) : (tensor<4x8xf32>, tensor<4xf32>, tensor<5xf32>) -> (tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @softmax_step_results(%s: tensor<4x8xf32>, %m: tensor<4xf32>, %l: tensor<4xf32>) {
  // expected-error@+2 {{'tile.softmax_step' op inferred type(s) 'tensor<4x8xf32>', 'tensor<4xf32>', 'tensor<4xf32>', 'tensor<4xf32>' are incompatible with return type(s) of operation}}
  // expected-error@+1 {{'tile.softmax_step' op failed to infer returned types}}
  %r:4 = "tile.softmax_step"(%s, %m, %l) : (tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4x9xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @rescale(%o: tensor<4x8xf32>, %a: tensor<5xf32>) {
  // expected-error@+1 {{'tile.rescale' op alpha must be 'tensor<4xf32>' for a tile 'tensor<4x8xf32>', not 'tensor<5xf32>'}}
  %r = "tile.rescale"(%o, %a) : (tensor<4x8xf32>, tensor<5xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @softmax_finalize(%o: tensor<4x8xf32>, %m: tensor<5xf32>) {
  // expected-error@+1 {{'tile.softmax_finalize' op reference must be 'tensor<4xf32>' for a tile 'tensor<4x8xf32>', not 'tensor<5xf32>'}}
  %r:2 = "tile.softmax_finalize"(%o, %m, %m) : (tensor<4x8xf32>, tensor<5xf32>, tensor<5xf32>) -> (tensor<4x8xf32>, tensor<5xf32>)
  return
}

// -----

func.func @block_ranges_offsets(%i: index) {
  // expected-error@+1 {{'tile.block_ranges' op has 1 half-planes and 0 offsets}}
  %r:4 = tile.block_ranges queries %i to %i keys %i block 4 where [#tile.half_plane<q = 1, k = -1>]()
  return
}

// -----

func.func @block_ranges_block(%i: index) {
  // expected-error@+1 {{'tile.block_ranges' op attribute 'block_kv' failed to satisfy constraint}}
  %r:4 = tile.block_ranges queries %i to %i keys %i block 0 where []()
  return
}

// -----

func.func @columns_of_a_loop(%n: index) {
  // expected-error@+1 {{'tile.columns_on_lanes' is for scf.forall, and has no value}}
  scf.for %i = %n to %n step %n {
  } {tile.columns_on_lanes}
  return
}

// -----

func.func @columns_with_a_value() {
  // expected-error@+1 {{'tile.columns_on_lanes' is for scf.forall, and has no value}}
  scf.forall (%i) in (1) {
  } {tile.columns_on_lanes = 1 : i32}
  return
}
