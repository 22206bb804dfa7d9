//===- Random.h - The generator behind a seed -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// xorshift64* (Vigna, "An experimental exploration of Marsaglia's xorshift
// generators, scrambled", 2016): small, fast, the same on every platform.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_LIB_EMULATOR_RANDOM_H
#define TILEWRIGHT_LIB_EMULATOR_RANDOM_H

#include <cstdint>

namespace tilewright::emulator {

class Random {
public:
  /// Streams of one seed are independent of each other.
  Random(uint64_t seed, uint64_t stream)
      : state(((seed + 1) * 0x9E3779B97F4A7C15ull) ^ ((stream + 1) * 0xD1B54A32D192ED03ull)) {
    state |= 1;
    for (int i = 0; i < 8; ++i)
      next();
  }

  uint64_t next() {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (state * 0x2545F4914F6CDD1Dull) >> 16;
  }
  uint32_t below(uint32_t limit) { return static_cast<uint32_t>(next() % limit); }
  /// True in `parts` of 65536 cases.
  bool chance(uint32_t parts) { return (next() & 0xffff) < parts; }

private:
  uint64_t state;
};

} // namespace tilewright::emulator

#endif // TILEWRIGHT_LIB_EMULATOR_RANDOM_H
