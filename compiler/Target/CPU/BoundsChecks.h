//===- BoundsChecks.h - Checks of an expression's integers, as code -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TARGET_CPU_BOUNDSCHECKS_H
#define TILEWRIGHT_COMPILER_TARGET_CPU_BOUNDSCHECKS_H

#include "compiler/Target/CPU/CheckBuilder.h"
#include "lib/Expression/Expression.h"

#include <functional>

namespace tilewright {

/// The values of one launch, as i64, in the code that is being written.
struct LaunchValues {
  llvm::Value *batch, *heads, *kvHeads, *queryLength, *keyLength;
  /// By their declarations.
  std::function<llvm::Value *(uint32_t scalar)> scalar;
  std::function<llvm::Value *(uint32_t tensor, size_t dimension)> extent;
};

/// Writes what lib/Expression/Bounds.h does for one launch: that no index leaves its tensor, and no
/// arithmetic over positions, lengths and scalars its 32 bits. To be executed only where there is a
/// (b, h, q, k) at all, and after the extents have been checked.
void addBoundsChecks(CheckBuilder &b, const expression::Expression &expression,
                     const expression::Declarations &declarations, const LaunchValues &launch);

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_TARGET_CPU_BOUNDSCHECKS_H
