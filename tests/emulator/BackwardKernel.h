//===- BackwardKernel.h - Running backward.cu under the emulator -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_TESTS_EMULATOR_BACKWARDKERNEL_H
#define TILEWRIGHT_TESTS_EMULATOR_BACKWARDKERNEL_H

#include "lib/Emulator/Device.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tilewright::emulator::test {

/// Inputs of width 64 and their gradients in f64.
class BackwardCase {
public:
  BackwardCase(uint32_t length, uint32_t heads, bool causal);

  struct Result {
    Outcome outcome;
    double dqError = 0, dkError = 0, dvError = 0; ///< ||X - X64|| / ||X64||
    double seconds = 0;
    /// dK and dV; dQ is a sum in f32 in the order in which blocks arrive.
    std::vector<uint16_t> output;

    /// P and dS in bf16, dK and dV rounded to it.
    bool valuesAreRight() const { return dqError < 0.006 && dkError < 0.006 && dvError < 0.006; }
    std::string errors() const;
  };

  tilewright::Result<Result> run(const Module &module, const RunOptions &options) const;

private:
  uint32_t length, heads;
  std::vector<uint16_t> q, k, v, gradient;
  std::vector<float> lse2, delta;
  std::vector<double> dq, dk, dv;
};

} // namespace tilewright::emulator::test

#endif // TILEWRIGHT_TESTS_EMULATOR_BACKWARDKERNEL_H
