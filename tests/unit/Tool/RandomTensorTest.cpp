//===- RandomTensorTest.cpp - Tests for tilewright/RandomTensor.h ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/tilewright/RandomTensor.h"

#include "lib/Support/Half.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace tilewright;
using namespace tilewright::tool;

static std::vector<double> numbers(DType dtype, int64_t count, uint64_t seed, uint64_t stream) {
  Result<OwnedTensor> tensor = randomTensor(dtype, {1, 1, count, 1}, seed, stream);
  EXPECT_TRUE(tensor);
  std::vector<double> result;
  for (int64_t i = 0; i < count; ++i)
    result.push_back(loadAsDouble(tensor->view().data, dtype, i));
  return result;
}

TEST(RandomTensor, IsNormal) {
  constexpr int64_t count = 100000;
  double sum = 0, squares = 0, fourths = 0;
  for (double x : numbers(DType::F64, count, 7, 0))
    sum += x, squares += x * x, fourths += x * x * x * x;
  EXPECT_NEAR(sum / count, 0, 0.01);
  EXPECT_NEAR(squares / count, 1, 0.02);
  EXPECT_NEAR(fourths / count, 3, 0.15);
}

TEST(RandomTensor, DependsOnSeedAndStreamAlone) {
  EXPECT_EQ(numbers(DType::F32, 101, 7, 1), numbers(DType::F32, 101, 7, 1));
  EXPECT_NE(numbers(DType::F32, 101, 7, 1), numbers(DType::F32, 101, 8, 1));
  EXPECT_NE(numbers(DType::F32, 101, 7, 1), numbers(DType::F32, 101, 7, 2));
}

TEST(RandomTensor, RoundsToItsDType) {
  const std::vector<double> exact = numbers(DType::F64, 9, 3, 0);
  const std::vector<double> rounded = numbers(DType::BF16, 9, 3, 0);
  for (size_t i = 0; i < exact.size(); ++i)
    EXPECT_EQ(rounded[i], bf16ToFloat(doubleToBF16(exact[i])));
}

TEST(RandomTensor, RefusesMoreThanMemoryHolds) {
  constexpr int64_t huge = int64_t{1} << 30;
  EXPECT_FALSE(randomTensor(DType::F32, {huge, huge, huge, 64}, 0, 0));
}
