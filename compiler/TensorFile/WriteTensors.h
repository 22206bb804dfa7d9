//===- WriteTensors.h - Writes tensors to files -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The file appears at its path complete or not at all: it is written beside it under a name of its
// own, synced to disk and then renamed. On failure a file that was there before is left as it was.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TENSORFILE_WRITETENSORS_H
#define TILEWRIGHT_COMPILER_TENSORFILE_WRITETENSORS_H

#include "tilewright/result.h"
#include "tilewright/tensor.h"

#include <span>
#include <string>

namespace tilewright {

struct NamedTensor {
  std::string name;
  TensorView view;
};

/// Writes tensors of any strides, row-major, as one safetensors file. Names are UTF-8, distinct,
/// and not "__metadata__". The data are ordered by element size, the largest
/// first, and then by name, so that all are aligned.
Status writeSafetensors(const std::string &path, std::span<const NamedTensor> tensors);

/// Writes a tensor of any strides, row-major, as an .npy file, which cannot hold bf16.
Status writeNpy(const std::string &path, const TensorView &view);

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_TENSORFILE_WRITETENSORS_H
