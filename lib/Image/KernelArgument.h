//===- KernelArgument.h - What a kernel takes -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_LIB_IMAGE_KERNELARGUMENT_H
#define TILEWRIGHT_LIB_IMAGE_KERNELARGUMENT_H

#include <tilewright/tensor.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace tilewright {

struct KernelArgument {
  enum class Kind : uint8_t { Tensor, I32, F32, F64 };

  /// An extent or stride that the type leaves open.
  static constexpr int64_t dynamic = std::numeric_limits<int64_t>::min();

  /// What Arguments and messages call it: "query", "window".
  std::string name;
  Kind kind = Kind::Tensor;
  /// Of a tensor only, as all that follow. A U8 takes Bool too.
  DType dtype = DType::F32;
  std::vector<int64_t> shape = {};
  std::vector<int64_t> strides = {};

  bool operator==(const KernelArgument &) const = default;
};

/// A launch is checked in storage of this size, without allocating; a kernel with more arguments is
/// refused when it is made.
constexpr size_t maxArguments = 64;

} // namespace tilewright

#endif // TILEWRIGHT_LIB_IMAGE_KERNELARGUMENT_H
