//===- Rings.h - Stages and phases ------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A ring has two mbarriers a stage, full and empty. An mbarrier counts arrivals
// and, when all are there, ends its phase; a wait names a parity and passes once
// the phase of that parity is over. Each role walks a ring on its own:
//
//   round         0 0 0 1 1 1 2 ...     (three stages)
//   stage         0 1 2 0 1 2 0 ...
//   full parity   0 0 0 1 1 1 0 ...     a consumer waits for the round's filling
//   empty parity  1 1 1 0 0 0 1 ...     a producer waits for the round before: in round 0 a fresh
//                                       barrier counts as if parity 1 were over
//
// Where a role stands in a ring is a pair of values that loops carry along.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_CONVERSION_SMTONVVM_RINGS_H
#define TILEWRIGHT_COMPILER_CONVERSION_SMTONVVM_RINGS_H

#include "compiler/Conversion/SMToNVVM/Instructions.h"
#include "dialect/SM/SM.h"

#include "llvm/ADT/MapVector.h"

namespace tilewright::sm90 {

/// For the launch of the kernel. The ring has its place.
sm::RingPlaceAttr placeOf(sm::CreateRingOp ring);

class Rings {
public:
  explicit Rings(Value sharedBase) : sharedBase(sharedBase) {}

  /// Initialises the barriers of a ring; for one thread.
  void initialise(LocBuilder &b, sm::CreateRingOp ring);

  /// A role that starts at the first stage of all rings.
  void enterRole(LocBuilder &b, mlir::Operation *role);

  /// The next stage of the role, an i32, after its wait.
  Value acquire(LocBuilder &b, sm::CreateRingOp ring) { return take(b, ring, /*full=*/false); }
  Value wait(LocBuilder &b, sm::CreateRingOp ring) { return take(b, ring, /*full=*/true); }

  /// Addresses in shared memory.
  Value fullBarrier(LocBuilder &b, sm::CreateRingOp ring, Value stage);
  Value emptyBarrier(LocBuilder &b, sm::CreateRingOp ring, Value stage);
  Value tile(LocBuilder &b, sm::CreateRingOp ring, Value stage);

  /// The rings in which the role moves inside of `op`, and where it stands in each: two values a
  /// ring, to be carried through a loop.
  llvm::SmallVector<sm::CreateRingOp> movedIn(mlir::Operation *op) const;
  llvm::SmallVector<Value> positions(llvm::ArrayRef<sm::CreateRingOp> rings) const;
  void setPositions(llvm::ArrayRef<sm::CreateRingOp> rings, ValueRange values);

private:
  struct Position {
    Value stage, parity;
  };

  Value take(LocBuilder &b, sm::CreateRingOp ring, bool full);
  Value at(LocBuilder &b, int64_t offset, Value stage, int64_t pitch);

  Value sharedBase;
  llvm::MapVector<mlir::Operation *, Position> position;
};

} // namespace tilewright::sm90

#endif // TILEWRIGHT_COMPILER_CONVERSION_SMTONVVM_RINGS_H
