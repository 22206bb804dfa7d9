//===- SmallTest.cpp - Kernels small enough for slow observers ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What run.sh of the bundle gives to compute-sanitizer.
//
//===----------------------------------------------------------------------===//

#include "tests/gpu/GpuAttention.h"

using namespace tilewright;
using namespace tilewright::gpu;
using reference::Case;
using reference::makeArray;
using reference::noise;

namespace {
class OnGpuSmall : public OnGpu<testing::Test> {};

Case makeCase(int64_t d, DType dtype) {
  return Case(
      {.queries = 140, .keys = 270, .d = d, .dv = d, .heads = 2, .kvHeads = 1, .dtype = dtype},
      noise(1), noise(2), noise(3));
}

} // namespace

TEST_F(OnGpuSmall, Causal) {
  for (const int64_t d : {64, 128, 256})
    expectRight(makeCase(d, DType::BF16).preset("causal-lower-right"));
}

TEST_F(OnGpuSmall, WidthsThatArePadded) {
  for (const int64_t d : {40, 72})
    expectRight(makeCase(d, DType::F16));
}

TEST_F(OnGpuSmall, Bias) {
  expectRight(makeCase(128, DType::F16)
                  .tensor("bias", makeArray(DType::F32, {1, 2, 140, 270}, noise(9)))
                  .preset("dense-bias"));
}

TEST_F(OnGpuSmall, Documents) {
  expectRight(
      makeCase(64, DType::BF16)
          .tensor("document", makeArray(DType::I32, {1, 270},
                                        [](int64_t k) { return static_cast<double>(k / 70); }))
          .preset("document"));
}
