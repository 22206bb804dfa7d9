//===- EmulatorTest.cpp - The emulator agrees with the GPU ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/gpu/GpuAttention.h"

#include <fmt/format.h>

#include <cmath>

using namespace tilewright;
using namespace tilewright::gpu;
using reference::Case;
using reference::noise;

namespace {
struct Width {
  int64_t d, dv;
  DType dtype;
};

std::string nameOfWidth(const testing::TestParamInfo<Width> &info) {
  return fmt::format("d{}_dv{}_{}", info.param.d, info.param.dv, nameOf(info.param.dtype));
}

std::vector<Width> widths() {
  std::vector<Width> all;
  for (const DType dtype : {DType::F16, DType::BF16}) {
    for (const int64_t d : {16, 32, 40, 64, 72, 80, 96, 128, 160, 192, 256})
      all.push_back({d, d, dtype});
    for (const auto &[d, dv] : {std::pair<int64_t, int64_t>{192, 128}, {64, 128}, {128, 64}})
      all.push_back({d, dv, dtype});
  }
  return all;
}

class Emulated : public OnGpu<testing::TestWithParam<Width>> {};

Case makeCase(const Width &width) {
  return Case({.queries = 140,
               .keys = 270,
               .d = width.d,
               .dv = width.dv,
               .heads = 2,
               .kvHeads = 1,
               .dtype = width.dtype},
              noise(1), noise(2), noise(3));
}

/// The largest difference between two results, and the largest value.
struct Difference {
  double difference = 0, largest = 0;
};

Difference differenceOf(const std::vector<double> &a, const std::vector<double> &b) {
  EXPECT_EQ(a.size(), b.size());
  Difference result;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i]) // infinities are equal
      result.difference = std::max(result.difference, std::abs(a[i] - b[i]));
    if (std::isfinite(a[i]))
      result.largest = std::max(result.largest, std::abs(a[i]));
  }
  return result;
}
} // namespace

TEST_P(Emulated, AgreesWithTheGpu) {
  Case aCase = makeCase(GetParam());
  aCase.preset("causal-lower-right");
  const reference::Problem &problem = aCase.problem;
  Result<Compilation> compilation = compile(test::describe(problem, {}), forGpu());
  ASSERT_TRUE(compilation) << compilation.error().message();
  Result<Kernel> kernel = compilation->kernel();
  ASSERT_TRUE(kernel) << kernel.error().message();
  Result<std::string> image = compilation->image();
  ASSERT_TRUE(image) << image.error().message();
  Result<Kernel> emulated = emulateKernel(std::as_bytes(std::span(*image)));
  ASSERT_TRUE(emulated) << emulated.error().message();

  const Written onGpu = launch(*kernel, problem);
  Written onEmulator = onGpu;
  for (reference::Array *array : {&onEmulator.o, &onEmulator.lse}) {
    array->view.data = array->storage.data();
    std::ranges::fill(array->storage, NAN);
  }
  Arguments arguments = test::captured(problem);
  arguments.query = problem.q;
  arguments.key = problem.k;
  arguments.value = problem.v;
  arguments.out = onEmulator.o.view;
  arguments.lse = onEmulator.lse.view;
  Result<size_t> bytes = emulated->workspaceSize({1, 2, 1, 140, 270});
  ASSERT_TRUE(bytes) << bytes.error().message();
  std::vector<std::byte> workspace(*bytes);
  Status done = emulated->run(arguments, workspace);
  ASSERT_TRUE(done) << done.error().message();

  expectRight(problem, onGpu);
  expectRight(problem, onEmulator);
  const Ran gpu = onGpu.ran(), emulator = onEmulator.ran();
  const Difference o = differenceOf(gpu.o, emulator.o);
  const Difference lse = differenceOf(gpu.lse, emulator.lse);
  std::printf("emulator and GPU, d %d, dv %d, %s: outputs differ by %.2e at most (largest %.2f), "
              "LSEs by %.2e\n",
              static_cast<int>(GetParam().d), static_cast<int>(GetParam().dv),
              std::string(nameOf(GetParam().dtype)).c_str(), o.difference, o.largest,
              lse.difference);
  const double unit = GetParam().dtype == DType::BF16 ? 0x1p-8 : 0x1p-11;
  EXPECT_LE(o.difference, 2 * unit * o.largest);
  EXPECT_LE(lse.difference, 1e-5 * lse.largest);
}

INSTANTIATE_TEST_SUITE_P(OnGpu, Emulated, testing::ValuesIn(widths()), nameOfWidth);
