//===- OwnedTensor.h - A tensor with its memory -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TENSORFILE_OWNEDTENSOR_H
#define TILEWRIGHT_COMPILER_TENSORFILE_OWNEDTENSOR_H

#include "tilewright/result.h"
#include "tilewright/tensor.h"

#include <cstdlib>
#include <memory>

namespace tilewright {

/// A tensor and the memory that holds it, aligned to 64 bytes. Moving it keeps its address.
class OwnedTensor {
public:
  /// Uninitialised memory for a tensor of `layout`'s dtype, shape and strides (its `data` is not
  /// looked at). The strides must be a permutation of a row-major tensor's, so that as many
  /// elements are held as the shape says. Refused: a shape whose size overflows, and more bytes
  /// than the machine has memory left.
  static Result<OwnedTensor> allocate(const TensorView &layout);

  const TensorView &view() const { return tensor; }
  size_t sizeInBytes() const { return bytes; }

private:
  struct Free {
    void operator()(void *memory) const { std::free(memory); }
  };
  std::unique_ptr<void, Free> memory;
  size_t bytes = 0;
  TensorView tensor;
};

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_TENSORFILE_OWNEDTENSOR_H
