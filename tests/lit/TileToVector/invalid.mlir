// RUN: tilewright-opt %s -split-input-file --convert-tile-to-vector -verify-diagnostics

func.func @ranges_not_expanded(%n: index) {
  scf.forall (%i) in (4) {
    // expected-error@+1 {{block ranges must be written out before: run tile-expand-block-ranges}}
    %r:4 = tile.block_ranges queries %i to %i keys %n block 4 where []()
  }
  return
}

// -----

// expected-error@+1 {{needs the name taken_items, which is taken}}
func.func @taken() {
  scf.forall (%i) in (4) {
  }
  return
}
func.func @taken_items() {
  return
}

// -----

func.func @second_reads_what_it_writes(%x: memref<?x4xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x4xf32>
  %t = memref.alloc(%n) : memref<?x4xf32>
  scf.forall (%i) in (4) {
    %a = tile.load %x[%i] : memref<?x4xf32> -> tensor<1x4xf32>
    tile.store %a, %t[%i] : tensor<1x4xf32>, memref<?x4xf32>
  }
  scf.forall (%i) in (4) {
    %a = tile.load %t[%i] : memref<?x4xf32> -> tensor<1x4xf32>
    // expected-error@+1 {{writes a tensor that the program also reads}}
    tile.store %a, %t[%i] : tensor<1x4xf32>, memref<?x4xf32>
  }
  return
}

// -----

func.func @temporary_in_scalar_code(%n: index) {
  %t = memref.alloc(%n) : memref<?x4xf32>
  %c0 = arith.constant 0 : index
  // expected-error@+1 {{a temporary tensor is used within scf.forall only}}
  %m = memref.dim %t, %c0 : memref<?x4xf32>
  scf.forall (%i) in (%m) {
  }
  return
}

// -----

func.func @folded_rhs(%x: memref<?x?x4xf32>, %y: memref<?x4xf32>) {
  scf.forall (%i) in (4) {
    %a = tile.load %y[%i] : memref<?x4xf32> -> tensor<8x4xf32>
    %b = tile.load %x[%i] : memref<?x?x4xf32> -> tensor<8x4xf32>
    // expected-error@+1 {{the rows of a product's right-hand side must run over one dimension}}
    %c = tile.mma %a, %b {transpose_rhs} : tensor<8x4xf32>, tensor<8x4xf32> -> tensor<8x8xf32>
  }
  return
}

// -----

func.func @code_after(%n: index) -> index {
  scf.forall (%i) in (4) {
  }
  // expected-error@+1 {{a tile program ends with its scf.forall}}
  %m = arith.addi %n, %n : index
  return %m : index
}

// -----

func.func @tile_outside(%x: memref<?x4xf32>, %n: index) {
  // expected-error@+1 {{outside of the scf.forall, a tile program has only scalar code}}
  %t = tile.load %x[%n] : memref<?x4xf32> -> tensor<8x4xf32>
  scf.forall (%i) in (4) {
  }
  return
}

// -----

func.func @foreign_op(%x: memref<?xf32>, %y: f32) {
  scf.forall (%i) in (4) {
    // expected-error@+1 {{is not part of the grammar of tile programs (docs/tile.md)}}
    memref.store %y, %x[%i] : memref<?xf32>
  }
  return
}

// -----

func.func @foreign_type(%x: f32) {
  scf.forall (%i) in (4) {
    // expected-error@+1 {{is not part of a tile program: 'tensor<2x2x2xf32>' is no tile}}
    %t = arith.constant dense<0.0> : tensor<2x2x2xf32>
  }
  return
}

// -----

func.func @uneven_constant() {
  scf.forall (%i) in (4) {
    // expected-error@+1 {{a constant tile must have one value for all elements}}
    %t = arith.constant dense<[[0.0], [1.0]]> : tensor<2x1xf32>
  }
  return
}

// -----

func.func @computed_rhs(%x: memref<?x4xf32>, %n: index) {
  scf.forall (%i) in (4) {
    %t = tile.load %x[%n] : memref<?x4xf32> -> tensor<4x4xf32>
    %u = arith.addf %t, %t : tensor<4x4xf32>
    // expected-error@+1 {{the right-hand side of a product must be loaded: it is read in place}}
    %s = tile.mma %t, %u : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  }
  return
}

// -----

