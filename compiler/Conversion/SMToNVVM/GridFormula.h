//===- GridFormula.h - How many blocks, as formulas -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A grid's bounds are computed by whoever launches the kernel, before any code of
// it runs, so they must be formulas and not ops.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_CONVERSION_SMTONVVM_GRIDFORMULA_H
#define TILEWRIGHT_COMPILER_CONVERSION_SMTONVVM_GRIDFORMULA_H

#include "dialect/SM/SM.h"

#include "mlir/IR/AffineMap.h"

namespace tilewright::sm90 {

/// The bounds as expressions over symbols, and the `#sm.parameter` of each symbol.
struct GridFormula {
  mlir::AffineMap bounds;
  llvm::SmallVector<mlir::Attribute> extents;
};

/// Errors are reported at what is no sum, difference, product or quotient of numbers and of extents
/// of the function's arguments.
mlir::FailureOr<GridFormula> gridFormula(sm::GridOp grid);

} // namespace tilewright::sm90

#endif // TILEWRIGHT_COMPILER_CONVERSION_SMTONVVM_GRIDFORMULA_H
