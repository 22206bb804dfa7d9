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
