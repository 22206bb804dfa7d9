//===- Rings.cpp - Stages and phases --------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/SMToNVVM/Rings.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::sm90;

using sm::barrierBytes;

sm::RingPlaceAttr sm90::placeOf(sm::CreateRingOp ring) {
  sm::RingType type = ring.getType();
  return sm::RingPlaceAttr::get(ring.getContext(), ring.getNameAttr(), type.getStages(),
                                type.getTile().getBytes(), static_cast<int64_t>(*ring.getOffset()),
                                static_cast<int64_t>(*ring.getBarriers()));
}

Value Rings::at(LocBuilder &b, int64_t offset, Value stage, int64_t pitch) {
  Value first = arith::AddIOp::create(b, sharedBase, constant(b, offset));
  return arith::AddIOp::create(b, first, arith::MulIOp::create(b, stage, constant(b, pitch)));
}

Value Rings::fullBarrier(LocBuilder &b, sm::CreateRingOp ring, Value stage) {
  return at(b, *ring.getBarriers(), stage, barrierBytes);
}

Value Rings::emptyBarrier(LocBuilder &b, sm::CreateRingOp ring, Value stage) {
  return at(b, *ring.getBarriers() + ring.getType().getStages() * barrierBytes, stage,
            barrierBytes);
}

Value Rings::tile(LocBuilder &b, sm::CreateRingOp ring, Value stage) {
  return at(b, *ring.getOffset(), stage, ring.getType().getTile().getBytes());
}

void Rings::initialise(LocBuilder &b, sm::CreateRingOp ring) {
  for (int64_t stage = 0; stage < ring.getType().getStages(); ++stage) {
    barrierInit(b, fullBarrier(b, ring, constant(b, stage)), 1);
    barrierInit(b, emptyBarrier(b, ring, constant(b, stage)), ring.getArrivals());
  }
}

void Rings::enterRole(LocBuilder &b, Operation *role) {
  position.clear();
  const bool isProducer = isa<sm::ProducerOp>(role);
  for (sm::CreateRingOp ring : role->getBlock()->getOps<sm::CreateRingOp>())
    position[ring] = {constant(b, 0), constant(b, isProducer ? 1 : 0)};
}

Value Rings::take(LocBuilder &b, sm::CreateRingOp ring, bool full) {
  auto [stage, parity] = position[ring];
  barrierWait(b, full ? fullBarrier(b, ring, stage) : emptyBarrier(b, ring, stage), parity);
  Value next = arith::AddIOp::create(b, stage, constant(b, 1));
  Value wraps = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, next,
                                      constant(b, ring.getType().getStages()));
  Value turned = arith::XOrIOp::create(b, parity, constant(b, 1));
  position[ring] = {arith::SelectOp::create(b, wraps, constant(b, 0), next),
                    arith::SelectOp::create(b, wraps, turned, parity)};
  return stage;
}

SmallVector<sm::CreateRingOp> Rings::movedIn(Operation *op) const {
  llvm::SmallPtrSet<Operation *, 4> moved;
  op->walk([&](Operation *inner) {
    if (isa<sm::AcquireOp, sm::WaitOp>(inner))
      moved.insert(inner->getOperand(0).getDefiningOp());
  });
  SmallVector<sm::CreateRingOp> rings;
  for (const auto &entry : position)
    if (moved.contains(entry.first))
      rings.push_back(cast<sm::CreateRingOp>(entry.first));
  return rings;
}

SmallVector<Value> Rings::positions(ArrayRef<sm::CreateRingOp> rings) const {
  SmallVector<Value> values;
  for (sm::CreateRingOp ring : rings) {
    const Position &at = position.find(ring)->second;
    values.append({at.stage, at.parity});
  }
  return values;
}

void Rings::setPositions(ArrayRef<sm::CreateRingOp> rings, ValueRange values) {
  for (auto [number, ring] : llvm::enumerate(rings))
    position[ring] = {values[2 * number], values[2 * number + 1]};
}
