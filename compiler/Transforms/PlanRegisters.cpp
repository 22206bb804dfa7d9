//===- PlanRegisters.cpp - Move registers to where they are needed --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/Passes.h"
#include "dialect/SM/SM.h"

#include "mlir/IR/BuiltinOps.h"

namespace tilewright {
#define GEN_PASS_DEF_PLANREGISTERS
#include "compiler/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace tilewright;

namespace {
struct PlanRegisters : tilewright::impl::PlanRegistersBase<PlanRegisters> {
  void runOnOperation() override { getOperation().walk(plan); }

  static void plan(sm::GridOp grid) {
    // What one thread that only starts copies gets along with, what a warp that copies needs for
    // its loads in flight, and what leaves ptxas the few registers that it keeps to itself.
    constexpr int64_t toStart = 24, toCopy = 72, most = 240;
    bool copies = false;
    grid.walk([&](sm::CopyOp copy) { copies |= copy.isByThreads(); });
    const int64_t ofProducer = copies ? toCopy : toStart;
    SmallVector<sm::ProducerOp> producers(grid.getBody().getOps<sm::ProducerOp>());
    SmallVector<sm::ConsumersOp> consumers(grid.getBody().getOps<sm::ConsumersOp>());
    int64_t consuming = 0;
    for (sm::ConsumersOp role : consumers)
      consuming += role.getWarpgroups();
    if (producers.empty() || consuming == 0)
      return;
    const int64_t atLaunch = sm::registersAtLaunch(consuming + 1);
    const int64_t ofConsumer =
        std::min(most, ((consuming + 1) * atLaunch - ofProducer) / consuming / 8 * 8);
    for (sm::ProducerOp role : producers)
      role.setRegisters(ofProducer);
    for (sm::ConsumersOp role : consumers)
      role.setRegisters(static_cast<uint64_t>(ofConsumer));
  }
};
} // namespace
