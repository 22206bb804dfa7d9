//===- Register.h - Every dialect and pass that Tilewright uses -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_PIPELINES_REGISTER_H
#define TILEWRIGHT_COMPILER_PIPELINES_REGISTER_H

namespace mlir {
class DialectRegistry;
}

namespace tilewright {

/// Adds the dialects of all stages, with what their conversions and translations need.
void registerDialects(mlir::DialectRegistry &registry);

/// Makes passes known by name to textual pipelines. Safe to call often, from any thread.
void registerPasses();

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_PIPELINES_REGISTER_H
