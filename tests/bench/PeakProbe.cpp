//===- PeakProbe.cpp - The multiply-add rate of one core ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints the f32 GFLOP/s of independent vector multiply-adds in registers, the
// best of a few short rounds: the ceiling of a kernel without a matrix unit.
// Built for the machine that builds it.
//
//===----------------------------------------------------------------------===//

#include <algorithm>
#include <chrono>
#include <cstdio>

#ifdef __AVX512F__
constexpr int lanes = 16;
#elif defined(__AVX__)
constexpr int lanes = 8;
#else
constexpr int lanes = 4;
#endif
using Vector = float __attribute__((vector_size(lanes * sizeof(float))));

int main() {
  // Enough chains to cover the latency of two units, few enough to stay in registers.
  constexpr int chains = 12;
  constexpr long steps = 4'000'000;
  Vector sums[chains] = {};
  Vector factor = {}, addend = {};
  factor += 0.999f;
  addend += 0.001f;
  double best = 0;
  for (int round = 0; round < 8; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (long step = 0; step < steps; ++step)
      for (Vector &sum : sums)
        sum = sum * factor + addend;
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    best = std::max(best, 2.0 * lanes * chains * steps / time.count() / 1e9);
  }
  // The sums must be seen to be needed.
  float total = 0;
  for (const Vector &sum : sums)
    total += sum[0];
  if (total == 1)
    return 1;
  std::printf("%.1f\n", best);
  return 0;
}
