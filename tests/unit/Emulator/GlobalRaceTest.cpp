//===- GlobalRaceTest.cpp - Race rules of global memory -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/unit/Emulator/Probe.h"

#include <algorithm>

using namespace tilewright;
using namespace tilewright::emulator;
using namespace tilewright::emulator::test;

namespace {

/// Two blocks of two warps; %r2 is the block, %p1 true in block 1, %p2 in thread 0, and
/// [%rd2] is a word of `out` for each thread of a block, the same in both blocks.
Probe twoBlocks(const std::string &body) {
  Probe probe;
  probe.threads = 64;
  probe.blocks = 2;
  probe.options.budget = 1'000'000;
  probe.body = "mov.u32 %r2, %ctaid.x;\nsetp.eq.u32 %p1, %r2, 1;\nsetp.eq.u32 %p2, %r0, 0;\n"
               "mul.wide.u32 %rd2, %r0, 4;\nadd.s64 %rd2, %rd0, %rd2;\n" +
               body;
  return probe;
}

/// Blocks that wait for each other need zeros at the start of every run.
void expectClean(Probe probe, uint64_t seeds = 12) {
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    std::fill(probe.out.begin(), probe.out.end(), 0);
    probe.options.seed = seed;
    Result<Outcome> outcome = probe.run();
    ASSERT_TRUE(outcome) << outcome.error().message();
    ASSERT_FALSE(outcome->finding) << toText(*outcome->finding);
  }
}
void expectRace(Probe probe, const std::string &part, uint64_t seeds = 12) {
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    std::fill(probe.out.begin(), probe.out.end(), 0);
    probe.options.seed = seed;
    Result<Outcome> outcome = probe.run();
    ASSERT_TRUE(outcome) << outcome.error().message();
    ASSERT_TRUE(outcome->finding) << "nothing was found with seed " << seed;
    EXPECT_EQ(nameOf(outcome->finding->kind), nameOf(FindingKind::Race))
        << toText(*outcome->finding);
    EXPECT_NE(toText(*outcome->finding).find(part), std::string::npos) << toText(*outcome->finding);
  }
}

TEST(EmulatorGlobalRace, BlocksWriteDifferentBytes) {
  expectClean(twoBlocks("mul.wide.u32 %rd3, %r2, 256;\nadd.s64 %rd3, %rd2, %rd3;\n"
                        "st.global.b32 [%rd3], %r0;\nld.global.b32 %r3, [%rd3];"));
  // The halves of a word belong to different blocks.
  expectClean(twoBlocks("mul.wide.u32 %rd3, %r2, 2;\nadd.s64 %rd3, %rd2, %rd3;\n"
                        "cvt.u16.u32 %h0, %r0;\nst.global.b16 [%rd3], %h0;"));
  expectRace(twoBlocks("st.global.b32 [%rd2], %r0;"),
             "of 'out', not ordered after the write by block (0, 0, 0), warp");
}

TEST(EmulatorGlobalRace, ThreadsOfTheHostChangeNothing) {
  for (uint32_t threads : {1, 2, 4}) {
    Probe racy = twoBlocks("st.global.b32 [%rd2], %r0;");
    racy.options.threads = threads;
    expectRace(racy, "'out', not ordered after the write by block", 4);
  }
}

TEST(EmulatorGlobalRace, ReadsRaceWithWritesOfOtherBlocks) {
  expectRace(twoBlocks("@!%p1 st.global.b32 [%rd2], %r0;\n@%p1 ld.global.b32 %r3, [%rd2];"),
             "not ordered after the write by block (0, 0, 0)");
  expectRace(twoBlocks("@%p1 st.global.b32 [%rd2], %r0;\n@!%p1 ld.global.b32 %r3, [%rd2];"),
             "not ordered after the read by block (0, 0, 0)");
  expectClean(twoBlocks("ld.global.b32 %r3, [%rd2];"));
}

TEST(EmulatorGlobalRace, AtomicsDoNotRaceWithEachOther) {
  expectClean(twoBlocks("red.global.add.u32 [%rd2], 1;"));
  expectClean(twoBlocks("@!%p1 st.relaxed.gpu.global.b32 [%rd2], 1;\n"
                        "@%p1 ld.relaxed.gpu.global.b32 %r3, [%rd2];"));
  expectRace(twoBlocks("@!%p1 red.global.add.u32 [%rd2], 1;\n@%p1 st.global.b32 [%rd2], %r0;"),
             "not ordered after the write by block");
  // A scope that holds one block is none between two.
  expectRace(twoBlocks("red.relaxed.cta.global.add.u32 [%rd2], 1;"),
             "not ordered after the write by block");
}

/// Block 0 writes, sets the flag at [%rd0 + 1024]; block 1 waits for it and reads.
std::string handOver(const std::string &set, const std::string &get,
                     const std::string &before = "bar.sync 0;\n",
                     const std::string &after = "bar.sync 0;\n") {
  return "@%p1 bra TAKE;\nst.global.b32 [%rd2], %r0;\n" + before + "@!%p2 bra DONE;\n" + set +
         "DONE: ret;\nTAKE: @!%p2 bra TAKEN;\nWAIT: " + get +
         "setp.eq.u32 %p3, %r4, 0;\n@%p3 bra WAIT;\nTAKEN: " + after +
         "xor.b32 %r5, %r0, 32;\nmul.wide.u32 %rd3, %r5, 4;\nadd.s64 %rd3, %rd0, %rd3;\n"
         "ld.global.b32 %r6, [%rd3];\n";
}

