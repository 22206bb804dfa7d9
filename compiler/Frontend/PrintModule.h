//===- PrintModule.h - MLIR as text for people ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_FRONTEND_PRINTMODULE_H
#define TILEWRIGHT_COMPILER_FRONTEND_PRINTMODULE_H

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace tilewright {

/// A module as a stage shows it. Values whose location is a NameLoc carry its name; arguments of
/// functions are given the one of their `attn.name`, those of score and mask regions that of the
/// expression language. Names say nothing to the parser.
std::string printModule(mlir::ModuleOp module);

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_FRONTEND_PRINTMODULE_H
