//===- RaceTest.cpp - Race rules of shared memory and named barriers ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/unit/Emulator/Probe.h"

using namespace tilewright;
using namespace tilewright::emulator;
using namespace tilewright::emulator::test;

namespace {

/// Two warps; %p1 is true in warp 1, %r2 = 4 * (thread % 32).
Probe twoWarps(const std::string &body) {
  Probe probe;
  probe.threads = 64;
  probe.body = "setp.ge.u32 %p1, %r0, 32;\nand.b32 %r2, %r0, 31;\nshl.b32 %r2, %r2, 2;\n"
               "add.u32 %r3, %r1, %r2;\n" +
               body;
  return probe;
}

TEST(EmulatorRace, AReadIsOrderedAfterTheWrite) {
  twoWarps("@!%p1 st.shared.b32 [%r3], %r0;\nbar.sync 0;\n@%p1 ld.shared.b32 %r4, [%r3];")
      .expectClean();
  Probe racy = twoWarps("mov.u32 %r5, 1;\nst.shared.b32 [%r3+512], %r5;\n@!%p1 bra A;\nbra B;\n"
                        "A: st.shared.b32 [%r3], %r0;\nB: @%p1 ld.shared.b32 %r4, [%r3];");
  // Both warps write [%r3+512], which is found first, or the read finds nothing written.
  racy.options.seed = 1;
  Result<Outcome> outcome = racy.run();
  ASSERT_TRUE(outcome && outcome->finding);
}

TEST(EmulatorRace, ReadAfterWriteNamesBothLines) {
  // Warp 1 spins on an atomic flag: atomics order nothing, so the data race is seen by every seed.
  Probe probe = twoWarps(
      "setp.eq.u32 %p2, %r0, 0;\nadd.u32 %r6, %r1, 2048;\n@%p2 st.shared.b32 [%r6], 0;\nbar.sync "
      "0;\n"
      "@%p1 bra READ;\nst.shared.b32 [%r3], %r0;\nbar.warp.sync -1;\n"
      "@%p2 atom.shared.exch.b32 %r7, [%r6], 1;\nret;\n"
      "READ: atom.shared.add.u32 %r7, [%r6], 0;\nsetp.eq.u32 %p3, %r7, 0;\n@%p3 bra READ;\n"
      "ld.shared.b32 %r4, [%r3];");
  probe.expectFinding(FindingKind::Race, "st.shared.b32 [%r3], %r0;");
  probe.expectFinding(FindingKind::Race, "ld.shared.b32 %r4, [%r3];");
}

TEST(EmulatorRace, AWriteIsOrderedAfterReads) {
  const std::string fill = "@!%p1 st.shared.b32 [%r3], %r0;\nbar.sync 0;\n"
                           "@%p1 ld.shared.b32 %r4, [%r3];\n";
  twoWarps(fill + "bar.sync 0;\n@!%p1 st.shared.b32 [%r3], %r0;").expectClean();
  twoWarps(fill + "@!%p1 st.shared.b32 [%r3], %r0;").expectFinding(FindingKind::Race, "");
}

TEST(EmulatorRace, LanesOfAWarpAreOrderedByWarpSyncAlone) {
  Probe probe;
  const std::string write =
      "shl.b32 %r2, %r0, 2;\nadd.u32 %r3, %r1, %r2;\nst.shared.b32 [%r3], %r0;\n";
  const std::string read = "xor.b32 %r4, %r3, 4;\nld.shared.b32 %r5, [%r4];";
  probe.body = write + "bar.warp.sync -1;\n" + read;
  probe.expectClean();
  probe.body = write + read;
  probe.expectFinding(FindingKind::Race, "not ordered after the write by warp 0");
  probe.body = write + "shfl.sync.bfly.b32 %r6, %r0, 1, 31, -1;\n" + read;
  probe.expectFinding(FindingKind::Race, "", 4);
}

TEST(EmulatorRace, PartsOfAWordAreBytesOfTheirOwn) {
  Probe probe;
  const std::string write = "shl.b32 %r2, %r0, 1;\nadd.u32 %r3, %r1, %r2;\ncvt.u16.u32 %h0, %r0;\n"
                            "st.shared.b16 [%r3], %h0;\n";
  probe.body = write + "ld.shared.u16 %h1, [%r3];\nst.shared.b16 [%r3], %h1;\n";
  probe.expectClean();
  probe.body = write + "xor.b32 %r4, %r3, 2;\nld.shared.u16 %h1, [%r4];";
  probe.expectFinding(FindingKind::Race, "not ordered after the write by warp 0");
  // The lane that wrote last does not hide the one before it.
  probe.body = write + "and.b32 %r4, %r3, -4;\nsetp.ne.u32 %p0, %r0, 1;\n@%p0 bra DONE;\n"
                       "ld.shared.b32 %r5, [%r4];\nDONE:";
  probe.expectFinding(FindingKind::Race, "not ordered after the write by warp 0");
  probe.body = write + "bar.warp.sync -1;\nxor.b32 %r4, %r3, 2;\nld.shared.u16 %h1, [%r4];\n"
                       "st.shared.b16 [%r3], %h0;";
  probe.expectFinding(FindingKind::Race, "not ordered after the read by warp 0");
  probe.body = write + "bar.warp.sync -1;\nand.b32 %r4, %r3, -4;\nld.shared.b32 %r5, [%r4];";
  probe.expectClean();
}

TEST(EmulatorRace, AReleaseOfSomeLanesPublishesTheirOwnAccesses) {
  const std::string begin =
      "setp.eq.u32 %p2, %r0, 0;\nadd.u32 %r6, %r1, 2048;\n"
      "@%p2 mbarrier.init.shared::cta.b64 [%r6], 1;\nbar.sync 0;\n@%p1 bra READ;\n"
      "st.shared.b32 [%r3], %r0;\n";
  const std::string end = "@%p2 mbarrier.arrive.shared::cta.b64 _, [%r6];\nret;\n"
                          "READ: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r6], 0;\n"
                          "@!%p3 bra READ;\nld.shared.b32 %r4, [%r3];";
  twoWarps(begin + "bar.warp.sync -1;\n" + end).expectClean();
  twoWarps(begin + end).expectFinding(FindingKind::Race, "ld.shared.b32 %r4");
}

TEST(EmulatorRace, SharedAtomicsDoNotRaceWithEachOther) {
  Probe probe =
      twoWarps("setp.eq.u32 %p2, %r0, 0;\n@%p2 st.shared.b32 [%r1], 0;\nbar.sync 0;\n"
               "atom.shared.add.u32 %r4, [%r1], 1;\nbar.sync 0;\nld.shared.b32 %r5, [%r1];\n" +
               storeResult("%r5"));
  probe.expectClean();
  EXPECT_EQ(probe.out[0], 64u);
  twoWarps("setp.eq.u32 %p2, %r0, 0;\n@%p2 st.shared.b32 [%r1], 0;\nbar.sync 0;\n"
           "atom.shared.add.u32 %r4, [%r1], 1;\nld.shared.b32 %r5, [%r1];")
      .expectFinding(FindingKind::Race, "");
}

TEST(EmulatorRace, RaceChecksCanBeTurnedOff) {
  Probe probe;
  probe.body = "shl.b32 %r2, %r0, 2;\nadd.u32 %r3, %r1, %r2;\nst.shared.b32 [%r3], %r0;\n"
               "xor.b32 %r4, %r3, 4;\nld.shared.b32 %r5, [%r4];";
  probe.options.checkRaces = false;
  probe.expectClean();
}

TEST(EmulatorNamedBarrier, ArriveAndSyncOrderAccesses) {
  twoWarps("@%p1 bra READ;\nst.shared.b32 [%r3], %r0;\nbar.arrive 1, 64;\nret;\n"
           "READ: bar.sync 1, 64;\nld.shared.b32 %r4, [%r3];")
      .expectClean();
}

TEST(EmulatorNamedBarrier, CountsMustAgree) {
  twoWarps("@%p1 bra B;\nbar.sync 1, 64;\nret;\nB: bar.sync 1, 32;")
      .expectFinding(FindingKind::NamedBarrier, "at an earlier arrival", 1);
  twoWarps("bar.sync 16;").expectFinding(FindingKind::NamedBarrier, "named barrier 16", 1);
  twoWarps("bar.sync 1, 40;").expectFinding(FindingKind::NamedBarrier, "with 40 threads", 1);
  twoWarps("bar.sync 1, 128;").expectFinding(FindingKind::NamedBarrier, "the block has 64", 1);
  twoWarps("@%p1 ret;\nbar.arrive 1, 64;\nbar.arrive 1, 64;")
      .expectFinding(FindingKind::NamedBarrier, "arrives twice in one round", 1);
}

TEST(EmulatorNamedBarrier, WaitingForNobodyIsADeadlockWithEveryWarp) {
  twoWarps("@%p1 ret;\nbar.sync 1, 64;")
      .expectFinding(FindingKind::Deadlock, "named barrier 1 (32 of 64 threads)");
}

TEST(EmulatorNamedBarrier, ALeftoverArrivalIsARemark) {
  Probe probe = twoWarps("@%p1 ret;\nbar.arrive 1, 64;");
  Result<Outcome> outcome = probe.run();
  ASSERT_TRUE(outcome && !outcome->finding);
  ASSERT_EQ(outcome->remarks.size(), 1u);
  EXPECT_NE(outcome->remarks[0].find("32 threads arrived at named barrier 1"), std::string::npos);
}

TEST(EmulatorSetmaxnreg, TheRegistersOfABlockAreAPool) {
  Probe probe;
  probe.threads = 256; // 65536 / 256 = 256, which a launch caps at 248
  probe.body =
      "setp.ge.u32 %p1, %r0, 128;\n@%p1 bra B;\nsetmaxnreg.dec.sync.aligned.u32 232;\nret;\n"
      "B: setmaxnreg.inc.sync.aligned.u32 256;";
  probe.expectClean();
  probe.body = "setp.ge.u32 %p1, %r0, 128;\n@%p1 bra B;\nret;\n"
               "B: setmaxnreg.inc.sync.aligned.u32 256;";
  probe.expectFinding(FindingKind::Deadlock, "registers (0 in the pool)");
  probe.body = "setmaxnreg.dec.sync.aligned.u32 20;";
  probe.expectFinding(FindingKind::Registers, "multiple of 8 from 24 to 256", 1);
  probe.body = "setmaxnreg.inc.sync.aligned.u32 24;";
  probe.expectFinding(FindingKind::Registers, "inc to 24 with 248", 1);
}

} // namespace
