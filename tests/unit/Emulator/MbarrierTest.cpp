//===- MbarrierTest.cpp - Counts, phases and rules of mbarriers -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/unit/Emulator/Probe.h"

using namespace tilewright;
using namespace tilewright::emulator;
using namespace tilewright::emulator::test;

namespace {

/// Warp 0 produces a word in [%r1+64], warp 1 consumes it, `rounds` times, through the barriers
/// full [%r1] and empty [%r1+8]. Parts of the protocol can be replaced.
struct Ring {
  std::string initialize = "mbarrier.init.shared::cta.b64 [%r1], 1;\n"
                           "mbarrier.init.shared::cta.b64 [%r1+8], 1;\n";
  std::string waitEmpty = wait("%r1+8", "%r11", "E");
  std::string waitFull = wait("%r1", "%r12", "F");
  std::string produce =
      "st.shared.b32 [%r1+64], %r10;\nmbarrier.arrive.shared::cta.b64 _, [%r1];\n";
  std::string consume = "ld.shared.b32 %r13, [%r1+64];\nadd.u32 %r14, %r14, %r13;\n"
                        "mbarrier.arrive.shared::cta.b64 _, [%r1+8];\n";
  std::string producerParity = "1", consumerFlip = "xor.b32 %r12, %r12, 1;\n";
  int rounds = 6;

  static std::string wait(const std::string &barrier, const std::string &parity,
                          const std::string &label) {
    return fmt::format("{0}: mbarrier.try_wait.parity.shared::cta.b64 %p3, [{1}], {2};\n"
                       "@!%p3 bra {0};\n",
                       label, barrier, parity);
  }

  Probe probe() const {
    Probe result;
    result.threads = 64;
    result.body = fmt::format(
        "setp.ne.u32 %p0, %r0, 0;\n@%p0 bra READY;\n{}READY: bar.sync 0;\n"
        "mov.u32 %r10, 1;\nmov.u32 %r11, {};\nmov.u32 %r12, 0;\nmov.u32 %r14, 0;\n"
        "and.b32 %r15, %r0, 31;\nsetp.ne.u32 %p1, %r15, 0;\n@%p1 ret;\n"
        "setp.ge.u32 %p2, %r0, 32;\n@%p2 bra CONSUMER;\n"
        "PRODUCER: {}{}xor.b32 %r11, %r11, 1;\nadd.u32 %r10, %r10, 1;\n"
        "setp.le.u32 %p4, %r10, {};\n@%p4 bra PRODUCER;\nret;\n"
        "CONSUMER: {}{}{}add.u32 %r10, %r10, 1;\nsetp.le.u32 %p4, %r10, {};\n@%p4 bra CONSUMER;\n"
        "st.global.b32 [%rd0], %r14;\n",
        initialize, producerParity, waitEmpty, produce, rounds, waitFull, consume, consumerFlip,
        rounds);
    return result;
  }
};

TEST(EmulatorMbarrier, ARingDeliversEveryValueUnderAnySchedule) {
  Probe probe = Ring().probe();
  probe.expectClean(24);
  EXPECT_EQ(probe.out[0], 21u);
}

TEST(EmulatorMbarrier, ATestMayStandWhereATrialDoes) {
  Ring ring;
  for (std::string *wait : {&ring.waitEmpty, &ring.waitFull})
    wait->replace(wait->find("try_wait"), 8, "test_wait");
  Probe probe = ring.probe();
  probe.expectClean(24);
  EXPECT_EQ(probe.out[0], 21u);
}

TEST(EmulatorMbarrier, AMissingWaitForEmptyIsFoundByEverySeed) {
  Ring ring;
  ring.waitEmpty = "";
  ring.probe().expectFinding(FindingKind::Race, "", 24);
}

TEST(EmulatorMbarrier, AMissingWaitForFullIsFoundByEverySeed) {
  // What is seen first depends on the schedule: the read, or the release.
  Ring ring;
  ring.waitFull = "";
  Probe probe = ring.probe();
  for (uint64_t seed = 1; seed <= 24; ++seed) {
    probe.options.seed = seed;
    Result<Outcome> outcome = probe.run();
    ASSERT_TRUE(outcome && outcome->finding) << seed;
  }
}

TEST(EmulatorMbarrier, WrongParitiesDeadlock) {
  Ring ring;
  ring.producerParity = "0";
  ring.probe().expectFinding(FindingKind::Deadlock,
                             "the mbarrier at 1032, parity 0 (its phase is 0");
  ring = Ring();
  ring.consumerFlip = "";
  Probe probe = ring.probe();
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    probe.options.seed = seed;
    Result<Outcome> outcome = probe.run();
    ASSERT_TRUE(outcome && outcome->finding) << seed;
  }
}

