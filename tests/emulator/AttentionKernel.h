//===- AttentionKernel.h - Running attention.cu under the emulator -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_TESTS_EMULATOR_ATTENTIONKERNEL_H
#define TILEWRIGHT_TESTS_EMULATOR_ATTENTIONKERNEL_H

#include "lib/Emulator/Device.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tilewright::emulator::test {

/// How attention.cu was compiled: its -D options.
struct Variant {
  std::string name;
  uint32_t headDim, warpgroups, blockKeys, stages;
  uint32_t queryBuffers = 2, mode = 1, pingPong = 0, causal = 0, skip = 0;
  std::string stored = ""; ///< A PTX file of tests/emulator/kernels; empty: compiled when needed.

  std::string defines() const;
};

struct Shape {
  uint32_t length, heads;
  /// 1: normal inputs. Above: logits this much larger, rising along the keys. -1: all negative.
  double amplitude = 1;
  uint32_t blocks = 1;
};

/// Inputs and their f64 result.
class AttentionCase {
public:
  AttentionCase(const Variant &variant, const Shape &shape);

  struct Result {
    Outcome outcome;
    double outputError = 0; ///< ||O - O64|| / ||O64||
    double lseError = 0;    ///< Largest absolute error.
    double seconds = 0;     ///< Of the emulator alone.
    std::vector<uint16_t> output;

    /// The error of bf16 attention on this input: P in bf16, O rounded.
    bool valuesAreRight() const { return outputError < 0.006 && lseError < 2e-3; }
    std::string errors() const;
  };

  tilewright::Result<Result> run(const Module &module, const RunOptions &options) const;

private:
  Variant variant;
  Shape shape;
  std::vector<uint16_t> q, k, v;
  std::vector<double> output, lse;
};

/// Normally distributed numbers, the same for the same seed.
std::vector<uint16_t> normalBF16(size_t count, uint64_t seed);

/// ||actual - expected|| / ||expected||, infinite when a number is NaN.
double relativeError(const std::vector<double> &expected,
                     const std::function<double(size_t)> &actual);

/// The text of a file below tests/emulator.
std::string readTestFile(const std::string &name);

/// PTX of a source file: stored in the file `stored`, or made by nvcc where that is empty; empty
/// where there is no nvcc.
std::string ptxOf(const std::string &source, const std::string &defines, const std::string &stored);

/// PTX of a variant: stored, or made by nvcc; empty where there is no nvcc.
std::string ptxOf(const Variant &variant);

/// Compiles CUDA source; empty where there is no nvcc or it fails.
std::string compile(const std::string &source, const std::string &defines);

} // namespace tilewright::emulator::test

#endif // TILEWRIGHT_TESTS_EMULATOR_ATTENTIONKERNEL_H
