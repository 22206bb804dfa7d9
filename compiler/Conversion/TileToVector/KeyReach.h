//===- KeyReach.h - Keys that nobody in a group sees ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_CONVERSION_TILETOVECTOR_KEYREACH_H
#define TILEWRIGHT_COMPILER_CONVERSION_TILETOVECTOR_KEYREACH_H

#include "compiler/Conversion/TileToVector/VectorBuilder.h"

#include "mlir/IR/IRMapping.h"

namespace tilewright {

/// Scores of a partial block are a `select` of -inf where a mask hides the key. Its comparisons of
/// the key's position with the query's, or with a number, bound the columns from above: returns how
/// many columns of the tile, from its first on, a query of the group can see, at least 0 and at
/// most all; or null if no comparison says anything. `scalars` maps the program's scalars.
mlir::Value reachOfKeys(VectorBuilder &builder, mlir::Value scores, QueryGroup group,
                        const mlir::IRMapping &scalars);

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_CONVERSION_TILETOVECTOR_KEYREACH_H
