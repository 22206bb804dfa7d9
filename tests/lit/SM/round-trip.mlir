// What is printed parses back to the same, and a program written by hand keeps its protocol.
// RUN: tilewright-opt %S/Inputs/forward.sm.mlir -o %t.1
// RUN: tilewright-opt %t.1 -o %t.2
// RUN: diff %t.1 %t.2
// RUN: tilewright-opt %t.1 --sm-verify-protocol --mlir-print-local-scope | FileCheck %s

// CHECK: sm.grid (%{{.*}}, %{{.*}}, %{{.*}}) in (%{{.*}}, %{{.*}}, %{{.*}}) {
// CHECK: %[[KEYS:.*]] = sm.create_ring "keys" arrivals = 8 : !sm.ring<128x128xbf16, stages = 2>
// CHECK: sm.producer "keys" registers = 24 {
// CHECK: %[[STAGE:.*]] = sm.acquire %[[KEYS]] : !sm.ring<128x128xbf16, stages = 2>
// CHECK: sm.copy %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}], %[[STAGE]]
// CHECK: sm.commit %[[STAGE]] : !sm.shared<128x128xbf16>
// CHECK: sm.consumers "softmax" warpgroups = 2 registers = 240 (%{{.*}}) {
// CHECK: sm.softmax_init : tensor<64xf32, #sm.row>, tensor<64xf32, #sm.partial_row>
// CHECK: %[[K:.*]] = sm.wait %[[KEYS]]
// CHECK: %[[FLIGHT:.*]] = sm.mma %{{.*}} from %{{.*}}, %[[K]] {transpose_rhs} : !sm.shared<128x128xbf16>, !sm.shared<128x128xbf16> -> !sm.in_flight<tensor<64x128xf32, #sm.accumulator>>
// CHECK: sm.await %[[FLIGHT]] : !sm.in_flight<tensor<64x128xf32, #sm.accumulator>>
// CHECK: sm.release %[[K]]
// CHECK: sm.softmax_step %{{.*}}, %{{.*}}, %{{.*}} : tensor<64x128xf32, #sm.accumulator>
// CHECK: sm.rescale
// CHECK: %[[P:.*]] = sm.pack %{{.*}} : tensor<64x128xf32, #sm.accumulator> -> tensor<64x128xbf16, #sm.operand>
// CHECK: sm.mma %[[P]], %{{.*}} acc %{{.*}}
// CHECK: sm.softmax_finalize
// CHECK: sm.store
