//===- InlineRegion.h - A user's scalar function over a tile ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A score or mask region is scalar code. Over a tile, what depends on a query or
// key position (or on the score) becomes elementwise code on tiles, and what does
// not stays scalar: `slope[h] * (k - q)` reads the slope once.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_CONVERSION_ATTNTOTILE_INLINEREGION_H
#define TILEWRIGHT_COMPILER_CONVERSION_ATTNTOTILE_INLINEREGION_H

#include "dialect/Attn/Attn.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tilewright {

/// Writes the region's code at the builder's place and returns what it yields, as a tile of
/// `tileShape`. `arguments` stand for the region's, each a scalar or a tile of that shape.
mlir::Value inlineOverTile(mlir::ImplicitLocOpBuilder &builder, mlir::Region &region,
                           mlir::ValueRange arguments, llvm::ArrayRef<int64_t> tileShape);

/// Writes the scalar code that computes `value`, a value of the region that depends on no captured
/// tensor (or one from outside of it), with `arguments` for the region's.
mlir::Value inlineScalar(mlir::ImplicitLocOpBuilder &builder, mlir::Region &region,
                         mlir::ValueRange arguments, mlir::Value value);

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_CONVERSION_ATTNTOTILE_INLINEREGION_H
