//===- Signature.h - What a kernel's functions take -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vector code has one pair of functions, `X_items(arguments...) -> index` and
// `X(arguments..., item)`. The signature is read from them before they are
// lowered: the llvm dialect no longer knows what a memref was.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TARGET_CPU_SIGNATURE_H
#define TILEWRIGHT_COMPILER_TARGET_CPU_SIGNATURE_H

#include <tilewright/result.h>
#include <tilewright/tensor.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace tilewright {

struct KernelArgument {
  enum class Kind { Tensor, I32, F32, F64 };

  /// An extent or stride that the type leaves open.
  static constexpr int64_t dynamic = std::numeric_limits<int64_t>::min();

  /// From the attribute attn.name, and what Arguments and messages call it: "query", "window".
  std::string name;
  Kind kind = Kind::Tensor;
  /// Of a tensor only. An i8 memref is U8 and takes Bool too.
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
};

struct Signature {
  /// X, without "_items".
  std::string function;
  std::vector<KernelArgument> arguments;
  /// Stack that one item uses for its tiles.
  int64_t scratchBytes = 0;
};

/// Refused: no such pair or several, functions that differ in their arguments, an argument without
/// a name or with one used twice, types that no host tensor or scalar has, scratch of a size known
/// only at run time or above 4 MiB.
Result<Signature> extractSignature(mlir::ModuleOp vectorModule);

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_TARGET_CPU_SIGNATURE_H
