//===- Plan.cpp - Which loads become rings, and who fills them ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/TileToSM/Plan.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::tile_to_sm;

const RingPlan &Plan::ringOf(tile::LoadOp load) const {
  const auto *found =
      llvm::find_if(rings, [&](const RingPlan &ring) { return ring.source == load.getSource(); });
  assert(found != rings.end() && "every load has a ring");
  return *found;
}

namespace {
enum class Use { Left, RightColumns, RightDepth };

/// What a loaded tile is to the products that use it.
FailureOr<Use> useOf(tile::LoadOp load) {
  std::optional<Use> use;
  for (OpOperand &operand : load.getResult().getUses()) {
    auto mma = dyn_cast<tile::MmaOp>(operand.getOwner());
    if (!mma || operand.get() == mma.getAccumulator())
      return operand.getOwner()->emitOpError()
             << "uses a loaded tile; on this target only products do";
    const Use here = operand.getOperandNumber() == 0 ? Use::Left
                     : mma.getTransposeRhs()         ? Use::RightColumns
                                                     : Use::RightDepth;
    if (use && *use != here)
      return load.emitOpError()
             << "is the left operand of one product and the right one of another";
    use = here;
  }
  return *use;
}
} // namespace

FailureOr<Plan> tile_to_sm::makePlan(scf::ForallOp forall, int64_t stages) {
  Plan plan;
  plan.forall = forall;
  int64_t blockRows = 0;
  forall.walk([&](tile::MmaOp mma) { blockRows = mma.getResult().getType().getDimSize(0); });
  WalkResult walked = forall.walk([&](tile::LoadOp load) {
    FailureOr<Use> use = useOf(load);
    if (failed(use))
      return WalkResult::interrupt();
    const bool isLeft = *use == Use::Left;
    RankedTensorType tile = load.getResult().getType();
    if (tile.getRank() != 2)
      return load.emitOpError() << "loads a row vector; not on this target",
             WalkResult::interrupt();
    if (isLeft && load->getBlock() != forall.getBody())
      return load.emitOpError() << "loads a left operand in a loop; not on this target",
             WalkResult::interrupt();
    auto emitError = [&] { return load.emitOpError(); };
    auto shared =
        sm::SharedType::getChecked(emitError, load.getContext(), tile.getDimSize(0),
                                   sm::paddedColumns(tile.getDimSize(1)), tile.getElementType());
    if (!shared)
      return WalkResult::interrupt();
    auto type = sm::RingType::getChecked(emitError, load.getContext(), shared, isLeft ? 1 : stages);
    if (!type)
      return WalkResult::interrupt();
    for (const RingPlan &ring : plan.rings)
      if (ring.source == load.getSource()) {
        if (ring.type != type)
          return load.emitOpError() << "loads tiles of another shape than an earlier load of the "
                                       "same tensor; not on this target",
                 WalkResult::interrupt();
        return WalkResult::advance();
      }
    StringRef producer = *use == Use::RightDepth ? "values" : "keys";
    plan.rings.push_back(
        {isLeft ? "queries" : producer.str(), producer, load.getSource(), type, {}});
    if (!llvm::is_contained(plan.producers, producer))
      plan.producers.push_back(producer);
    return WalkResult::advance();
  });
  if (walked.wasInterrupted())
    return failure();
  if (blockRows == 0 || blockRows % sm::productRows != 0 || blockRows > 4 * sm::productRows)
    return forall.emitOpError() << "works on blocks of " << blockRows << " rows; this target takes "
                                << sm::productRows << ", 128, 192 or 256";
  plan.warpgroups = blockRows / sm::productRows;
  return plan;
}
