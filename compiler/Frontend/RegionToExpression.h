//===- RegionToExpression.h - Scalar IR as an expression --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_FRONTEND_REGIONTOEXPRESSION_H
#define TILEWRIGHT_COMPILER_FRONTEND_REGIONTOEXPRESSION_H

#include "lib/Expression/Expression.h"

#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir {
class Region;
}

namespace tilewright {

/// Where values from outside of a region are declared: the index of a scalar or of a tensor.
using Captured = llvm::DenseMap<mlir::Value, uint32_t>;

/// Reads the score or mask region of an attn.forward back. An op without counterpart is refused
/// with its place, as is a value from outside that is neither captured nor a constant.
Result<expression::Expression> readRegion(mlir::Region &region, expression::Role role,
                                          const expression::Declarations &declarations,
                                          const Captured &captured);

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_FRONTEND_REGIONTOEXPRESSION_H
