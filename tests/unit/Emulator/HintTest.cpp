//===- HintTest.cpp - Instructions without an effect on values ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/unit/Emulator/Probe.h"

using namespace tilewright;
using namespace tilewright::emulator;
using namespace tilewright::emulator::test;

namespace {

TEST(EmulatorHints, ChangeNothing) {
  for (const char *hint :
       {"nanosleep.u32 20;", "prefetch.global.L2 [%rd1];", "prefetchu.L1 [%rd1];",
        "griddepcontrol.wait;", "griddepcontrol.launch_dependents;",
        "cp.async.bulk.prefetch.L2.global [%rd1], 16;"}) {
    Probe probe;
    probe.in[0] = 5;
    probe.body = std::string(hint) + "\nldu.global.u32 %r2, [%rd1];\nadd.u32 %r2, %r2, %r0;\n" +
                 storeResult("%r2");
    const Result<Outcome> outcome = probe.run();
    ASSERT_TRUE(outcome) << hint << ": " << outcome.error().message();
    ASSERT_FALSE(outcome->finding) << toText(*outcome->finding);
    for (uint32_t lane = 0; lane < 32; ++lane)
      EXPECT_EQ(probe.out[lane], 5 + lane) << hint;
    EXPECT_EQ(probe.in[0], 5u) << hint;
  }
}

TEST(EmulatorHints, LanesThatExitAreNotActive) {
  Probe probe;
  probe.body = "setp.ge.u32 %p0, %r0, 5;\n@%p0 exit;\nactivemask.b32 %r2;\n" + storeResult("%r2");
  const Result<Outcome> outcome = probe.run();
  ASSERT_TRUE(outcome && !outcome->finding);
  for (uint32_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(probe.out[lane], lane < 5 ? 31u : 0u);
}

} // namespace
