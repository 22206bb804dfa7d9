//===- KeyReach.h - The keys that a group may see ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_CONVERSION_TILETOVECTOR_KEYREACH_H
#define TILEWRIGHT_COMPILER_CONVERSION_TILETOVECTOR_KEYREACH_H

#include "compiler/Conversion/TileToVector/VectorBuilder.h"

#include "mlir/IR/IRMapping.h"

namespace tilewright {

/// Columns of a tile of scores, of which there are none where `begin` is not below `end`.
struct KeyRange {
  mlir::Value begin; ///< at least 0, perhaps beyond all columns; null for 0
  mlir::Value end;   ///< at least 0 and at most all columns
};

/// Scores of a partial block are a `select` of -inf where a mask hides the key. Its comparisons of
/// the key's position with the query's, or with a number, bound the columns from above and from
/// below: returns those that a query of the group can see at most, or nothing if no comparison says
/// anything. `scalars` maps the program's scalars.
std::optional<KeyRange> reachOfKeys(VectorBuilder &builder, mlir::Value scores, QueryGroup group,
                                    const mlir::IRMapping &scalars);

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_CONVERSION_TILETOVECTOR_KEYREACH_H
