//===- CommandTest.cpp - Seeds, reports, the debugger ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Emulator/Command.h"
#include "tests/unit/Emulator/Probe.h"

#include <gmock/gmock.h>

#include <sys/resource.h>

#include <sstream>

using namespace tilewright;
using namespace tilewright::emulator;
using namespace tilewright::emulator::test;
using testing::HasSubstr;
using testing::Not;

namespace {

struct Session {
  Probe probe;
  CommandOptions options;
  std::string commands;

  // Filled by run().
  std::optional<Module> module;
  std::string answers;

  Report run() {
    Result<Module> loaded = loadModule(probe.text());
    EXPECT_TRUE(loaded) << loaded.error().message();
    module = std::move(*loaded);
    std::istringstream in(commands);
    std::ostringstream out;
    const Launch launch = probe.launch();
    Result<Report> report = runSeeds(*module, launch, options, in, out);
    EXPECT_TRUE(report) << report.error().message();
    answers = out.str();
    return report ? *report : Report();
  }
};

/// Lines 16 to 18 of the text are the body's first three.
const std::string threeLines =
    "mov.u32 %r2, 7;\nadd.u32 %r2, %r2, %r0;\nmov.f32 %f3, 0f3FC00000;\n";

TEST(EmulatorDebugger, StopsAtLinesAndPrintsRegisters) {
  Session session;
  session.probe.body = threeLines + storeResult("%r2");
  session.probe.threads = 64;
  session.options.breaks = {18};
  session.options.warp = 1;
  session.commands = "print r2\nprint p[0..1]\nstep\nprint f3\nprint r99\nprint rd0\nnonsense\n";
  Report report = session.run();
  EXPECT_TRUE(report.findings.empty());
  EXPECT_THAT(session.answers, HasSubstr("block (0, 0, 0), warp 1, lanes ffffffff, line 18: "
                                         "add.u32 %r2, %r2, %r0;\n%r2 = 0x7 in all lanes\n"));
  EXPECT_THAT(session.answers, HasSubstr("line 19: mov.f32 %f3, 0f3FC00000;"));
  EXPECT_THAT(session.answers, HasSubstr("no register 'r99' here"));
  EXPECT_THAT(session.answers, HasSubstr("%rd0 = 0x1000000000 in all lanes"));
  EXPECT_THAT(session.answers, HasSubstr("unknown command 'nonsense'"));
  EXPECT_THAT(session.answers, Not(HasSubstr("warp 0,")));
  EXPECT_EQ(session.probe.out[40], 47u); // at the end of the commands the kernel ran on
}

TEST(EmulatorDebugger, PrintsSharedMemoryBarriersAndPlaces) {
  Session session;
  session.probe.body = "setp.ne.u32 %p0, %r0, 0;\n@%p0 bra READY;\n"
                       "mbarrier.init.shared::cta.b64 [%r1], 3;\nst.shared.b32 [%r1+16], 258;\n"
                       "READY: bar.sync 0;\nmov.u32 %r2, 1;\n";
  session.options.breaks = {22};
  session.commands = "print smem[1036..1043]\nprint smem[0..3]\nprint barriers\nwhere\nquit\n";
  Report report = session.run();
  EXPECT_THAT(session.answers, HasSubstr("1036: ?? ?? ?? ?? 02 01 00 00"));
  EXPECT_THAT(session.answers, HasSubstr("shared memory from 1024 to 5119"));
  EXPECT_THAT(session.answers, HasSubstr("mbarrier at 1024: phase 0, 3 of 3 arrivals pending"));
  EXPECT_THAT(session.answers, HasSubstr("warp 0: line 22: mov.u32 %r2, 1;"));
  ASSERT_EQ(report.remarks.size(), 1u);
  EXPECT_THAT(report.remarks[0], HasSubstr("ended by the debugger"));
}

TEST(EmulatorDebugger, PrintsGoOnByThemselves) {
  Session session;
  session.probe.body = threeLines;
  session.options.breaks = {18};
  session.options.prints = {"r2", "r0"};
  session.run();
  EXPECT_THAT(session.answers, HasSubstr("%r2 = 0x7 in all lanes\n%r0 = 0x0 0x1 0x2"));
}

TEST(EmulatorReport, TellsCoverageAndRemarks) {
  Session session;
  session.probe.body = "setp.eq.u32 %p0, %r0, 99;\n@%p0 bra NEVER;\nbra DONE;\n"
                       "NEVER: mov.u32 %r2, 1;\nmov.u32 %r3, 1;\nDONE:";
  session.options.seeds = 3;
  const Report report = session.run();
  const std::string text = toText(*session.module, report);
  EXPECT_THAT(text, HasSubstr("kernel 'probe': 0 of 3 seeds with findings"));
  EXPECT_THAT(text, HasSubstr("coverage: 7 of 10 instructions executed; never: lines 18, 20-21"));
  EXPECT_THAT(
      toJson(*session.module, report),
      HasSubstr(R"("coverage": {"instructions": 10, "executed": 7, "never": ["18", "20-21"]})"));
}

TEST(EmulatorReport, EqualFindingsAreToldOnce) {
  Session session;
  session.probe.body = "trap;";
  session.options.seeds = 5;
  const Report report = session.run();
  EXPECT_EQ(report.seedsWithFindings, 5u);
  EXPECT_EQ(report.findings.size(), 1u);
  EXPECT_THAT(toJson(*session.module, report), HasSubstr(R"("seeds_with_findings": 5)"));
}

TEST(EmulatorReport, EverySeedStartsFromTheSameBytes) {
  Session session;
  session.probe.body = "atom.global.add.u32 %r2, [%rd0], 1;";
  session.options.seeds = 4;
  const Report report = session.run();
  EXPECT_EQ(session.probe.out[0], 32u);
  EXPECT_TRUE(report.remarks.empty());
}

TEST(EmulatorReport, TellsWhenSeedsDisagree) {
  Session session;
  session.probe.threads = 128;
  session.probe.body = "shr.u32 %r2, %r0, 5;\natom.global.exch.b32 %r3, [%rd0], %r2;";
  session.options.seeds = 12;
  const Report report = session.run();
  ASSERT_EQ(report.remarks.size(), 1u);
  EXPECT_THAT(report.remarks[0], HasSubstr("seeds disagree"));
}

/// The largest resident size of this process so far, in bytes.
size_t peakMemory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<size_t>(usage.ru_maxrss) * 1024;
}

TEST(EmulatorReport, MemoryDoesNotGrowWithSeeds) {
  Session session;
  session.probe.body = storeResult("%r0");
  session.probe.out.assign(size_t(64) << 20, ~0u); // 256 MiB
  session.options.seeds = 1;
  session.run();
  std::fill_n(session.probe.out.begin(), 32, ~0u);
  const size_t before = peakMemory();
  session.options.seeds = 4;
  EXPECT_TRUE(session.run().remarks.empty());
  EXPECT_LT(peakMemory() - before, size_t(64) << 20);
  EXPECT_EQ(session.probe.out[31], 31u);
  EXPECT_EQ(session.probe.out[32], ~0u);
}

} // namespace
