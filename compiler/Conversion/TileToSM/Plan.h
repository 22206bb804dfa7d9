//===- Plan.h - Which loads become rings, and who fills them ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_CONVERSION_TILETOSM_PLAN_H
#define TILEWRIGHT_COMPILER_CONVERSION_TILETOSM_PLAN_H

#include "dialect/SM/SM.h"
#include "dialect/Tile/Tile.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilewright::tile_to_sm {

/// All loads from one tensor into tiles of one shape go through one ring.
struct RingPlan {
  std::string name;
  llvm::StringRef producer;
  mlir::Value source;
  sm::RingType type;
  mlir::Value ring; // once it is created
};

/// How a tile program is spread over a multiprocessor.
struct Plan {
  mlir::scf::ForallOp forall;
  sm::GridOp grid;
  int64_t warpgroups = 0;
  llvm::SmallVector<RingPlan> rings;
  llvm::SmallVector<llvm::StringRef> producers;

  const RingPlan &ringOf(tile::LoadOp load) const;
};

/// Left operands stay for a whole block and have one stage; right operands have `stages`. One
/// producer loads left operands and what is multiplied by columns (keys), another one what is
/// multiplied by depth (values), so that neither ring waits for the other. Errors are reported at
/// the op that this target cannot do.
mlir::FailureOr<Plan> makePlan(mlir::scf::ForallOp forall, int64_t stages);

} // namespace tilewright::tile_to_sm

#endif // TILEWRIGHT_COMPILER_CONVERSION_TILETOSM_PLAN_H
