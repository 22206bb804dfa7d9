//===- RandomTensor.cpp - Tensors of normal numbers -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/tilewright/RandomTensor.h"

#include "lib/Support/Half.h"

#include <cmath>
#include <numbers>

using namespace tilewright;

/// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014), as a
/// function of the position in its sequence.
static uint64_t splitMix(uint64_t seed, uint64_t position) {
  uint64_t bits = seed + (position + 1) * 0x9e3779b97f4a7c15;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
  return bits ^ (bits >> 31);
}

/// Uniform in (0, 1].
static double uniform(uint64_t bits) {
  return double((bits >> 11) + 1) * 0x1p-53;
}

Result<OwnedTensor> tool::randomTensor(DType dtype, const std::array<int64_t, 4> &shape,
                                       uint64_t seed, uint64_t stream) {
  Result<OwnedTensor> tensor = OwnedTensor::allocate(TensorView(nullptr, dtype, shape));
  if (!tensor)
    return tensor;
  const TensorView &view = tensor->view();
  const uint64_t start = splitMix(seed, stream);
  const int64_t count = *view.elementCount();
  // Two numbers at a time, by the method of Box and Muller.
  for (int64_t i = 0; i < count; i += 2) {
    const double radius = std::sqrt(-2 * std::log(uniform(splitMix(start, uint64_t(i)))));
    const double angle = 2 * std::numbers::pi * uniform(splitMix(start, uint64_t(i) + 1));
    storeFromDouble(view.data, dtype, i, radius * std::cos(angle));
    if (i + 1 < count)
      storeFromDouble(view.data, dtype, i + 1, radius * std::sin(angle));
  }
  return tensor;
}
