//===- CollectDiagnostics.h - MLIR's diagnostics as an Error ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_FRONTEND_COLLECTDIAGNOSTICS_H
#define TILEWRIGHT_COMPILER_FRONTEND_COLLECTDIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"

#include <string>
#include <vector>

namespace tilewright {

/// While it lives, errors of a context are kept here instead of being printed; other diagnostics
/// are dropped. The first few suffice: what follows is mostly their consequence.
class CollectDiagnostics {
public:
  explicit CollectDiagnostics(mlir::MLIRContext &context);

  /// The errors seen, one a line as "line:column: message"; `otherwise` if there was none.
  std::string message(std::string_view otherwise) const;

private:
  static constexpr size_t limit = 4;
  std::vector<std::string> errors;
  size_t dropped = 0;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_FRONTEND_COLLECTDIAGNOSTICS_H
