//===- ExpressionToRegion.h - Expressions as scalar IR ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_FRONTEND_EXPRESSIONTOREGION_H
#define TILEWRIGHT_COMPILER_FRONTEND_EXPRESSIONTOREGION_H

#include "lib/Expression/Expression.h"

#include "mlir/IR/Builders.h"

namespace tilewright {

/// The IR values that an expression's names stand for.
struct RegionNames {
  mlir::Value score; // none in a mask
  /// b, h, hkv, q, k, q_len, kv_len.
  mlir::ValueRange positions;
  /// By index of declaration.
  mlir::ValueRange scalars, tensors;
};

/// Emits an expression at the builder's insertion point, one node after the other, and returns its
/// value: i1 for a mask, `real` (f32 or f64) for a score.
mlir::Value emitExpression(mlir::OpBuilder &builder, mlir::Location location,
                           const expression::Expression &expression,
                           const expression::Declarations &declarations, const RegionNames &names,
                           mlir::Type real);

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_FRONTEND_EXPRESSIONTOREGION_H
