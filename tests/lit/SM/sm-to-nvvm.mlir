// RUN: tilewright-opt %s -split-input-file -verify-diagnostics --sm-plan-shared-memory \
// RUN:   --convert-sm-to-nvvm --canonicalize --cse --mlir-print-local-scope | FileCheck %s

!tensor = memref<?x64xbf16, strided<[?, 1], offset: ?>>
!ring = !sm.ring<64x64xbf16, stages = 3>

// Only what the kernel uses becomes a parameter.
// CHECK-LABEL: llvm.func @copy(
// CHECK-SAME: %{{[a-z0-9]*}}: i64, %[[MAP:[a-z0-9]*]]: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant}
// CHECK-SAME: nvvm.kernel
// CHECK-SAME: nvvm.minctasm = 1
// CHECK-SAME: nvvm.reqntid = array<i32: 256, 1, 1>
// CHECK-SAME: sm.launch = #sm.launch<function = (memref<?x64xbf16, strided<[?, 1], offset: ?>>) -> (), names = ["rows"]
// CHECK-SAME: grid = ()[s0] -> ((s0 + 63) floordiv 64, 1), extents = [#sm.parameter<kind = extent, argument = 0>]
// CHECK-SAME: parameters = [#sm.parameter<kind = extent, argument = 0>, #sm.parameter<kind = tensor_map, argument = 0, detail = 64>]
// CHECK-SAME: threads = 256, shared_memory = 24624
// CHECK-COUNT-6: mbarrier.init.shared::cta.b64
// CHECK: nvvm.fence.mbarrier.init
// CHECK: nvvm.barrier
// A producer starts at stage 0 with parity 1, as if the round before were over, and carries both.
// CHECK: nvvm.setmaxregister decrease 24
// CHECK: scf.for %{{.*}} iter_args(%[[STAGE:.*]] = %c0_i32, %[[PARITY:.*]] = %c1_i32) -> (i32, i32)
// CHECK: mbarrier.try_wait.parity{{.*}} %{{.*}}, %[[PARITY]]
// CHECK: %[[NEXT:.*]] = arith.addi %[[STAGE]], %c1_i32
// CHECK: %[[WRAPS:.*]] = arith.cmpi eq, %[[NEXT]], %c3_i32
// CHECK: %[[TURNED:.*]] = arith.xori %[[PARITY]], %c1_i32
// CHECK: arith.select %[[WRAPS]], %c0_i32, %[[NEXT]]
// CHECK: arith.select %[[WRAPS]], %[[TURNED]], %[[PARITY]]
// CHECK: mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [$0], 8192;
// CHECK: cp.async.bulk.tensor.2d{{.*}} %[[MAP]]
// CHECK: mbarrier.arrive.shared::cta.b64 _
// A consumer starts with parity 0.
// CHECK: scf.for %{{.*}} iter_args(%{{.*}} = %c0_i32, %{{.*}} = %c0_i32) -> (i32, i32)
// CHECK: mbarrier.try_wait.parity
// CHECK: setp.eq.b32 p, $1, 0;{{.*}}@p mbarrier.arrive
func.func @copy(%t: !tensor {attn.name = "rows"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c63 = arith.constant 63 : index
  %c64 = arith.constant 64 : index
  %n = memref.dim %t, %c0 : !tensor
  %last = arith.addi %n, %c63 : index
  %blocks = arith.divui %last, %c64 : index
  sm.grid (%i, %one) in (%blocks, %c1) {
    %ring = sm.create_ring "rows" arrivals = 4 : !ring
    sm.producer "loads" registers = 24 {
      scf.for %j = %c0 to %n step %c1 {
        %a = sm.acquire %ring : !ring
        sm.copy %t[%j], %a : !tensor, !sm.shared<64x64xbf16>
        sm.commit %a : !sm.shared<64x64xbf16>
      }
    }
    sm.consumers "reads" warpgroups = 1 registers = 240 (%w) {
      scf.for %j = %c0 to %n step %c1 {
        %k = sm.wait %ring : !ring
        sm.release %k : !sm.shared<64x64xbf16>
      }
    }
  }
  return
}

// -----

// Rows at no multiple of 16 bytes are copied by the role's whole warp, which shows its writes to the
// tensor cores and meets before one lane commits. Nothing is expected from the copy engine.
// CHECK-LABEL: llvm.func @copy_by_threads(
// CHECK: mbarrier.try_wait.parity
// CHECK-NOT: expect_tx
// CHECK: scf.for
// CHECK-COUNT-8: llvm.load %{{.*}} : !llvm.ptr<1> -> i16
// CHECK-COUNT-4: st.shared.b32
// CHECK: fence.proxy.async.shared::cta;
// CHECK: nvvm.bar.warp.sync
// CHECK: @p mbarrier.arrive
!odd = memref<?x33xbf16, strided<[?, 1], offset: ?>>
!odd_ring = !sm.ring<64x40xbf16, stages = 2>
func.func @copy_by_threads(%t: !odd {attn.name = "rows"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  sm.grid (%i) in (%c1) {
    %ring = sm.create_ring "rows" arrivals = 4 : !odd_ring
    sm.producer "loads" registers = 72 {
      %a = sm.acquire %ring : !odd_ring
      sm.copy %t[%c0], %a : !odd, !sm.shared<64x40xbf16>
      sm.commit %a : !sm.shared<64x40xbf16>
    }
    sm.consumers "reads" warpgroups = 1 registers = 216 (%w) {
      %k = sm.wait %ring : !odd_ring
      sm.release %k : !sm.shared<64x40xbf16>
    }
  }
  return
}

// -----

// A later product may stay in flight while an earlier one is awaited, and a release can be held back
// until a row is computed.
// CHECK-LABEL: llvm.func @overlap(
// CHECK: wgmma.fence.sync.aligned
// CHECK-COUNT-4: wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16
// CHECK: nvvm.wgmma.commit.group.sync.aligned
// CHECK-COUNT-4: wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16
// CHECK: nvvm.wgmma.commit.group.sync.aligned
// CHECK: wgmma.wait_group.sync.aligned 1;
// CHECK: setp.ne.and.b32 p, $2, 0xff800001, p;
// CHECK: wgmma.wait_group.sync.aligned 0;
func.func @overlap(%n: i32, %o: memref<?x64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  sm.grid (%i) in (%c1) {
    %ring = sm.create_ring "rows" arrivals = 4 : !sm.ring<64x64xf16, stages = 1>
    sm.consumers "reads" warpgroups = 1 registers = 240 (%w) {
      %k = sm.wait %ring : !sm.ring<64x64xf16, stages = 1>
      %f = sm.mma %k from %c0, %k {transpose_rhs} : !sm.shared<64x64xf16>, !sm.shared<64x64xf16> -> !sm.in_flight<tensor<64x64xf32, #sm.accumulator>>
      %g = sm.mma %k from %c0, %k {transpose_rhs} : !sm.shared<64x64xf16>, !sm.shared<64x64xf16> -> !sm.in_flight<tensor<64x64xf32, #sm.accumulator>>
      %s = sm.await %f : !sm.in_flight<tensor<64x64xf32, #sm.accumulator>>
      %m, %l = sm.softmax_init : tensor<64xf32, #sm.row>, tensor<64xf32, #sm.partial_row>
      %p, %m1, %l1, %alpha = sm.softmax_step %s, %m, %l : tensor<64x64xf32, #sm.accumulator>
      sm.release %k after(%l1 : tensor<64xf32, #sm.partial_row>) : !sm.shared<64x64xf16>
      %t, %p1 = sm.await %g hold(%p : tensor<64x64xf32, #sm.accumulator>) : !sm.in_flight<tensor<64x64xf32, #sm.accumulator>>
      %sum = arith.addf %t, %p1 : tensor<64x64xf32, #sm.accumulator>
      sm.store %sum, %o[%c0] : tensor<64x64xf32, #sm.accumulator>, memref<?x64xf32>
    }
  }
  return
}

// -----

func.func @math(%x: f32, %o: memref<?x64xf32>) {
  %c1 = arith.constant 1 : index
  sm.grid (%i) in (%c1) {
    // expected-error @+1 {{has no lowering to NVVM}}
    %y = math.sin %x : f32
  }
  return
}

// -----

// Whoever launches a kernel computes the grid: its bounds are formulas, not code.
func.func @minimum(%t: memref<?x64xbf16>) {
  %c0 = arith.constant 0 : index
  %c7 = arith.constant 7 : index
  %n = memref.dim %t, %c0 : memref<?x64xbf16>
  // expected-error @+1 {{is in a bound of a grid; bounds are sums, differences, products and quotients of extents and numbers}}
  %m = arith.minsi %n, %c7 : index
  sm.grid (%i) in (%m) {
    sm.consumers "idle" warpgroups = 1 registers = 240 (%w) {
    }
  }
  return
}

// -----

func.func @scalar(%n: i32) {
  // expected-error @+1 {{is in a bound of a grid}}
  %m = arith.index_cast %n : i32 to index
  sm.grid (%i) in (%m) {
    sm.consumers "idle" warpgroups = 1 registers = 240 (%w) {
    }
  }
  return
}
