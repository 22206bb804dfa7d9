//===- MachineTest.cpp - Memory, control flow, warps, budgets -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/unit/Emulator/Probe.h"

#include <bit>
#include <cstring>

using namespace tilewright;
using namespace tilewright::emulator;
using namespace tilewright::emulator::test;

namespace {

//===----------------------------------------------------------------------===//
// Memory

TEST(EmulatorMemory, LoadsAndStoresOfEveryWidth) {
  Probe probe;
  for (size_t i = 0; i < probe.in.size(); ++i)
    probe.in[i] = static_cast<uint32_t>(i * 0x01010101 + 0x80);
  probe.body = "mul.wide.u32 %rd2, %r0, 16;\nadd.s64 %rd3, %rd1, %rd2;\nadd.s64 %rd4, %rd0, %rd2;\n"
               "ld.global.v4.b32 {%r2, %r3, %r4, %r5}, [%rd3];\n"
               "ld.global.v2.b64 {%rd5, %rd6}, [%rd3];\nld.global.s8 %r6, [%rd3];\n"
               "ld.global.u16 %h0, [%rd3+2];\ncvt.u32.u16 %r7, %h0;\nld.global.s16 %rd7, [%rd3];\n"
               "st.global.v4.b32 [%rd4], {%r2, %r3, %r6, %r7};\n"
               "st.global.v2.b64 [%rd4+512], {%rd6, %rd7};\nst.global.u8 [%rd4+1024], %r5;";
  Result<Outcome> outcome = probe.run();
  ASSERT_TRUE(outcome) << outcome.error().message();
  ASSERT_FALSE(outcome->finding) << toText(*outcome->finding);
  const auto *in = reinterpret_cast<const uint8_t *>(probe.in.data());
  for (uint32_t t = 0; t < 32; ++t) {
    EXPECT_EQ(probe.out[4 * t], probe.in[4 * t]);
    EXPECT_EQ(probe.out[4 * t + 2], static_cast<uint32_t>(int8_t(in[16 * t])));
    EXPECT_EQ(probe.out[4 * t + 3], in[16 * t + 2] | in[16 * t + 3] << 8);
    EXPECT_EQ(probe.out[4 * t + 128], probe.in[4 * t + 2]);
    EXPECT_EQ(probe.out[4 * t + 131], in[16 * t + 1] & 0x80 ? ~0u : 0u);
    EXPECT_EQ(probe.out[4 * t + 256] & 0xff, probe.in[4 * t + 3] & 0xff);
  }
}

TEST(EmulatorMemory, EveryGlobalAccessFallsIntoATensor) {
  Probe probe;
  probe.body = "ld.global.b32 %r2, [%rd1+4096];";
  probe.expectFinding(FindingKind::OutOfBounds, "byte 4096 of 'in', which has 4096", 1);
  probe.body = "ld.global.b32 %r2, [%rd1+-4];";
  probe.expectFinding(FindingKind::OutOfBounds, "4 bytes before 'in'", 1);
  probe.body = "ld.global.b64 %rd2, [%rd1+4092];";
  probe.expectFinding(FindingKind::OutOfBounds, "", 1);
  probe.body = "mov.u64 %rd2, 0;\nst.global.b32 [%rd2], %r0;";
  probe.expectFinding(FindingKind::OutOfBounds, "is in no buffer", 1);
  probe.body = "st.global.b32 [%rd1], %r0;";
  probe.expectFinding(FindingKind::ReadOnly, "'in', which is an input", 1);
  probe.body = "ld.global.b32 %r2, [%rd1+2];";
  probe.expectFinding(FindingKind::Misaligned, "byte 2 of 'in'", 1);
}

TEST(EmulatorMemory, BytesThatNobodyWroteAreNotRead) {
  Probe probe;
  probe.body = "ld.global.b32 %r2, [%rd0];";
  Result<Module> module = loadModule(probe.text());
  ASSERT_TRUE(module);
  Launch launch = probe.launch();
  launch.buffers[0].initialized = false;
  Result<Outcome> outcome = run(*module, launch);
  ASSERT_TRUE(outcome && outcome->finding);
  EXPECT_EQ(outcome->finding->kind, FindingKind::Unwritten);
  probe.body = "st.global.b32 [%rd0], %r0;\nld.global.b32 %r2, [%rd0];";
  module = loadModule(probe.text());
  outcome = run(*module, launch);
  EXPECT_TRUE(outcome && !outcome->finding);
  probe.body = "ld.shared.b32 %r2, [%r1];";
  probe.expectFinding(FindingKind::Unwritten, "shared address 1024", 1);
}

TEST(EmulatorMemory, SharedAndLocalHaveBounds) {
  Probe probe;
  probe.body = "st.shared.b32 [%r1+4096], %r0;";
  probe.expectFinding(FindingKind::OutOfBounds, "the range is 1024 to 5120", 1);
  probe.body = "st.shared.b32 [%r1+-4], %r0;";
  probe.expectFinding(FindingKind::OutOfBounds, "", 1);
  probe.body =
      ".local .align 8 .b8 frame[16];\nmov.u64 %rd2, frame;\nst.local.b32 [%rd2+12], %r0;\n"
      "ld.local.b32 %r2, [%rd2+12];\n" +
      storeResult("%r2");
  probe.expectClean(1);
  EXPECT_EQ(probe.out[9], 9u);
  probe.body = ".local .align 8 .b8 frame[16];\nmov.u64 %rd2, frame;\nst.local.b32 [%rd2+16], %r0;";
  probe.expectFinding(FindingKind::OutOfBounds, "local address 16", 1);
}

TEST(EmulatorMemory, GenericAddressesReachTheirSpace) {
  Probe probe;
  probe.body =
      "cvt.u64.u32 %rd2, %r1;\ncvta.shared.u64 %rd2, %rd2;\nmul.wide.u32 %rd3, %r0, 4;\n"
      "add.s64 %rd2, %rd2, %rd3;\nst.b32 [%rd2], %r0;\nld.b32 %r2, [%rd2];\n"
      "cvta.to.shared.u64 %rd4, %rd2;\nld.shared.b32 %r3, [%rd4];\nadd.u32 %r2, %r2, %r3;\n" +
      storeResult("%r2");
  probe.expectClean(1);
  EXPECT_EQ(probe.out[21], 42u);
}

TEST(EmulatorMemory, AtomicsOfABlockAddUp) {
  Probe probe;
  probe.threads = 128;
  probe.blocks = 3;
  probe.body =
      "atom.global.add.u32 %r2, [%rd0], 1;\nred.global.max.s32 [%rd0+4], %r0;\n"
      "atom.global.cas.b32 %r3, [%rd0+8], 0, 7;\nred.global.add.f32 [%rd0+12], 0f3F000000;\n"
      "mov.f32 %f0, 0f3F800000;\nred.global.add.v2.f32 [%rd0+16], {%f0, %f0};\n"
      "atom.global.inc.u32 %r4, [%rd0+24], 9;\natom.global.exch.b64 %rd2, [%rd0+32], 5;";
  Result<Outcome> outcome = probe.run();
  ASSERT_TRUE(outcome) << outcome.error().message();
  ASSERT_FALSE(outcome->finding) << toText(*outcome->finding);
  EXPECT_EQ(probe.out[0], 384u);
  EXPECT_EQ(probe.out[1], 127u);
  EXPECT_EQ(probe.out[2], 7u);
  EXPECT_EQ(std::bit_cast<float>(probe.out[3]), 192.f);
  EXPECT_EQ(std::bit_cast<float>(probe.out[5]), 384.f);
  EXPECT_EQ(probe.out[6], 384u % 10);
  EXPECT_EQ(probe.out[8], 5u);
}

//===----------------------------------------------------------------------===//
// Control flow and warps

TEST(EmulatorWarp, DivergentLoopsComeTogetherAgain) {
  Probe probe;
  probe.body = "mov.u32 %r2, 0;\nmov.u32 %r3, %r0;\n"
               "LOOP: setp.eq.u32 %p0, %r3, 0;\n@%p0 bra DONE;\nadd.u32 %r2, %r2, %r3;\n"
               "sub.u32 %r3, %r3, 1;\nbra LOOP;\nDONE: bar.sync 0;\n" +
               storeResult("%r2");
  probe.expectClean();
  for (uint32_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(probe.out[lane], lane * (lane + 1) / 2);
}

TEST(EmulatorWarp, AlignedInstructionsWantAllLanes) {
  Probe probe;
  probe.body = "setp.lt.u32 %p0, %r0, 7;\n@%p0 bar.sync 0;";
  probe.expectFinding(FindingKind::NonUniform, "lanes 0000007f of the warp alone", 2);
}

TEST(EmulatorWarp, LanesMayLeaveEarly) {
  Probe probe;
  probe.body = "setp.lt.u32 %p0, %r0, 4;\n@%p0 ret;\n" + storeResult("%r0");
  probe.expectClean(4);
  EXPECT_EQ(probe.out[3], 0u);
  EXPECT_EQ(probe.out[4], 4u);
}

TEST(EmulatorWarp, ALaneThatWaitsLetsTheOtherSideOfItsBranchGoOn) {
  Probe probe;
  probe.body =
      "mov.u32 %r2, 1;\nsetp.ne.u32 %p0, %r0, 0;\n@%p0 bra A;\n"
      "mbarrier.init.shared::cta.b64 [%r1], %r2;\nA: bar.sync 0;\n"
      "setp.ne.u32 %p1, %r0, 0;\n@%p1 bra B;\n"
      "W: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r1], 0;\n@%p2 bra D;\nbra W;\n"
      "B: setp.ne.u32 %p3, %r0, 1;\n@%p3 bra D;\nmbarrier.arrive.shared::cta.b64 _, [%r1];\nD:";
  probe.expectClean(16);
}

TEST(EmulatorWarp, ShufflesMoveRegisters) {
  for (const auto &[mode, arguments, from] :
       {std::tuple<std::string, std::string, uint32_t>{"bfly", "1, 31", 5 ^ 1},
        {"down", "3, 31", 8},
        {"up", "2, 0", 3},
        {"idx", "17, 31", 17},
        {"bfly", "8, 6175", 5}}) { // segments of 8: the partner is outside, the lane keeps its own
    Probe probe;
    probe.body = fmt::format("mul.lo.u32 %r2, %r0, 3;\nshfl.sync.{}.b32 %r3|%p0, %r2, {}, -1;\n",
                             mode, arguments) +
                 storeResult("%r3");
    probe.expectClean(1);
    EXPECT_EQ(probe.out[5], 3 * from) << mode;
  }
}

TEST(EmulatorWarp, VotesAndReductions) {
  Probe probe;
  probe.body =
      "setp.lt.u32 %p0, %r0, 4;\nvote.sync.ballot.b32 %r2, %p0, -1;\n"
      "vote.sync.any.pred %p1, %p0, -1;\nvote.sync.all.pred %p2, %p0, -1;\n"
      "vote.sync.all.pred %p3, !%p2, -1;\nselp.u32 %r3, 1, 0, %p1;\n@%p2 add.u32 %r3, %r3, 2;\n"
      "@%p3 add.u32 %r3, %r3, 4;\nredux.sync.add.u32 %r4, %r0, -1;\n"
      "elect.sync %r5|%p4, -1;\n@%p4 add.u32 %r3, %r3, 100;\nadd.u32 %r3, %r3, %r4;\n"
      "add.u32 %r3, %r3, %r2;\n" +
      storeResult("%r3");
  probe.expectClean(1);
  EXPECT_EQ(probe.out[0], 15u + 1 + 4 + 496 + 100);
  EXPECT_EQ(probe.out[31], 15u + 1 + 4 + 496);
}

TEST(EmulatorWarp, MembersOfAShuffleAreTheLanesThatExecuteIt) {
  Probe probe;
  probe.body = "setp.lt.u32 %p0, %r0, 16;\n@%p0 shfl.sync.bfly.b32 %r2, %r0, 1, 31, -1;";
  probe.expectFinding(FindingKind::NonUniform, "names the members ffffffff", 2);
  probe.body = "setp.lt.u32 %p0, %r0, 16;\n@%p0 shfl.sync.bfly.b32 %r2, %r0, 1, 31, 65535;";
  probe.expectClean(2);
}

TEST(EmulatorWarp, TrapAndBudgetAreFindings) {
  Probe probe;
  probe.body = "trap;";
  probe.expectFinding(FindingKind::Trap, "trap", 1);
  probe.body = "FOREVER: bra FOREVER;";
  probe.options.budget = 10000;
  probe.expectFinding(FindingKind::Budget, "10000 warp instructions", 1);
}

TEST(EmulatorWarp, LanesComeTogetherInALoopThatNeverEnds) {
  Probe probe;
  probe.options.budget = 10000;
  const std::string split = "setp.lt.u32 %p0, %r0, 7;\n@%p0 bra AGAIN;\nadd.u32 %r2, %r0, 1;\n";
  probe.body = split + "AGAIN: bar.sync 0;\nbra AGAIN;";
  probe.expectFinding(FindingKind::Budget, "10000 warp instructions", 4);
  // The branch inside the loop, too, and a block behind it that only leads back.
  probe.body = "AGAIN: bar.sync 0;\nsetp.lt.u32 %p0, %r0, 7;\n@%p0 bra BACK;\n"
               "add.u32 %r2, %r0, 1;\nBACK: bar.sync 0;\nbra AGAIN;";
  probe.expectFinding(FindingKind::Budget, "10000 warp instructions", 4);
  probe.body = split + "bra OUTSIDE;\nAGAIN: bar.sync 0;\nbra AGAIN;\nOUTSIDE: bra AGAIN;";
  probe.expectFinding(FindingKind::Budget, "10000 warp instructions", 4);
}

//===----------------------------------------------------------------------===//
// Runs

TEST(EmulatorRun, ResultsDependOnTheSeedAlone) {
  Probe probe;
  probe.threads = 64;
  probe.blocks = 7;
  probe.body = "mov.u32 %r2, %ctaid.x;\nmad.lo.u32 %r3, %r2, 64, %r0;\nmul.wide.u32 %rd2, %r3, 4;\n"
               "add.s64 %rd2, %rd0, %rd2;\nmov.u32 %r4, %clock;\nst.global.b32 [%rd2], %r4;";
  std::vector<uint32_t> first;
  for (uint32_t threads : {1, 2, 5}) {
    probe.options.threads = threads;
    Result<Outcome> outcome = probe.run();
    ASSERT_TRUE(outcome && !outcome->finding);
    if (first.empty())
      first = probe.out;
    EXPECT_EQ(probe.out, first) << threads << " threads";
  }
}

TEST(EmulatorRun, TheFindingIsThatOfTheFirstBlock) {
  Probe probe;
  probe.blocks = 16;
  probe.body = "mov.u32 %r2, %ctaid.x;\nsetp.ge.u32 %p0, %r2, 3;\n@%p0 trap;";
  for (uint32_t threads : {1, 4}) {
    probe.options.threads = threads;
    Result<Outcome> outcome = probe.run();
    ASSERT_TRUE(outcome && outcome->finding);
    EXPECT_EQ(outcome->finding->block[0], 3u);
  }
}

TEST(EmulatorRun, BlocksThatInteractRunTogether) {
  // Block 0 waits for block 1: on one thread, one after the other, this would not end.
  Probe probe;
  probe.blocks = 2;
  probe.body =
      "mov.u32 %r2, %ctaid.x;\nsetp.eq.u32 %p0, %r2, 1;\n@%p0 bra SET;\n"
      "WAIT: ld.acquire.gpu.global.b32 %r3, [%rd0];\nsetp.eq.u32 %p1, %r3, 0;\n@%p1 bra WAIT;\n"
      "ret;\nSET: mov.u32 %r4, 1;\nst.release.gpu.global.b32 [%rd0], %r4;";
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    probe.out[0] = 0;
    probe.options.seed = seed;
    probe.options.budget = 1'000'000;
    Result<Outcome> outcome = probe.run();
    ASSERT_TRUE(outcome);
    EXPECT_FALSE(outcome->finding) << toText(*outcome->finding);
  }
}

TEST(EmulatorRun, CoverageTellsWhatNeverRan) {
  Probe probe;
  probe.body = "setp.eq.u32 %p0, %r0, 99;\n@%p0 bra NEVER;\nret;\nNEVER: trap;";
  Result<Module> module = loadModule(probe.text());
  ASSERT_TRUE(module);
  Result<Outcome> outcome = run(*module, probe.launch());
  ASSERT_TRUE(outcome && !outcome->finding);
  for (size_t i = 0; i < module->ops.size(); ++i) {
    const std::string text = module->lineText(module->ops[i].line);
    if (text == "ret;" && outcome->executed[i])
      continue;
    if (text.starts_with("NEVER"))
      EXPECT_FALSE(outcome->executed[i]);
  }
}

TEST(EmulatorRun, FindingsCarryTheSourceLocation) {
  Probe probe;
  probe.body = ".loc 1 42 7\ntrap;";
  std::string text = probe.text();
  text.insert(text.find(".extern"), ".file 1 \"kernel.mlir\"\n");
  Result<Module> module = loadModule(text);
  ASSERT_TRUE(module) << module.error().message();
  Result<Outcome> outcome = run(*module, probe.launch());
  ASSERT_TRUE(outcome && outcome->finding);
  EXPECT_EQ(outcome->finding->at.source, "kernel.mlir:42");
  EXPECT_EQ(outcome->finding->at.text, "trap;");
  const std::string json = toJson(*outcome->finding);
  EXPECT_NE(json.find(R"("kind": "trap")"), std::string::npos) << json;
  EXPECT_NE(json.find(R"("loc": "kernel.mlir:42")"), std::string::npos) << json;
  EXPECT_NE(json.find(R"("seed": 1)"), std::string::npos) << json;
}

} // namespace
