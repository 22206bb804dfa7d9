//===- PtxForwardTest.cpp - The hand-written sm program, executed ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/unit/Target/EmulatedKernel.h"

#include <fstream>
#include <sstream>

using namespace tilewright;
using namespace tilewright::reference;

static const CompiledKernel &handWritten() {
  static const CompiledKernel kernel = [] {
    std::ifstream file(TILEWRIGHT_SOURCE_DIR "/tests/lit/SM/Inputs/forward.sm.mlir");
    std::stringstream text;
    text << file.rdbuf();
    return compileKernel(text.str(),
                         "sm-verify-protocol," + smToNVVMPipeline() + "," + nvvmToLLVMPipeline());
  }();
  return kernel;
}

static Case causal(int64_t length, int64_t heads = 1, int64_t kvHeads = 1) {
  Case c({.queries = length,
          .keys = length,
          .d = 128,
          .dv = 128,
          .heads = heads,
          .kvHeads = kvHeads,
          .dtype = DType::BF16},
         noise(1), noise(2), noise(3));
  c.mask("k <= q");
  return c;
}

static const double naturalScale = 1 / std::sqrt(128.0);

TEST(PtxForward, IsRightAtTheEdgesOfBlocks) {
  for (int64_t length : {1, 63, 64, 65, 127, 128, 129, 255, 257})
    expectRight(handWritten(), causal(length), 1, naturalScale);
}

TEST(PtxForward, IsRightUnderAnySchedule) {
  expectRight(handWritten(), causal(300), 16, naturalScale);
}

TEST(PtxForward, ReadsSharedKeyHeads) {
  expectRight(handWritten(), causal(130, 6, 2), 1, naturalScale);
}

TEST(PtxForward, TakesLargeAndNegativeScores) {
  for (double scale : {-1.0, 3.0, 100.0}) {
    Case c = causal(200);
    c.scale(scale);
    expectRight(handWritten(), c, 1, scale);
  }
}
