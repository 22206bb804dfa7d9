// RUN: tilewright-opt %s -split-input-file -verify-diagnostics --sm-plan-shared-memory | FileCheck %s

// Stages first, each a multiple of 1024 bytes; then two barriers a stage.
// CHECK-LABEL: func.func @plan(
// CHECK: sm.grid (%{{.*}}) in (%{{.*}}) shared_memory = 41008 {
// CHECK: sm.create_ring "queries" arrivals = 4 offset = 0 barriers = 40960 : !sm.ring<64x64xbf16, stages = 1>
// CHECK: sm.create_ring "keys" arrivals = 4 offset = 8192 barriers = 40976 : !sm.ring<128x40xbf16, stages = 2>
func.func @plan(%n: index) {
  sm.grid (%i) in (%n) {
    %queries = sm.create_ring "queries" arrivals = 4 : !sm.ring<64x64xbf16, stages = 1>
    %keys = sm.create_ring "keys" arrivals = 4 : !sm.ring<128x40xbf16, stages = 2>
  }
  return
}

// -----

func.func @too_much(%n: index) {
  // expected-error @+1 {{needs 262208 bytes of shared memory, a block has 232448}}
  sm.grid (%i) in (%n) {
    %keys = sm.create_ring "keys" arrivals = 4 : !sm.ring<128x256xbf16, stages = 4>
  }
  return
}
