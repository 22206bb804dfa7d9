//===- PlanSharedMemory.cpp - Give rings their places ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/Passes.h"
#include "dialect/SM/SM.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace tilewright {
#define GEN_PASS_DEF_PLANSHAREDMEMORY
#include "compiler/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace tilewright;

namespace {
struct PlanSharedMemory : tilewright::impl::PlanSharedMemoryBase<PlanSharedMemory> {
  void runOnOperation() override {
    WalkResult planned = getOperation().walk([](sm::GridOp grid) {
      return succeeded(plan(grid)) ? WalkResult::advance() : WalkResult::interrupt();
    });
    if (planned.wasInterrupted())
      signalPassFailure();
  }

  static LogicalResult plan(sm::GridOp grid) {
    SmallVector<sm::CreateRingOp> rings(grid.getBody().getOps<sm::CreateRingOp>());
    int64_t end = 0;
    // Sizes of tiles are multiples of 1024 bytes, to which the swizzle's pattern must be aligned.
    for (sm::CreateRingOp ring : rings) {
      ring.setOffset(end);
      end += ring.getType().getStages() * ring.getType().getTile().getBytes();
    }
    for (sm::CreateRingOp ring : rings) {
      ring.setBarriers(end);
      end += ring.getType().getStages() * 2 * sm::barrierBytes;
    }
    if (end > sm::maxSharedMemory)
      return grid.emitOpError() << "needs " << end << " bytes of shared memory, a block has "
                                << sm::maxSharedMemory;
    grid.setSharedMemory(end);
    return success();
  }
};
} // namespace
