//===- BuildProblem.h - From a problem to attn IR ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_FRONTEND_BUILDPROBLEM_H
#define TILEWRIGHT_COMPILER_FRONTEND_BUILDPROBLEM_H

#include "compiler/Frontend/ParsedProblem.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace tilewright {

/// A module with one function that holds one attn.forward:
///
///   func.func @attention(%query, %key, %value, %out, %lse, %scale, scalars..., tensors...)
///
/// %lse only where the problem has it. Every argument carries its name as `attn.name`, tensors have
/// dynamic strides. Scores are composed in order into one region, masks and-ed into another.
/// The context has the dialects of registerDialects.
mlir::OwningOpRef<mlir::ModuleOp> buildProblem(const ParsedProblem &problem,
                                               mlir::MLIRContext &context);

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_FRONTEND_BUILDPROBLEM_H
