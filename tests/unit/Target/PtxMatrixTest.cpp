//===- PtxMatrixTest.cpp - Every kernel that is promised, executed --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/unit/Target/EmulatedKernel.h"

#include <fmt/format.h>

#include <atomic>
#include <thread>

using namespace tilewright;
using namespace tilewright::reference;

namespace {
/// A bit more than one block of queries and of keys, so that whole and cut blocks meet.
constexpr int64_t length = 140;

struct MaskCase {
  const char *name;
  void (*apply)(Case &);
};

constexpr MaskCase masks[] = {
    {"none", [](Case &) {}},
    {"causal", [](Case &c) { c.mask("k <= q"); }},
    {"causal at the lower right", [](Case &c) { c.mask("k <= q + kv_len - q_len"); }},
    {"window", [](Case &c) { c.mask("k <= q && q - k < 50"); }},
    {"documents",
     [](Case &c) {
       c.tensor("ids", makeArray(DType::I32, {length}, [](int64_t i) { return double(i / 60); }));
       c.mask("ids[q] == ids[k]");
     }},
    {"dense bias",
     [](Case &c) {
       c.tensor("bias", makeArray(DType::F32, {1, length, length}, noise(9)));
       c.score("s + bias[h, q, k]");
     }},
};

constexpr std::pair<int64_t, int64_t> widths[] = {
    {16, 16},   {32, 32},   {40, 40},   {64, 64},   {72, 72},   {80, 80},  {96, 96},
    {128, 128}, {160, 160}, {192, 192}, {256, 256}, {192, 128}, {64, 128}, {128, 64}};

/// Copied by threads: one chunk of 64 columns or several, odd and even, and beside the copy engine.
constexpr std::pair<int64_t, int64_t> oddWidths[] = {{1, 1},   {33, 33},  {100, 60},
                                                     {64, 33}, {130, 64}, {255, 255}};

struct MatrixCase {
  std::pair<int64_t, int64_t> width;
  DType dtype;
  const MaskCase *mask;
};

void expectRight(const MatrixCase &matrix) {
  SCOPED_TRACE(fmt::format("head dim {},{} {} mask {}", matrix.width.first, matrix.width.second,
                           nameOf(matrix.dtype), matrix.mask->name));
  Case c({.queries = length,
          .keys = length,
          .d = matrix.width.first,
          .dv = matrix.width.second,
          .dtype = matrix.dtype},
         noise(1), noise(2), noise(3));
  matrix.mask->apply(c);
  tilewright::expectRight(imageOf(c), c, 3);
}
} // namespace

// One test, so that the processors share the kernels.
TEST(PtxMatrix, EveryKernelPassesTheGateAndIsRight) {
  std::vector<MatrixCase> cases;
  for (const auto &width : widths)
    for (DType dtype : {DType::F16, DType::BF16})
      for (const MaskCase &mask : masks)
        cases.push_back({width, dtype, &mask});
  for (const auto &width : oddWidths)
    for (const MaskCase &mask : masks)
      cases.push_back({width, DType::BF16, &mask});
  std::atomic<size_t> next = 0;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i)
    threads.emplace_back([&] {
      for (size_t at = next++; at < cases.size(); at = next++)
        expectRight(cases[at]);
    });
  for (std::thread &thread : threads)
    thread.join();
}
