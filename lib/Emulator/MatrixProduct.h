//===- MatrixProduct.h - The arithmetic of wgmma ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of the types at hand are exact in f32; sums are taken in f32 in the
// order of k. The hardware adds in another order and truncates, which PTX leaves
// open: compare with tolerances.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_LIB_EMULATOR_MATRIXPRODUCT_H
#define TILEWRIGHT_LIB_EMULATOR_MATRIXPRODUCT_H

#include "lib/Emulator/Module.h"

#include <cstddef>
#include <cstdint>

namespace tilewright::emulator {

/// Most elements of k in one wgmma: 32 of 8 bits.
constexpr uint32_t maxMatrixDepth = 32;

/// The 16 rows of a warp's A, spread over lanes: [half][k][lane] is row lane / 4 + 8 * half.
struct alignas(32) MatrixRows {
  float values[2][maxMatrixDepth][warpSize];
};

/// Place of element (n, k) in a B tile of `depth` k: [n / 8][n % 2][k][n % 8 / 2].
constexpr size_t tileIndex(uint32_t n, uint32_t k, uint32_t depth) {
  return (static_cast<size_t>(n / 8 * 2 + n % 2) * depth + k) * 4 + n % 8 / 2;
}

/// D = A * B (+ D) for one warp's 16 rows and `columns` columns. `accumulators` are the register
/// slots of D in fragment order, `registers` the warp's register file.
void multiplyTile(const MatrixRows &a, const float *tile, uint32_t depth, uint32_t columns,
                  bool accumulate, uint32_t *registers, const uint32_t *accumulators);

} // namespace tilewright::emulator

#endif // TILEWRIGHT_LIB_EMULATOR_MATRIXPRODUCT_H
