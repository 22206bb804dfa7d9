// RUN: tilewright-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{this layout is one of tiles with 64 rows}}
func.func private @rows(tensor<128x64xf32, #sm.accumulator>)

// -----

// expected-error @+1 {{this layout takes columns in multiples of 16 up to 256, not 24}}
func.func private @columns(tensor<64x24xbf16, #sm.operand>)

// -----

// expected-error @+1 {{this layout is one of row vectors with 64 elements}}
func.func private @row(tensor<32xf32, #sm.row>)

// -----

// expected-error @+1 {{a shared tile has elements of f16 or bf16, not 'f32'}}
func.func private @element(!sm.shared<64x64xf32>)

// -----

// expected-error @+1 {{a shared tile has rows in multiples of 8 up to 256, not 12}}
func.func private @shared_rows(!sm.shared<12x64xbf16>)

// -----

// expected-error @+1 {{a ring has 1 to 32 stages, not 0}}
func.func private @stages(!sm.ring<64x64xbf16, stages = 0>)

// -----

// expected-error @+1 {{a product in flight is an f32 tensor in #sm.accumulator}}
func.func private @in_flight(!sm.in_flight<tensor<64x64xbf16, #sm.accumulator>>)

// -----

func.func @roles_last(%n: index) {
  sm.grid (%i) in (%n) {
    sm.producer "loads" registers = 24 {
    }
    // expected-error @+1 {{stands after a role; a grid's roles come last}}
    %two = arith.addi %i, %i : index
  }
  return
}

// -----

func.func @wrong_role(%n: index) {
  sm.grid (%i) in (%n) {
    %ring = sm.create_ring "keys" arrivals = 4 : !sm.ring<64x64xbf16, stages = 2>
    sm.producer "loads" registers = 24 {
      // expected-error @+1 {{belongs into consumers}}
      %k = sm.wait %ring : !sm.ring<64x64xbf16, stages = 2>
    }
  }
  return
}

// -----

func.func @wrong_columns(%n: index, %t: memref<?x72xbf16>) {
  sm.grid (%i) in (%n) {
    %ring = sm.create_ring "keys" arrivals = 4 : !sm.ring<64x64xbf16, stages = 2>
    sm.producer "loads" registers = 24 {
      %k = sm.acquire %ring : !sm.ring<64x64xbf16, stages = 2>
      // expected-error @+1 {{stage has 64 columns, but rows of the source have 72}}
      sm.copy %t[%i], %k : memref<?x72xbf16>, !sm.shared<64x64xbf16>
    }
  }
  return
}

// -----

func.func @read_early(%n: index) {
  sm.grid (%i) in (%n) {
    %ring = sm.create_ring "keys" arrivals = 4 : !sm.ring<64x64xbf16, stages = 2>
    sm.consumers "math" warpgroups = 1 registers = 240 (%w) {
      %k = sm.wait %ring : !sm.ring<64x64xbf16, stages = 2>
      %f = sm.mma %k from %n, %k {transpose_rhs} : !sm.shared<64x64xbf16>, !sm.shared<64x64xbf16> -> !sm.in_flight<tensor<64x64xf32, #sm.accumulator>>
      // expected-error @+1 {{operand #0 must be an f32 tensor in #sm.accumulator, but got '!sm.in_flight}}
      %p = "sm.pack"(%f) : (!sm.in_flight<tensor<64x64xf32, #sm.accumulator>>) -> tensor<64x64xbf16, #sm.operand>
    }
  }
  return
}

// -----

func.func @depth(%n: index) {
  sm.grid (%i) in (%n) {
    %keys = sm.create_ring "keys" arrivals = 4 : !sm.ring<64x64xbf16, stages = 2>
    %values = sm.create_ring "values" arrivals = 4 : !sm.ring<64x128xbf16, stages = 2>
    sm.consumers "math" warpgroups = 1 registers = 240 (%w) {
      %k = sm.wait %keys : !sm.ring<64x64xbf16, stages = 2>
      %v = sm.wait %values : !sm.ring<64x128xbf16, stages = 2>
      // expected-error @+1 {{depth is 64 on the left and 128 on the right}}
      %f = sm.mma %k from %n, %v {transpose_rhs} : !sm.shared<64x64xbf16>, !sm.shared<64x128xbf16> -> !sm.in_flight<tensor<64x64xf32, #sm.accumulator>>
    }
  }
  return
}
