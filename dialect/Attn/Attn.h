//===- Attn.h - The attn dialect --------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_DIALECT_ATTN_ATTN_H
#define TILEWRIGHT_DIALECT_ATTN_ATTN_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialect/Attn/AttnDialect.h.inc"

#define GET_OP_CLASSES
#include "dialect/Attn/AttnOps.h.inc"

namespace tilewright::attn {

/// The argument attribute that holds the name of a captured scalar or tensor.
inline constexpr llvm::StringLiteral nameAttribute = "attn.name";

/// floor(lhs / rhs) with the language's total rules: 0 for a zero divisor, wrapping otherwise.
int32_t floorDiv(int32_t lhs, int32_t rhs);
/// The remainder that goes with floorDiv; 0 for a zero divisor.
int32_t floorMod(int32_t lhs, int32_t rhs);

} // namespace tilewright::attn

#endif // TILEWRIGHT_DIALECT_ATTN_ATTN_H