TEST(EmulatorGlobalRace, AReleaseAndAnAcquireOrder) {
  const std::string store = "st.release.gpu.global.b32 [%rd0+1024], 1;\n";
  const std::string load = "ld.acquire.gpu.global.b32 %r4, [%rd0+1024];\n";
  expectClean(twoBlocks(handOver(store, load)));
  expectClean(twoBlocks(handOver("red.release.gpu.global.add.u32 [%rd0+1024], 1;\n", load)));
  expectClean(twoBlocks(handOver(store, "atom.acquire.gpu.global.add.u32 %r4, [%rd0+1024], 0;\n")));
  expectRace(twoBlocks(handOver("st.relaxed.gpu.global.b32 [%rd0+1024], 1;\n", load)),
             "ld.global.b32 %r6");
  expectRace(twoBlocks(handOver(store, "ld.relaxed.gpu.global.b32 %r4, [%rd0+1024];\n")),
             "ld.global.b32 %r6");
  // Other warps of the writing block are not ordered before its release.
  expectRace(twoBlocks(handOver(store, load, "", "bar.sync 0;\n")), "ld.global.b32 %r6");
}

TEST(EmulatorGlobalRace, FencesMakeReleasesAndAcquires) {
  const std::string store = "st.relaxed.gpu.global.b32 [%rd0+1024], 1;\n";
  const std::string load = "ld.relaxed.gpu.global.b32 %r4, [%rd0+1024];\n";
  const std::string fence = "fence.acq_rel.gpu;\n";
  expectClean(
      twoBlocks(handOver(fence + store, load, "bar.sync 0;\n", "membar.gl;\nbar.sync 0;\n")));
  expectClean(
      twoBlocks(handOver(fence + "atom.global.add.u32 %r7, [%rd0+1024], 1;\n", load + fence)));
  expectRace(twoBlocks(handOver(store + fence, load + fence)), "ld.global.b32 %r6");
  expectRace(twoBlocks(handOver(fence + store, fence + load)), "ld.global.b32 %r6");
}

TEST(EmulatorGlobalRace, OrderTravelsThroughAThirdBlock) {
  Probe probe = twoBlocks(
      "setp.eq.u32 %p4, %r2, 2;\n@%p4 bra LAST;\n@%p1 bra MIDDLE;\nst.global.b32 [%rd2], %r0;\n"
      "bar.sync 0;\n@!%p2 ret;\nst.release.gpu.global.b32 [%rd0+1024], 1;\nret;\n"
      "MIDDLE: @!%p2 ret;\nW1: ld.acquire.gpu.global.b32 %r4, [%rd0+1024];\n"
      "setp.eq.u32 %p3, %r4, 0;\n@%p3 bra W1;\nst.release.gpu.global.b32 [%rd0+1028], 1;\nret;\n"
      "LAST: ld.acquire.gpu.global.b32 %r4, [%rd0+1028];\nsetp.eq.u32 %p3, %r4, 0;\n"
      "@%p3 bra LAST;\nld.global.b32 %r6, [%rd2];\n");
  probe.blocks = 3;
  probe.options.residentBlocks = 3;
  expectClean(probe);
}

TEST(EmulatorGlobalRace, WarpsOfABlockAreOrderedByTheirBarriers) {
  const std::string write = "@%p1 ret;\nst.global.b32 [%rd2], %r0;\nxor.b32 %r5, %r0, 32;\n"
                            "mul.wide.u32 %rd3, %r5, 4;\nadd.s64 %rd3, %rd0, %rd3;\n";
  expectClean(twoBlocks(write + "bar.sync 0;\nld.global.b32 %r6, [%rd3];"));
  expectRace(twoBlocks(write + "ld.global.b32 %r6, [%rd3];"), "block (0, 0, 0), warp");
}

TEST(EmulatorGlobalRace, CopiesTakePart) {
  const std::string fill = "mov.u32 %r10, 0;\nst.shared.b32 [%r1], %r10;\n"
                           "st.shared.b32 [%r1+4], %r10;\nst.shared.b32 [%r1+8], %r10;\n"
                           "st.shared.b32 [%r1+12], %r10;\nfence.proxy.async;\n";
  const std::string first = "@!%p2 bra DONE;\n" + fill;
  const std::string wait = "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\nDONE:";
  expectClean(twoBlocks(
      first + "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%rd0], [%r1], 16;\n" +
      wait));
  expectRace(
      twoBlocks(first + "cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r1], 16;\n" + wait),
      "cp.async.bulk.global");
  expectRace(twoBlocks("@!%p2 bra DONE;\n@%p1 bra WRITE;\n"
                       "cp.async.ca.shared.global [%r1], [%rd0], 16;\ncp.async.wait_all;\n"
                       "bra DONE;\nWRITE: st.global.b32 [%rd0+8], %r0;\nDONE:"),
             "byte 8 of 'out'");
}

TEST(EmulatorGlobalRace, ChecksCanBeTurnedOff) {
  Probe probe = twoBlocks("st.global.b32 [%rd2], %r0;");
  probe.options.checkRaces = false;
  expectClean(probe);
}

} // namespace
