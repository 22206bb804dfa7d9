//===- CopyTest.cpp - Bulk copies, bulk stores, cp.async ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/unit/Emulator/Probe.h"

#include <bit>

using namespace tilewright;
using namespace tilewright::emulator;
using namespace tilewright::emulator::test;

namespace {

/// 16 rows of 32 f32 in the buffer `in` (or `out`), boxes of 8 x 32.
TensorMap rows(size_t buffer, Swizzle swizzle = Swizzle::Bytes128) {
  TensorMap map;
  map.dtype = DType::F32;
  map.rank = 2;
  map.buffer = buffer;
  map.dims = {32, 16};
  map.strides = {4, 128};
  map.box = {32, 8};
  map.swizzle = swizzle;
  return map;
}

const std::string onlyThread0 = "setp.ne.u32 %p0, %r0, 0;\n";

/// Thread 0 copies a box to %r1 and signals [%r1+2048]; all wait; each reads its word of row 1.
struct Load {
  std::string init = "mbarrier.init.shared::cta.b64 [%r2], 1;\n",
              fence = "fence.mbarrier_init.release.cluster;\n";
  std::string before, bytes = "1024", coordinates = "0, 0";
  std::string wait = "W: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r2], 0;\n@!%p3 bra W;\n";

  Probe probe() const {
    Probe result;
    result.maps = {rows(1)};
    for (uint32_t i = 0; i < result.in.size(); ++i)
      result.in[i] = i;
    result.body = fmt::format(
        "add.u32 %r2, %r1, 2048;\n{}@%p0 bra READY;\n{}{}READY: bar.sync 0;\n{}"
        "mov.b64 %rd4, map0;\ncvta.param.u64 %rd4, %rd4;\n@%p0 bra ISSUED;\n"
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], {};\n"
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], "
        "[%rd4, {{{}}}], [%r2];\nISSUED:\n{}shl.b32 %r4, %r0, 2;\nxor.b32 %r4, %r4, 16;\n"
        "add.u32 %r4, %r4, %r1;\nld.shared.b32 %r5, [%r4+128];\n{}",
        onlyThread0, init, fence, before, bytes, coordinates, wait, storeResult("%r5"));
    return result;
  }
};

TEST(EmulatorCopy, ATensorCopyLandsSwizzled) {
  Probe probe = Load().probe();
  probe.expectClean(24);
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(probe.out[i], 32 + i); // row 1: chunks are exchanged by XOR 1, undone by the address
}

TEST(EmulatorCopy, PartsOutsideTheTensorAreZero) {
  Load load;
  load.coordinates = "16, -1";
  Probe probe = load.probe();
  probe.expectClean(4);
  EXPECT_EQ(probe.out[3], 16u + 3); // row 0 of the tensor
  EXPECT_EQ(probe.out[20], 0u);
}

TEST(EmulatorCopy, ReadingBeforeTheWaitIsARace) {
  Load load;
  load.wait = "";
  load.probe().expectFinding(FindingKind::Race, "a bulk copy that signals the mbarrier at 3072");
}

TEST(EmulatorCopy, TheBarrierNeedsAnInitFence) {
  Load load;
  load.fence = "";
  load.probe().expectFinding(FindingKind::MissingProxyFence, "without fence.mbarrier_init");
  load.before = "fence.proxy.async;\n";
  load.probe().expectClean();
}

TEST(EmulatorCopy, WrongByteCountsAreFound) {
  Load load;
  load.bytes = "512";
  load.probe().expectFinding(FindingKind::Deadlock, "transaction count -512");
  load.bytes = "2048";
  load.probe().expectFinding(FindingKind::Deadlock, "transaction count 1024");
  // The phase is over before the copy is issued, so the wait says nothing about the copy.
  load.bytes = "0";
  load.probe().expectFinding(FindingKind::Race, "ld.shared.b32 %r5");
}

TEST(EmulatorCopy, ACopyOverOrdinaryDataNeedsOrderAndAFence) {
  Load load;
  load.before = "@!%p0 st.shared.b32 [%r1+64], %r0;\nbar.sync 0;\n";
  load.probe().expectFinding(FindingKind::MissingProxyFence, "after an ordinary write by warp 0");
  load.before = "@!%p0 st.shared.b32 [%r1+64], %r0;\nfence.proxy.async.shared::cta;\nbar.sync 0;\n";
  load.probe().expectClean();
}