TEST(EmulatorMbarrier, AnArrivalBeyondTheCountIsFound) {
  Ring ring;
  ring.produce = "st.shared.b32 [%r1+64], %r10;\nmbarrier.arrive.shared::cta.b64 _, [%r1], 2;\n";
  ring.probe().expectFinding(FindingKind::Mbarrier, "arrival of 2 at the mbarrier at 1024");
}

TEST(EmulatorMbarrier, ATooHighCountIsSeenAtTheSecondArrival) {
  Ring ring;
  ring.initialize = "mbarrier.init.shared::cta.b64 [%r1], 2;\n"
                    "mbarrier.init.shared::cta.b64 [%r1+8], 1;\n";
  ring.produce += "mbarrier.arrive.shared::cta.b64 _, [%r1];\n";
  ring.probe().expectFinding(FindingKind::Mbarrier, "warp 0 arrives twice in one phase");
}

TEST(EmulatorMbarrier, InitialisationIsOrderedBeforeEveryUse) {
  Probe probe;
  probe.threads = 64;
  probe.body = "setp.eq.u32 %p0, %r0, 0;\n@%p0 mbarrier.init.shared::cta.b64 [%r1], 32;\n"
               "setp.lt.u32 %p1, %r0, 32;\n@%p1 ret;\nmbarrier.arrive.shared::cta.b64 _, [%r1];";
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    probe.options.seed = seed;
    Result<Outcome> outcome = probe.run();
    ASSERT_TRUE(outcome && outcome->finding); // a race, or no barrier yet
  }
}

TEST(EmulatorMbarrier, MisuseIsNamed) {
  const std::string one = "setp.ne.u32 %p0, %r0, 0;\n@%p0 ret;\n";
  Probe probe;
  probe.body = one + "mbarrier.arrive.shared::cta.b64 _, [%r1];";
  probe.expectFinding(FindingKind::Mbarrier, "no mbarrier was initialised at shared address 1024",
                      1);
  probe.body = one + "mbarrier.init.shared::cta.b64 [%r1+4], 1;";
  probe.expectFinding(FindingKind::Misaligned, "1028", 1);
  probe.body = one + "mbarrier.init.shared::cta.b64 [%r1], 0;";
  probe.expectFinding(FindingKind::Mbarrier, "count 0", 1);
  probe.body = "mbarrier.init.shared::cta.b64 [%r1], 1;";
  probe.expectFinding(FindingKind::Mbarrier, "several threads initialise", 1);
  probe.body = one + "mbarrier.init.shared::cta.b64 [%r1], 1;\nst.shared.b32 [%r1+4], %r0;";
  probe.expectFinding(FindingKind::Mbarrier, "where an mbarrier lives", 1);
  probe.body = one + "mbarrier.init.shared::cta.b64 [%r1], 1;\n"
                     "mbarrier.init.shared::cta.b64 [%r1], 1;";
  probe.expectFinding(FindingKind::Mbarrier, "initialised twice", 1);
  probe.body = one + "mbarrier.init.shared::cta.b64 [%r1], 1;\n"
                     "mbarrier.inval.shared::cta.b64 [%r1];\nst.shared.b32 [%r1+4], %r0;";
  probe.expectClean(1);
  probe.body = one + "mbarrier.init.shared::cta.b64 [%r1], 1;\n"
                     "mbarrier.expect_tx.shared::cta.b64 [%r1], 2000000;";
  probe.expectFinding(FindingKind::Mbarrier, "transaction count 2000000", 1);
}

} // namespace
