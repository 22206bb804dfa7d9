//===- MatrixTest.cpp - Every head dim, dtype and kind of mask ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/gpu/GpuAttention.h"

#include <fmt/format.h>

using namespace tilewright;
using namespace tilewright::gpu;
using reference::Case;
using reference::makeArray;
using reference::noise;

namespace {
struct Kind {
  int64_t d, dv;
  DType dtype;
  std::string mask;
};

std::string nameOfKind(const testing::TestParamInfo<Kind> &info) {
  const Kind &kind = info.param;
  return fmt::format("{}_d{}_dv{}_{}", kind.mask, kind.d, kind.dv, nameOf(kind.dtype));
}

/// A kernel for each kind; lengths are data.
std::vector<Kind> kinds() {
  std::vector<std::pair<int64_t, int64_t>> widths = {{192, 128}, {64, 128}, {128, 64}};
  for (const int64_t d : {16, 32, 40, 64, 72, 80, 96, 128, 160, 192, 256})
    widths.emplace_back(d, d);
  std::vector<Kind> all;
  for (const auto &[d, dv] : widths)
    for (const DType dtype : {DType::F16, DType::BF16})
      for (const char *mask : {"none", "causal", "causalLowerRight", "window", "document", "bias"})
        all.push_back({d, dv, dtype, mask});
  return all;
}

Case makeCase(const Kind &kind, int64_t queries, int64_t keys) {
  Case aCase({.queries = queries,
              .keys = keys,
              .d = kind.d,
              .dv = kind.dv,
              .heads = 2,
              .kvHeads = 1,
              .dtype = kind.dtype},
             noise(1), noise(2), noise(3));
  if (kind.mask == "causal")
    aCase.preset("causal");
  if (kind.mask == "causalLowerRight")
    aCase.preset("causal-lower-right");
  if (kind.mask == "window")
    aCase.preset("sliding-window-lower-right", 100);
  if (kind.mask == "document")
    aCase
        .tensor("document", makeArray(DType::I32, {1, keys},
                                      [](int64_t k) { return static_cast<double>(k / 70); }))
        .preset("document");
  if (kind.mask == "bias")
    aCase.tensor("bias", makeArray(DType::F32, {1, 2, queries, keys}, noise(9)))
        .preset("dense-bias");
  return aCase;
}

class Matrix : public OnGpu<testing::TestWithParam<Kind>> {};
} // namespace

TEST_P(Matrix, EveryLengthIsRight) {
  std::optional<Kernel> kernel;
  const auto check = [&](int64_t queries, int64_t keys, std::initializer_list<Layout> layouts) {
    SCOPED_TRACE(fmt::format("{} queries, {} keys", queries, keys));
    const Case aCase = makeCase(GetParam(), queries, keys);
    if (!kernel) {
      Result<Kernel> compiled = compileKernel(aCase.problem);
      ASSERT_TRUE(compiled) << compiled.error().message();
      kernel = *compiled;
    }
    const Written written = launch(*kernel, aCase.problem);
    expectRight(aCase.problem, written);
    for (const Layout layout : layouts)
      expectSameBits(written, launch(*kernel, aCase.problem, {.layout = layout}));
  };
  check(129, 257, {Layout::BTHD, Layout::Gaps});
  for (const int64_t length : {1, 63, 64, 65, 127, 128, 129, 1000, 4097})
    if (kernel)
      check(length, length, {});
  if (kernel)
    check(1, 4097, {});
}

INSTANTIATE_TEST_SUITE_P(OnGpu, Matrix, testing::ValuesIn(kinds()), nameOfKind);
