//===- ParseModule.h - MLIR from text that nobody vouches for ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_FRONTEND_PARSEMODULE_H
#define TILEWRIGHT_COMPILER_FRONTEND_PARSEMODULE_H

#include <tilewright/result.h>

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string_view>

namespace tilewright {

/// Longer text is refused.
inline constexpr size_t maxModuleBytes = size_t{64} << 20;
/// Brackets of all kinds nest no deeper: MLIR's parser recurses, and this keeps its stack small.
inline constexpr size_t maxModuleNesting = 256;

/// Parses and verifies a module in the dialects that `context` has; its ops are located in a file
/// called `name`. The error carries the first
/// diagnostics as "line:column: message" instead of printing them. Bytecode is refused.
Result<mlir::OwningOpRef<mlir::ModuleOp>>
parseModule(std::string_view text, mlir::MLIRContext &context, std::string_view name = "module");

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_FRONTEND_PARSEMODULE_H
