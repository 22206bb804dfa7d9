//===- Signature.h - The arguments of a program -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a launch must know of the program that it calls: which value goes where,
// and which extents and strides the program takes for granted. It is read from
// the function at stage attn or tile, before it becomes code.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_FRONTEND_SIGNATURE_H
#define TILEWRIGHT_COMPILER_FRONTEND_SIGNATURE_H

#include <tilewright/result.h>
#include <tilewright/tensor.h>

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace tilewright {

/// An extent or a stride that is known only at launch.
inline constexpr int64_t anyExtent = -1;

struct Parameter {
  /// "query", "key", "value", "out", "lse", "scale", or the name of a captured scalar or tensor.
  std::string name;
  /// Of an element, or of a scalar (I32, F32 or F64). U8 stands for Bool too.
  DType dtype = DType::F32;
  bool isTensor = false;
  /// One for each dimension of a tensor, anyExtent where dynamic.
  std::vector<int64_t> shape, strides;
};

struct Signature {
  /// The name of the function.
  std::string function;
  std::vector<Parameter> parameters;

  const Parameter *find(std::string_view name) const;
};

/// Reads the one public function of a module at stage attn or tile. Refused: none or several, an
/// argument without `attn.name` or with one twice, a type that no host can pass.
Result<Signature> readSignature(mlir::ModuleOp module);

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_FRONTEND_SIGNATURE_H
