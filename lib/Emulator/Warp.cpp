//===- Warp.cpp - A warp's loop -------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Emulator/Machine.h"

#include <bit>

using namespace tilewright;
using namespace tilewright::emulator;

const uint32_t *Warp::list(Range range) const {
  return block->machine.module.lists.data() + range.first;
}

void Warp::record(const Op &op, FindingKind kind, const Evidence &evidence, std::string message) {
  if (block->finding)
    return;
  Finding finding;
  finding.kind = kind;
  finding.message = std::move(message);
  finding.at = block->codeLine(op.line, &op);
  if (evidence.otherLine)
    finding.other = block->codeLine(evidence.otherLine);
  finding.block = block->position;
  finding.warp = id;
  finding.seed = block->machine.options.seed;
  finding.space = evidence.space;
  finding.address = evidence.address;
  if (finding.space == "shared")
    finding.place = block->placeOf(evidence.address);
  else if (finding.space == "global")
    finding.place = block->machine.memory.placeOf(evidence.address);
  block->finding = std::move(finding);
}

bool Warp::checkTracked(const Op &op) {
  const uint32_t *indices = list(op.tracked);
  for (uint32_t i = 0; i < op.tracked.count; ++i) {
    TrackedRegister &reg = tracked[indices[i]];
    if (reg.group > matrixDone)
      return reject(op, FindingKind::InFlightRegister, {},
                    "{} of a wgmma that was not waited for is read or written",
                    reg.role ? "an accumulator" : "an A register");
    reg.lastAccess = matrixFence;
  }
  return true;
}

Clocks Warp::release(uint32_t mask) {
  Clocks result = clocks;
  const Component mine = warpComponent(id);
  if (unsyncedLanes & ~mask) {
    result.plain[mine] = syncEpoch;
    result.proxy[mine] = std::min(result.proxy[mine], syncEpoch);
  }
  ++clocks.plain[mine];
  return result;
}

void Warp::synchronizeLanes() {
  unsyncedLanes = 0;
  syncEpoch = clocks.plain[warpComponent(id)];
  ++clocks.plain[warpComponent(id)];
}

bool Warp::run(uint32_t quantum) {
  Machine &machine = block->machine;
  const Op *ops = machine.module.ops.data();
  Observer *observer = machine.options.observer;
  bool goOn = true, switched = false;
  uint64_t instructions = 0, threadInstructions = 0;
  while (quantum-- && goOn) {
    Path *path = &paths.back();
    while (path->pc == path->reconvergence) {
      paths.pop_back();
      path = &paths.back();
    }
    const Op &op = ops[path->pc];
    uint32_t mask = path->mask;
    if (observer && !observer->before(*this, path->pc)) {
      block->stopped = true;
      goOn = false;
      break;
    }
    if (op.guard >= 0) {
      mask &= op.guardNegated ? ~predicates[op.guard] : predicates[op.guard];
      if (!mask) {
        ++path->pc;
        ++instructions;
        continue;
      }
    }
    block->executed[path->pc] = 1;
    if (op.tracked.count && !checkTracked(op)) {
      goOn = false;
      break;
    }
    if (op.aligned && mask != fullMask) {
      goOn = reject(op, FindingKind::NonUniform, {},
                    "an .aligned instruction is executed by lanes {:08x} of the warp alone", mask);
      break;
    }
    const Flow flow = op.execute(*this, op, mask);
    if (flow == Flow::Blocked) {
      // The other side of a divergent branch may go on while these lanes wait for an mbarrier.
      const size_t depth = paths.size();
      if (state == WarpState::OnMbarrier && !switched && depth >= 2 &&
          paths[depth - 2].reconvergence == paths[depth - 1].reconvergence) {
        std::swap(paths[depth - 2], paths[depth - 1]);
        switched = true;
        state = WarpState::Ready;
        continue;
      }
      goOn = false;
      break;
    }
    if (flow == Flow::Fault) {
      goOn = false;
      break;
    }
    switched = false;
    ++instructions;
    threadInstructions += static_cast<uint64_t>(std::popcount(mask));
    if (state == WarpState::Done)
      goOn = false;
    else if (flow == Flow::Next)
      ++paths.back().pc;
  }
  block->statistics.warpInstructions += instructions;
  block->statistics.threadInstructions += threadInstructions;
  return goOn;
}