func.func @read_and_written(%x: memref<?x4xf32>, %n: index) {
  scf.forall (%i) in (4) {
    %t = tile.load %x[%n] : memref<?x4xf32> -> tensor<4x4xf32>
    // expected-error@+1 {{writes a tensor that the program also reads}}
    tile.store %t, %x[%n] : tensor<4x4xf32>, memref<?x4xf32>
  }
  return
}

// -----

func.func @not_an_argument(%x: memref<4x4xf32>, %n: index) {
  scf.forall (%i) in (4) {
    %y = memref.cast %x : memref<4x4xf32> to memref<?x4xf32>
    // expected-error@+1 {{the tensor must be an argument of the function, a temporary one, or a memref.reinterpret_cast of these}}
    %t = tile.load %y[%n] : memref<?x4xf32> -> tensor<4x4xf32>
  }
  return
}

// -----

func.func @start_lives_on(%x: memref<?x4xf32>, %v: memref<?x4xf32>, %y: memref<?x4xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.forall (%i) in (4) {
    // expected-note@+1 {{this tile}}
    %t = tile.load %x[%c0] : memref<?x4xf32> -> tensor<4x4xf32>
    // expected-error@+1 {{a carried tile starts from a tile that something else needs too: it would have two live homes}}
    %r = scf.for %j = %c0 to %n step %c1 iter_args(%o = %t) -> (tensor<4x4xf32>) {
      %w = tile.load %v[%j] : memref<?x4xf32> -> tensor<4x4xf32>
      %s = tile.mma %t, %w acc %o : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
      scf.yield %s : tensor<4x4xf32>
    }
    tile.store %r, %y[%c0] : tensor<4x4xf32>, memref<?x4xf32>
  }
  return
}

// -----

func.func @accumulators_swapped(%x: memref<?x4xf32>, %y: memref<?x4xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.forall (%i) in (4) {
    %z = arith.constant dense<0.0> : tensor<4x4xf32>
    // expected-note@+1 {{this tile}}
    %r:2 = scf.for %j = %c0 to %n step %c1 iter_args(%a = %z, %b = %z) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
      // expected-error@+1 {{a yielded tile rests elsewhere than the tile it is carried as: it would have two live homes}}
      scf.yield %b, %a : tensor<4x4xf32>, tensor<4x4xf32>
    }
    tile.store %r#0, %y[%c0] : tensor<4x4xf32>, memref<?x4xf32>
  }
  return
}

// -----

func.func @accumulators_mixed(%x: memref<?x4xf32>, %y: memref<?x4xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.forall (%i) in (4) {
    %z = arith.constant dense<0.0> : tensor<4x4xf32>
    %r:2 = scf.for %j = %c0 to %n step %c1 iter_args(%a = %z, %b = %z) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
      %sum = arith.addf %a, %b : tensor<4x4xf32>
      // expected-note@+1 {{this tile}}
      %difference = arith.subf %a, %b : tensor<4x4xf32>
      // expected-error@+1 {{a yielded tile is made from another carried tile: that one would have two live homes}}
      scf.yield %sum, %difference : tensor<4x4xf32>, tensor<4x4xf32>
    }
    tile.store %r#0, %y[%c0] : tensor<4x4xf32>, memref<?x4xf32>
  }
  return
}

// -----

func.func @too_much_scratch(%x: memref<?x4096xf32>, %y: memref<?x4096xf32>) {
  %c0 = arith.constant 0 : index
  // expected-error@+1 {{needs 4325376 bytes of scratch; the limit is 4194304; smaller blocks take less, down to one vector of queries and one key}}
  scf.forall (%i) in (4) {
    %t = tile.load %x[%c0] : memref<?x4096xf32> -> tensor<257x4096xf32>
    tile.store %t, %y[%c0] : tensor<257x4096xf32>, memref<?x4096xf32>
  }
  return
}

// -----

// The bytes do not fit 64 bits; they must not wrap around.
func.func @endless_scratch(%x: memref<?x4611686018427387904xf32>, %y: memref<?x4611686018427387904xf32>) {
  %c0 = arith.constant 0 : index
  // expected-error@+1 {{needs 18446744073709551615 bytes of scratch}}
  scf.forall (%i) in (4) {
    %t = tile.load %x[%c0] : memref<?x4611686018427387904xf32> -> tensor<1x4611686018427387904xf32>
    tile.store %t, %y[%c0] : tensor<1x4611686018427387904xf32>, memref<?x4611686018427387904xf32>
  }
  return
}
