//===- RandomTensor.h - Tensors of normal numbers ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_RANDOMTENSOR_H
#define TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_RANDOMTENSOR_H

#include "compiler/TensorFile/OwnedTensor.h"

#include <array>

namespace tilewright::tool {

/// A row-major tensor of normal numbers (mean 0, variance 1), rounded to `dtype`, f32 or another
/// floating type. An element depends on `seed`, `stream` and its index alone, not on the machine.
Result<OwnedTensor> randomTensor(DType dtype, const std::array<int64_t, 4> &shape, uint64_t seed,
                                 uint64_t stream);

} // namespace tilewright::tool

#endif // TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_RANDOMTENSOR_H