TEST(EmulatorCopy, ACopyIsOrderedAfterReads) {
  Load load;
  load.init +=
      "mov.u32 %r9, 0;\nST: add.u32 %r10, %r1, %r9;\nst.shared.b32 [%r10], %r9;\n"
      "add.u32 %r9, %r9, 4;\nsetp.lt.u32 %p4, %r9, 1024;\n@%p4 bra ST;\nfence.proxy.async;\n";
  load.before = "ld.shared.b32 %r9, [%r1];\nbar.warp.sync -1;\n";
  load.probe().expectClean();
  // With a second warp, which reads the same word and tells nobody.
  Probe probe = load.probe();
  probe.threads = 64;
  probe.expectFinding(FindingKind::Race, "ld.shared.b32 %r9");
}

TEST(EmulatorCopy, MapsAndAddressesAreChecked) {
  Load load;
  load.coordinates = "3, 0";
  load.probe().expectFinding(FindingKind::TensorMap, "innermost coordinate 3", 1);
  load = Load();
  load.before = "add.u32 %r1, %r1, 64;\n";
  load.probe().expectFinding(FindingKind::Misaligned, "must be a multiple of 128", 1);
  load.before = "add.u32 %r1, %r1, 3584;\n";
  load.probe().expectFinding(FindingKind::OutOfBounds, "of 1024 bytes at shared address 4608", 1);
  load.before = "add.u32 %r1, %r1, 2048;\n";
  load.probe().expectFinding(FindingKind::Mbarrier, "over an mbarrier", 1);
  Probe probe = Load().probe();
  probe.maps[0].rank = 3;
  probe.maps[0].dims[2] = 1;
  probe.maps[0].strides[2] = 2048;
  probe.maps[0].box[2] = 1;
  probe.expectFinding(FindingKind::TensorMap, "rank 3, the instruction 2", 1);
}

TEST(EmulatorCopy, PlainBulkCopies) {
  Load load;
  Probe probe = load.probe();
  const std::string tensor =
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::"
      "bytes [%r1], [%rd4, {0, 0}], [%r2];";
  const size_t at = probe.body.find(tensor);
  probe.body.replace(
      at, tensor.size(),
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], "
      "1024, [%r2];");
  probe.expectClean();
  EXPECT_EQ(probe.out[4], 32u); // not swizzled
}

/// 32 threads write a box of shared memory, thread 0 stores it to `out`.
struct Store {
  std::string fence = "fence.proxy.async.shared::cta;\n";
  std::string sync = "bar.sync 0;\n";
  std::string instruction =
      "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd4, {0, 8}], [%r1];\n";
  std::string commit = "cp.async.bulk.commit_group;\n";
  std::string wait = "cp.async.bulk.wait_group 0;\n", after;

  Probe probe() const {
    Probe result;
    result.maps = {rows(0, Swizzle::None)};
    result.body = fmt::format(
        "shl.b32 %r2, %r0, 2;\nadd.u32 %r3, %r1, %r2;\nmov.u32 %r4, 0;\nmov.u32 %r6, %r0;\n"
        "FILL: st.shared.b32 [%r3], %r6;\nadd.u32 %r3, %r3, 128;\nadd.u32 %r6, %r6, 100;\n"
        "add.u32 %r4, %r4, 1;\nsetp.lt.u32 %p1, %r4, 8;\n@%p1 bra FILL;\n{}{}"
        "mov.b64 %rd4, map0;\n{}@%p0 bra ISSUED;\n{}{}{}{}ISSUED:\n",
        fence, sync, onlyThread0, instruction, commit, wait, after);
    return result;
  }
};

TEST(EmulatorStore, ATensorReductionAdds) {
  Store store;
  // Whole numbers as f32, added twice.
  store.instruction = "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group "
                      "[%rd4, {0, 8}], [%r1];\n";
  store.instruction += store.instruction;
  Probe probe = store.probe();
  const std::string fill = "FILL: st.shared.b32 [%r3], %r6;";
  probe.body.replace(probe.body.find(fill), fill.size(),
                     "FILL: cvt.rn.f32.u32 %f1, %r6;\nst.shared.f32 [%r3], %f1;");
  for (uint32_t i = 0; i < 256; ++i)
    probe.out[256 + i] = std::bit_cast<uint32_t>(1.0f);
  probe.expectClean(8); // each seed on what the one before left
  for (uint32_t i = 0; i < 256; ++i)
    EXPECT_EQ(std::bit_cast<float>(probe.out[256 + i]),
              1.0f + 8 * 2.0f * static_cast<float>(i / 32 * 100 + i % 32));
}

TEST(EmulatorStore, ATensorStoreArrives) {
  Probe probe = Store().probe();
  probe.expectClean(24);
  for (uint32_t i = 0; i < 256; ++i)
    EXPECT_EQ(probe.out[256 + i], i / 32 * 100 + i % 32);
}

