//===- MemoryTest.cpp - Many heads, far offsets, small memory -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/gpu/GpuAttention.h"

#include <fmt/format.h>

using namespace tilewright;
using namespace tilewright::gpu;
using reference::Case;
using reference::noise;

namespace {
class OnGpuMemory : public OnGpu<testing::Test> {};

/// Which stride of every tensor is so large that its last element lies 2^31 elements and more
/// behind the first.
class FarOffsets : public OnGpu<testing::TestWithParam<size_t>> {};

std::string nameOfDimension(const testing::TestParamInfo<size_t> &info) {
  return std::array{"batch", "heads", "length"}.at(info.param);
}
} // namespace

// flashinfer-ai/flashinfer#3125, pytorch/pytorch#146704, facebookresearch/xformers#845: grids end
// at 65,535 in all directions but one.
TEST_F(OnGpuMemory, MoreBatchesTimesHeadsThan65535) {
  for (const auto &[batch, heads] :
       {std::pair<int64_t, int64_t>{65537, 1}, {1, 65537}, {513, 128}}) {
    SCOPED_TRACE(fmt::format("{} batches, {} heads", batch, heads));
    const Case aCase({.queries = 4,
                      .keys = 4,
                      .d = 16,
                      .dv = 16,
                      .batch = batch,
                      .heads = heads,
                      .kvHeads = heads,
                      .dtype = DType::F16},
                     noise(1), noise(2), noise(3));
    Result<Kernel> kernel = compileKernel(aCase.problem);
    ASSERT_TRUE(kernel) << kernel.error().message();
    expectRight(aCase.problem, launch(*kernel, aCase.problem));
  }
}

TEST_P(FarOffsets, AreRight) {
  size_t free = 0, total = 0;
  cuda("cuMemGetInfo_v2", &free, &total);
  if (free < size_t{20} << 30)
    GTEST_SKIP() << "20 GiB of the GPU's memory are not free";
  const size_t dimension = GetParam();
  Case::Shape shape{.queries = 130,
                    .keys = 200,
                    .d = 64,
                    .dv = 64,
                    .batch = 3,
                    .heads = 3,
                    .kvHeads = 3,
                    .dtype = DType::BF16};
  const Case aCase(shape, noise(1), noise(2), noise(3));
  Result<Kernel> kernel = compileKernel(aCase.problem);
  ASSERT_TRUE(kernel) << kernel.error().message();
  const Written right = launch(*kernel, aCase.problem);
  DeviceProblem device(aCase.problem);
  const auto far = [&](const TensorView &tensor) {
    TensorView result(nullptr, tensor.dtype, tensor.sizes());
    const int64_t steps = result.shape[dimension] - 1;
    result.strides[dimension] = ((int64_t{1} << 31) / steps + 64) / 64 * 64;
    return result;
  };
  const DeviceTensor q(aCase.problem.q, far(aCase.problem.q)),
      k(aCase.problem.k, far(aCase.problem.k)), v(aCase.problem.v, far(aCase.problem.v)),
      o(far(device.o.view));
  device.arguments.query = q.view;
  device.arguments.key = k.view;
  device.arguments.value = v.view;
  device.arguments.out = o.view;
  Status done = device.launch(*kernel);
  ASSERT_TRUE(done) << done.error().message();
  synchronize();
  for (const DeviceTensor *tensor : {&q, &k, &v, &o})
    tensor->expectGuardsIntact();
  const Written written{o.read(), device.lse.read()};
  expectSameBits(written, right);
  expectRight(aCase.problem, written);
}

INSTANTIATE_TEST_SUITE_P(OnGpu, FarOffsets, testing::Values(size_t{0}, size_t{1}, size_t{2}),
                         nameOfDimension);

// A table of the scores would take 2 GiB.
TEST_F(OnGpuMemory, LongSequencesAreRight) {
  const Case aCase({.queries = 16384,
                    .keys = 16384,
                    .d = 64,
                    .dv = 64,
                    .heads = 2,
                    .kvHeads = 1,
                    .dtype = DType::BF16},
                   noise(1), noise(2), noise(3));
  expectRight(aCase.problem, write(aCase));
}
