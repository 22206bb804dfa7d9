//===- PtxForwardTest.cpp - Hand-written sm programs, executed ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/unit/Target/EmulatedKernel.h"

#include <map>

using namespace tilewright;
using namespace tilewright::reference;

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

/// The same problem by two programs: one product after the other, and overlapped.
class PtxForward : public testing::TestWithParam<const char *> {
protected:
  static const KernelImage &kernel() {
    static std::map<std::string, KernelImage> kernels;
    auto [entry, isNew] = kernels.try_emplace(GetParam());
    if (isNew)
      entry->second = imageOfFile(GetParam());
    return entry->second;
  }
};

INSTANTIATE_TEST_SUITE_P(Programs, PtxForward,
                         testing::Values("forward.sm.mlir", "overlapped.sm.mlir"));

TEST_P(PtxForward, IsRightAtTheEdgesOfBlocks) {
  for (int64_t length : {1, 63, 64, 65, 127, 128, 129, 255, 257})
    expectRight(kernel(), causal(length), 1);
}

TEST_P(PtxForward, IsRightUnderAnySchedule) {
  expectRight(kernel(), causal(300), 12);
}

TEST_P(PtxForward, ReadsSharedKeyHeads) {
  expectRight(kernel(), causal(130, 6, 2), 1);
}

TEST_P(PtxForward, TakesLargeAndNegativeScores) {
  for (double scale : {-1.0, 3.0, 100.0}) {
    Case c = causal(200);
    c.scale(scale);
    expectRight(kernel(), c, 1);
  }
}