TEST(EmulatorStore, OrdinaryWritesNeedAProxyFenceAndABarrier) {
  Store store;
  store.fence = "";
  store.probe().expectFinding(FindingKind::MissingProxyFence, "bulk store reads");
  Store unsynced;
  unsynced.sync = "";
  Probe probe = unsynced.probe();
  probe.threads = 64; // warp 1 writes the same words: a race of stores or with the bulk store
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    probe.options.seed = seed;
    Result<Outcome> outcome = probe.run();
    ASSERT_TRUE(outcome && outcome->finding);
    EXPECT_EQ(outcome->finding->kind, FindingKind::Race);
  }
}

TEST(EmulatorStore, SharedMemoryIsReusedAfterTheReadWait) {
  Store store;
  store.wait = "cp.async.bulk.wait_group.read 0;\n";
  store.after = "st.shared.b32 [%r1], 7;\n";
  Probe probe = store.probe();
  probe.expectClean(24);
  EXPECT_EQ(probe.out[256], 0u);
  store.wait = "";
  store.probe().expectFinding(FindingKind::Race, "not ordered after the read by a bulk store");
  store.wait = "cp.async.bulk.wait_group.read 1;\n";
  store.probe().expectFinding(FindingKind::Race, "bulk store");
}

TEST(EmulatorStore, EndingBeforeTheReadIsUnfinishedWork) {
  Store store;
  store.wait = "";
  Probe probe = store.probe();
  bool found = false;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    probe.options.seed = seed;
    Result<Outcome> outcome = probe.run();
    ASSERT_TRUE(outcome);
    found |= outcome->finding && outcome->finding->kind == FindingKind::Unfinished;
  }
  EXPECT_TRUE(found);
}

TEST(EmulatorStore, ReductionsAddAndInputsStayInputs) {
  Store store;
  store.instruction =
      "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%rd0], [%r1], 128;\n";
  Probe probe = store.probe();
  probe.options.seed = 2;
  probe.out[1] = std::bit_cast<uint32_t>(1.5f);
  Result<Outcome> outcome = probe.run();
  ASSERT_TRUE(outcome) << outcome.error().message();
  ASSERT_FALSE(outcome->finding) << toText(*outcome->finding);
  EXPECT_EQ(std::bit_cast<float>(probe.out[1]), 1.5f + std::bit_cast<float>(1u));
  probe = Store().probe();
  probe.maps[0].buffer = 1;
  probe.expectFinding(FindingKind::ReadOnly, "'in'", 1);
}

/// Every thread copies 16 bytes to shared memory and reads them.
Probe asyncCopy(const std::string &between, const std::string &tail = "") {
  Probe probe;
  for (uint32_t i = 0; i < probe.in.size(); ++i)
    probe.in[i] = i + 1;
  probe.body = "mul.wide.u32 %rd2, %r0, 16;\nadd.s64 %rd3, %rd1, %rd2;\nshl.b32 %r2, %r0, 4;\n"
               "add.u32 %r3, %r1, %r2;\ncp.async.cg.shared.global [%r3], [%rd3], 16;\n" +
               between + "ld.shared.b32 %r4, [%r3+4];\n" + storeResult("%r4") + tail;
  return probe;
}

TEST(EmulatorAsyncCopy, AGroupIsWaitedFor) {
  Probe probe = asyncCopy("cp.async.commit_group;\ncp.async.wait_group 0;\n");
  probe.expectClean(24);
  EXPECT_EQ(probe.out[3], 3u * 4 + 2);
  asyncCopy("cp.async.wait_all;\n").expectClean();
  asyncCopy("cp.async.commit_group;\n", "cp.async.wait_all;\n")
      .expectFinding(FindingKind::Race, "a cp.async of warp 0");
  asyncCopy("cp.async.commit_group;\ncp.async.wait_group 1;\n", "cp.async.wait_all;\n")
      .expectFinding(FindingKind::Race, "a cp.async of warp 0");
}

TEST(EmulatorAsyncCopy, FewerSourceBytesLeaveZeros) {
  Probe probe;
  probe.in[0] = 5;
  probe.in[1] = 6;
  probe.body = "cp.async.ca.shared.global [%r1], [%rd1], 16, 4;\ncp.async.wait_all;\n"
               "ld.shared.v2.b32 {%r4, %r5}, [%r1];\nadd.u32 %r4, %r4, %r5;\n" +
               storeResult("%r4");
  probe.body = "setp.ne.u32 %p0, %r0, 0;\n@%p0 ret;\n" + probe.body;
  probe.expectClean(4);
  EXPECT_EQ(probe.out[0], 5u);
}

} // namespace
