//===- MatrixProduct.cpp - The arithmetic of wgmma ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Accumulators 4j + 2h and 4j + 2h + 1 of all lanes are the even and odd columns
// of columns 8j to 8j + 7 in row half h. Lane 4g + t wants columns 2t and 2t + 1,
// so eight lanes take the same four values of B twice. The vectors are the
// compiler's; it splits them where the machine's are narrower, and may fuse
// multiplication and addition, which changes nothing as products are exact.
//
//===----------------------------------------------------------------------===//

#include "lib/Emulator/MatrixProduct.h"

#include <cstring>

using namespace tilewright::emulator;

namespace {
using Lanes4 = float __attribute__((vector_size(16)));
using Lanes8 = float __attribute__((vector_size(32)));
constexpr int vectors = 4; // of 8 lanes
} // namespace

void tilewright::emulator::multiplyTile(const MatrixRows &a, const float *tile, uint32_t depth,
                                        uint32_t columns, bool accumulate, uint32_t *registers,
                                        const uint32_t *accumulators) {
  for (uint32_t group = 0; group < columns / 8; ++group)
    for (uint32_t half = 0; half < 2; ++half) {
      uint32_t *even = registers + warpSize * accumulators[4 * group + 2 * half];
      uint32_t *odd = registers + warpSize * accumulators[4 * group + 2 * half + 1];
      Lanes8 evenSum[vectors] = {}, oddSum[vectors] = {};
      if (accumulate) {
        std::memcpy(evenSum, even, sizeof evenSum);
        std::memcpy(oddSum, odd, sizeof oddSum);
      }
      const float *evenB = tile + static_cast<size_t>(group) * 2 * depth * 4;
      const float *oddB = evenB + static_cast<size_t>(depth) * 4;
      for (uint32_t k = 0; k < depth; ++k) {
        Lanes4 evenFour, oddFour;
        std::memcpy(&evenFour, evenB + 4 * k, sizeof evenFour);
        std::memcpy(&oddFour, oddB + 4 * k, sizeof oddFour);
        const Lanes8 x = __builtin_shufflevector(evenFour, evenFour, 0, 1, 2, 3, 0, 1, 2, 3);
        const Lanes8 y = __builtin_shufflevector(oddFour, oddFour, 0, 1, 2, 3, 0, 1, 2, 3);
        for (int i = 0; i < vectors; ++i) {
          Lanes8 rows;
          std::memcpy(&rows, &a.values[half][k][8 * i], sizeof rows);
          evenSum[i] += rows * x;
          oddSum[i] += rows * y;
        }
      }
      std::memcpy(even, evenSum, sizeof evenSum);
      std::memcpy(odd, oddSum, sizeof oddSum);
    }
}
