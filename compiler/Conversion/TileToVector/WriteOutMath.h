//===- WriteOutMath.h - Functions as vector operations ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_CONVERSION_TILETOVECTOR_WRITEOUTMATH_H
#define TILEWRIGHT_COMPILER_CONVERSION_TILETOVECTOR_WRITEOUTMATH_H

#include "compiler/Conversion/TileToVector/VectorBuilder.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tilewright {

/// Replaces exp, exp2, log, log2 and tanh by arithmetic. A function that occurs often becomes one
/// of its own next to `function` and is called: the code generator takes more than linear time for
/// long straight code.
void writeOutMath(mlir::func::FuncOp function, VectorShape shape);

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_CONVERSION_TILETOVECTOR_WRITEOUTMATH_H
