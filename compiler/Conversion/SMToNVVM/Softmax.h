//===- Softmax.h - The online softmax in registers --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In a thread: two rows' references m, two partial sums l, and the elements of
// its part of the tile. -inf stands for "none": the subtraction of none is
// replaced by that of 0, which leaves hidden scores (-inf) at exp(-inf) = 0.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_CONVERSION_SMTONVVM_SOFTMAX_H
#define TILEWRIGHT_COMPILER_CONVERSION_SMTONVVM_SOFTMAX_H

#include "compiler/Conversion/SMToNVVM/Instructions.h"

namespace tilewright::sm90 {

struct SoftmaxState {
  Value reference, sum; // vector<2xf32>
};

SoftmaxState softmaxInit(LocBuilder &b);

struct SoftmaxStep {
  Value weights;
  SoftmaxState state;
  Value alpha;
};
SoftmaxStep softmaxStep(LocBuilder &b, Value scores, SoftmaxState state);

/// accumulator[i] * alpha of its row.
Value rescale(LocBuilder &b, Value accumulator, Value alpha);

struct SoftmaxResult {
  Value out, lse;
};
SoftmaxResult softmaxFinalize(LocBuilder &b, Value accumulator, SoftmaxState state);

} // namespace tilewright::sm90

#endif // TILEWRIGHT_COMPILER_CONVERSION_SMTONVVM_SOFTMAX_H
