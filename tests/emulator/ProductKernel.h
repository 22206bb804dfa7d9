//===- ProductKernel.h - Running e4m3.cu under the emulator -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_TESTS_EMULATOR_PRODUCTKERNEL_H
#define TILEWRIGHT_TESTS_EMULATOR_PRODUCTKERNEL_H

#include "lib/Emulator/Device.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tilewright::emulator::test {

/// C = A B^T of e4m3 numbers and its f64 result. `rows` and `columns` are multiples of 64, `depth`
/// of 128.
class ProductCase {
public:
  ProductCase(uint32_t rows, uint32_t columns, uint32_t depth);

  struct Result {
    Outcome outcome;
    double error = 0; ///< ||C - C64|| / ||C64||
    double seconds = 0;
    std::vector<float> output;

    /// Products of e4m3 are exact in f32, sums nearly.
    bool valuesAreRight() const { return error < 1e-6; }
    std::string errors() const;
  };

  tilewright::Result<Result> run(const Module &module, const RunOptions &options) const;

private:
  uint32_t rows, columns, depth;
  std::vector<float> aFloats; ///< What the kernel rounds; `a` is the same rounded here.
  std::vector<uint8_t> a, b;
  std::vector<double> expected;
};

} // namespace tilewright::emulator::test

#endif // TILEWRIGHT_TESTS_EMULATOR_PRODUCTKERNEL_H
