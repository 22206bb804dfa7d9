// What ptxas makes of it passes the gate: no stack frame, no spills, no product put behind another.
// REQUIRES: ptxas
// RUN: tilewright-ptx %S/../SM/Inputs/forward.sm.mlir --emit=cubin -o %t.cubin 2>&1 | FileCheck %s
// CHECK: forward: 168 registers at launch
// RUN: not tilewright-ptx %S/../SM/Inputs/forward.sm.mlir --emit=cubin --ptxas=%t.nothing 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: error: ptxas: {{.*}} is no program
