//===- OnlineSoftmax.h - The recurrence on lanes ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_CONVERSION_TILETOVECTOR_ONLINESOFTMAX_H
#define TILEWRIGHT_COMPILER_CONVERSION_TILETOVECTOR_ONLINESOFTMAX_H

#include "compiler/Conversion/TileToVector/Elementwise.h"
#include "compiler/Conversion/TileToVector/KeyReach.h"
#include "compiler/Conversion/TileToVector/MicroKernel.h"

namespace tilewright {

/// Emits one step for a group of queries, with a running maximum as reference, into the homes of
/// the step's results. Scores are first evaluated and stored where the weights will be, together
/// with their maximum; then a second pass turns them into weights. `scores`, if given, is the
/// product at the root of the scores: then the first pass is the end of each register tile, before
/// its sums leave the registers. Outside of `reach`, if given, nobody sees a key or asks for a
/// weight.
void emitSoftmaxStep(VectorBuilder &builder, tile::SoftmaxStepOp step, const Homes &homes,
                     const mlir::IRMapping &scalars, tile::MmaOp root, const Product *scores,
                     std::optional<KeyRange> reach, QueryGroup group);

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_CONVERSION_TILETOVECTOR_ONLINESOFTMAX_H
