//===- ReadProblem.h - From attn IR back to a problem -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The inverse of BuildProblem.h, so that a hand-written .mlir file has a
// reference and is checked at launch like a problem of strings.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_FRONTEND_READPROBLEM_H
#define TILEWRIGHT_COMPILER_FRONTEND_READPROBLEM_H

#include "compiler/Frontend/ParsedProblem.h"

#include "mlir/IR/BuiltinOps.h"

namespace tilewright {

/// Reads the one function with the one attn.forward of a module. Refused, with the reason: none or
/// several of them, operands that are not arguments of the function (the scale may be a constant),
/// captured arguments without a name or with one twice, code without a counterpart in the
/// expression language. Tensors of i8 are read as u8.
Result<ParsedProblem> readProblem(mlir::ModuleOp module);

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_FRONTEND_READPROBLEM_H
