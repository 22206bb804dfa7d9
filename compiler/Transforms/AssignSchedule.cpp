//===- AssignSchedule.cpp - Say how problems are cut into tiles -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/Passes.h"
#include "dialect/Attn/Attn.h"
#include "dialect/Tile/Tile.h"

#include "mlir/IR/BuiltinOps.h"

namespace tilewright {
#define GEN_PASS_DEF_ASSIGNSCHEDULE
#include "compiler/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace tilewright;

namespace {
struct AssignSchedule : tilewright::impl::AssignScheduleBase<AssignSchedule> {
  using AssignScheduleBase::AssignScheduleBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto emitError = [&] { return module.emitError(); };
    auto schedule = tile::ScheduleAttr::getChecked(emitError, &getContext(), blockQ.getValue(),
                                                   blockKV.getValue());
    if (!schedule)
      return signalPassFailure();
    module.walk([&](attn::ForwardOp forward) {
      if (!forward->hasAttr(tile::scheduleAttribute))
        forward->setAttr(tile::scheduleAttribute, schedule);
    });
  }
};
} // namespace
