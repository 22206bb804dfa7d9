//===- PeakProbe.cpp - The multiply-add rate of one core ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// usage: tilewright-peak-probe [f32 | avx2 | amx]
//
// Prints GFLOP/s of independent multiply-adds in registers, the best of a few
// short rounds: the ceiling of a kernel. f32 takes the widest vectors of this
// machine, avx2 those of 8 lanes, amx products of bf16 tiles. "0" where the
// machine has none.
//
//===----------------------------------------------------------------------===//

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string_view>

#if defined(__x86_64__)
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace {
constexpr int rounds = 8;

/// The best rate of `round`, which does so many operations.
template <typename Round> double best(double operations, Round round) {
  double rate = 0;
  for (int i = 0; i < rounds; ++i) {
    const auto start = std::chrono::steady_clock::now();
    round();
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    rate = std::max(rate, operations / time.count() / 1e9);
  }
  return rate;
}

constexpr long steps = 4'000'000;
/// Enough chains to cover the latency of two units, few enough to stay in registers.
constexpr int chains = 12;

/// Must be inlined into a function that may use such vectors.
template <int lanes> __attribute__((always_inline)) inline double vectorRate() {
  using Vector = float __attribute__((vector_size(lanes * sizeof(float))));
  Vector sums[chains] = {};
  Vector factor = {}, addend = {};
  factor += 0.999f;
  addend += 0.001f;
  const double rate = best(2.0 * lanes * chains * steps, [&]() __attribute__((always_inline)) {
    for (long step = 0; step < steps; ++step)
      for (Vector &sum : sums)
        sum = sum * factor + addend;
  });
  // The sums must be seen to be needed.
  float total = 0;
  for (const Vector &sum : sums)
    total += sum[0];
  return total == 1 ? 0 : rate;
}

#if defined(__x86_64__)
__attribute__((target("avx512f"))) double avx512Rate() {
  return vectorRate<16>();
}
__attribute__((target("avx2,fma"))) double avx2Rate() {
  return vectorRate<8>();
}

/// Four accumulators of 16 x 16, each the product of 16 x 32 and 32 x 16.
__attribute__((target("amx-tile,amx-bf16"))) double amxRate() {
  constexpr int tileData = 18, requestPermission = 0x1023;
  if (syscall(SYS_arch_prctl, requestPermission, tileData) != 0)
    return 0;
  alignas(64) struct {
    unsigned char palette = 1, startRow = 0, reserved[14] = {};
    unsigned short bytesOfRow[16] = {};
    unsigned char rows[16] = {};
  } tiles;
  for (int i = 0; i < 8; ++i) {
    tiles.bytesOfRow[i] = 64;
    tiles.rows[i] = 16;
  }
  _tile_loadconfig(&tiles);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_zero(4);
  _tile_zero(5);
  constexpr long products = 1'000'000;
  const double rate =
      best(4.0 * 2 * 16 * 16 * 32 * products, []() __attribute__((target("amx-tile,amx-bf16"))) {
        for (long i = 0; i < products; ++i) {
          _tile_dpbf16ps(0, 4, 5);
          _tile_dpbf16ps(1, 4, 5);
          _tile_dpbf16ps(2, 4, 5);
          _tile_dpbf16ps(3, 4, 5);
        }
      });
  _tile_release();
  return rate;
}
#endif

double rateOf(std::string_view what) {
#if defined(__x86_64__)
  if (what == "amx")
    return __builtin_cpu_supports("amx-bf16") ? amxRate() : 0;
  if (what == "f32" && __builtin_cpu_supports("avx512f"))
    return avx512Rate();
  if (what == "f32" || what == "avx2")
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? avx2Rate() : 0;
  return 0;
#else
  return what == "f32" ? vectorRate<4>() : 0;
#endif
}
} // namespace

int main(int count, char **arguments) {
  std::printf("%.1f\n", rateOf(count > 1 ? arguments[1] : "f32"));
  return 0;
}
