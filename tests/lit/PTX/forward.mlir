// The hand-written program as PTX: what a reader of it should find.
// RUN: tilewright compile %S/../SM/Inputs/forward.sm.mlir --target sm_90a --from=sm --emit=ptx -o %t.ptx
// RUN: FileCheck %s --input-file=%t.ptx

// How it is launched stands in front.
// CHECK: // module attributes {sm.kernel = "forward", sm.launch = #sm.launch<
// CHECK-SAME: names = ["query", "key", "value", "out", "lse", "scale"]
// CHECK-SAME: grid = ()[s0, s1, s2] -> (s0, s1, (s2 + 127) floordiv 128)
// CHECK-SAME: #sm.parameter<kind = tensor_map, argument = 0, detail = 128>
// CHECK-SAME: #sm.parameter<kind = scalar, argument = 5>
// CHECK-SAME: threads = 384, shared_memory = 163920,
// CHECK-SAME: #sm.ring_place<name = "queries", stages = 1, stage_bytes = 32768, offset = 0, barriers = 163840>
// CHECK-SAME: #sm.ring_place<name = "keys", stages = 2, stage_bytes = 32768, offset = 32768, barriers = 163856>
// CHECK-SAME: #sm.ring_place<name = "values", stages = 2, stage_bytes = 32768, offset = 98304, barriers = 163888>
// CHECK: .target sm_90a
// CHECK: .visible .entry forward(
// CHECK: .reqntid 384
// CHECK: .minnctapersm 1
// No local memory: all that a thread holds is in registers.
// CHECK-NOT: .local
// CHECK: mbarrier.init.shared::cta.b64 [{{.*}}], 1;
// CHECK: fence.mbarrier_init.release.cluster;
// CHECK: setmaxnreg.dec.sync.aligned.u32 24;
// CHECK: mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [{{.*}}], 32768;
// CHECK-COUNT-2: cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes
// CHECK: mbarrier.arrive.shared::cta.b64 _,
// CHECK: setmaxnreg.inc.sync.aligned.u32 240;
// The first product of a block clears its accumulator, the others add; then values with weights in
// registers.
// CHECK: wgmma.fence.sync.aligned;
// CHECK: setp.ne.b32 p, 0, 0;
// CHECK-NEXT: wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {{.*}}, p, 1, 1, 0, 0;
// CHECK: setp.ne.b32 p, 1, 0;
// CHECK-COUNT-7: wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {{.*}}, p, 1, 1, 0, 0;
// CHECK: wgmma.commit_group.sync.aligned;
// CHECK: wgmma.wait_group.sync.aligned 0;
// CHECK: shfl.sync.bfly.b32
// CHECK: ex2.approx.ftz.f32
// CHECK: cvt.rn.bf16x2.f32
// CHECK-COUNT-8: wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {{.*}}, {{{.*}}}, {{.*}}, p, 1, 1, 1;
