//===- RealInputTest.cpp - The captured tensors of examples/data ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/TensorFile/TensorFile.h"
#include "tests/unit/SourceFile.h"
#include "tests/unit/TensorFile/Elements.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace tilewright;

namespace {

constexpr int64_t heads = 12;
constexpr int64_t tokens = 150;
constexpr int64_t headDim = 32;

std::vector<float> load(const TensorFile &file, const std::string &name) {
  Result<OwnedTensor> tensor = file.load(name);
  EXPECT_TRUE(tensor) << tensor.error().message();
  EXPECT_EQ(tensor->view().describe(), "f32[1, 12, 150, 32]") << name;
  return elements<float>(*tensor);
}

TEST(RealInput, OutputIsTheAttentionOfQueriesKeysAndValues) {
  Result<TensorFile> file =
      TensorFile::open(test::sourceFile("examples/data/minilm-qkv.safetensors"));
  ASSERT_TRUE(file) << file.error().message();
  ASSERT_EQ(file->entries().size(), 8u);
  for (const std::string layer : {"layer0", "layer5"}) {
    const std::vector<float> q = load(*file, layer + ".q");
    const std::vector<float> k = load(*file, layer + ".k");
    const std::vector<float> v = load(*file, layer + ".v");
    const std::vector<float> o = load(*file, layer + ".o");
    double worst = 0;
    for (int64_t row = 0; row < heads * tokens; ++row) {
      const int64_t firstKey = row / tokens * tokens;
      double weights[tokens];
      double total = 0;
      for (int64_t key = 0; key < tokens; ++key) {
        double score = 0;
        for (int64_t d = 0; d < headDim; ++d)
          score += double(q[row * headDim + d]) * k[(firstKey + key) * headDim + d];
        total += weights[key] = std::exp(score / std::sqrt(double(headDim)));
      }
      for (int64_t d = 0; d < headDim; ++d) {
        double sum = 0;
        for (int64_t key = 0; key < tokens; ++key)
          sum += weights[key] * v[(firstKey + key) * headDim + d];
        worst = std::max(worst, std::abs(sum / total - o[row * headDim + d]));
      }
    }
    EXPECT_LT(worst, 2e-6) << layer;
  }
}

} // namespace
