//===- ElementTypes.h - DTypes and the types of elements --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_FRONTEND_ELEMENTTYPES_H
#define TILEWRIGHT_COMPILER_FRONTEND_ELEMENTTYPES_H

#include <tilewright/tensor.h>

#include "mlir/IR/Types.h"

#include <optional>
#include <string>

namespace tilewright {

/// u8 and bool are both i8.
mlir::Type elementTypeOf(DType dtype, mlir::MLIRContext *context);

/// The inverse, which reads i8 as u8; nothing for a type that no tensor has.
std::optional<DType> dtypeOf(mlir::Type elementType);

/// The type as IR writes it, for messages.
std::string describe(mlir::Type type);

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_FRONTEND_ELEMENTTYPES_H
