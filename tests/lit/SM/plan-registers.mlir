// RUN: tilewright-opt %s --sm-plan-registers --sm-verify-protocol | FileCheck %s

// The producers' warpgroup keeps 24 registers a thread; consumers share the rest in steps of 8.
// CHECK: sm.producer "loads" registers = 24
// CHECK: sm.consumers "three" warpgroups = 3 registers = 160
func.func @three(%n: index) {
  sm.grid (%i) in (%n) {
    sm.producer "loads" registers = 128 {
    }
    sm.consumers "three" warpgroups = 3 registers = 128 (%w) {
    }
  }
  return
}

// A warp that copies itself needs more.
// CHECK: sm.producer "loads" registers = 72
// CHECK: sm.consumers "copied" warpgroups = 2 registers = 216
func.func @copied(%n: index, %t: memref<?x33xbf16, strided<[?, 1], offset: ?>>) {
  sm.grid (%i) in (%n) {
    %ring = sm.create_ring "rows" arrivals = 8 : !sm.ring<64x40xbf16, stages = 1>
    sm.producer "loads" registers = 168 {
      %a = sm.acquire %ring : !sm.ring<64x40xbf16, stages = 1>
      sm.copy %t[%i], %a : memref<?x33xbf16, strided<[?, 1], offset: ?>>, !sm.shared<64x40xbf16>
      sm.commit %a : !sm.shared<64x40xbf16>
    }
    sm.consumers "copied" warpgroups = 2 registers = 168 (%w) {
      %k = sm.wait %ring : !sm.ring<64x40xbf16, stages = 1>
      sm.release %k : !sm.shared<64x40xbf16>
    }
  }
  return
}

// CHECK: sm.producer "loads" registers = 24
// CHECK: sm.consumers "two" warpgroups = 2 registers = 240
func.func @two(%n: index) {
  sm.grid (%i) in (%n) {
    sm.producer "loads" registers = 168 {
    }
    sm.consumers "two" warpgroups = 2 registers = 168 (%w) {
    }
  }
  return
}
