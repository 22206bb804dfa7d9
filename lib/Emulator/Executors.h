//===- Executors.h - What instructions do -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Executors of everything that is not a plain operation on lanes. Each stands in
// the file of its subject; the decode functions of Opcodes.cpp say how an Op's
// fields are filled for it.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_LIB_EMULATOR_EXECUTORS_H
#define TILEWRIGHT_LIB_EMULATOR_EXECUTORS_H

#include "lib/Emulator/Module.h"

namespace tilewright::emulator {

// LaneMoves.cpp
Flow executeMoveNarrow(Warp &, const Op &, uint32_t);
Flow executeMoveWide(Warp &, const Op &, uint32_t);
Flow executeMovePredicate(Warp &, const Op &, uint32_t);
Flow executeAddWindow(Warp &, const Op &, uint32_t);
Flow executeSelectNarrow(Warp &, const Op &, uint32_t);
Flow executeSelectWide(Warp &, const Op &, uint32_t);
Flow executePackWide(Warp &, const Op &, uint32_t);
Flow executePackNarrow(Warp &, const Op &, uint32_t);
Flow executeUnpackWide(Warp &, const Op &, uint32_t);
Flow executeUnpackNarrow(Warp &, const Op &, uint32_t);
Flow executeClockNarrow(Warp &, const Op &, uint32_t);
Flow executeClockWide(Warp &, const Op &, uint32_t);
Flow executeBitFieldInsert(Warp &, const Op &, uint32_t);
Flow executeLogic3(Warp &, const Op &, uint32_t);
Flow executePredicateLogic(Warp &, const Op &, uint32_t);

// LoadStore.cpp
Flow executeLoad(Warp &, const Op &, uint32_t);
Flow executeStore(Warp &, const Op &, uint32_t);
Flow executeAtomic(Warp &, const Op &, uint32_t);
Flow executeVectorReduction(Warp &, const Op &, uint32_t);
Flow executeLoadMatrix(Warp &, const Op &, uint32_t);
Flow executeStoreMatrix(Warp &, const Op &, uint32_t);

// WarpOps.cpp
Flow executeBranch(Warp &, const Op &, uint32_t);
Flow executeExit(Warp &, const Op &, uint32_t);
Flow executeTrap(Warp &, const Op &, uint32_t);
Flow executeNothing(Warp &, const Op &, uint32_t);
Flow executeShuffle(Warp &, const Op &, uint32_t);
Flow executeVote(Warp &, const Op &, uint32_t);
Flow executeActiveMask(Warp &, const Op &, uint32_t);
Flow executeReduce(Warp &, const Op &, uint32_t);
Flow executeElect(Warp &, const Op &, uint32_t);
Flow executeWarpSync(Warp &, const Op &, uint32_t);

// BlockOps.cpp
Flow executeBarrierSync(Warp &, const Op &, uint32_t);
Flow executeBarrierArrive(Warp &, const Op &, uint32_t);
Flow executeFence(Warp &, const Op &, uint32_t);
Flow executeSetRegisters(Warp &, const Op &, uint32_t);

// Mbarrier.cpp
Flow executeMbarrierInit(Warp &, const Op &, uint32_t);
Flow executeMbarrierInvalidate(Warp &, const Op &, uint32_t);
Flow executeMbarrierArrive(Warp &, const Op &, uint32_t);
Flow executeMbarrierExpect(Warp &, const Op &, uint32_t);
Flow executeMbarrierWait(Warp &, const Op &, uint32_t);

// Copy.cpp
Flow executeTensorLoad(Warp &, const Op &, uint32_t);
Flow executeTensorStore(Warp &, const Op &, uint32_t);
Flow executeBulkLoad(Warp &, const Op &, uint32_t);
Flow executeBulkStore(Warp &, const Op &, uint32_t);
Flow executeStoreCommit(Warp &, const Op &, uint32_t);
Flow executeStoreWait(Warp &, const Op &, uint32_t);
Flow executeAsyncCopy(Warp &, const Op &, uint32_t);
Flow executeAsyncCommit(Warp &, const Op &, uint32_t);
Flow executeAsyncWait(Warp &, const Op &, uint32_t);

// Matrix.cpp
Flow executeWgmma(Warp &, const Op &, uint32_t);
Flow executeWgmmaFence(Warp &, const Op &, uint32_t);
Flow executeWgmmaCommit(Warp &, const Op &, uint32_t);
Flow executeWgmmaWait(Warp &, const Op &, uint32_t);
Flow executeMmaSync(Warp &, const Op &, uint32_t);

/// fence variants.
enum FenceVariant : uint32_t { FenceOrdinary, FenceProxyAsync, FenceMbarrierInit };

/// Element types of matrix instructions, as they stand in Op::variant.
enum MatrixType : uint32_t { MatrixBF16, MatrixF16, MatrixE4M3, MatrixE5M2 };

/// Op::variant of wgmma: A type in bits 0-1, B type in bits 2-3, then these.
enum WgmmaBits : uint32_t {
  WgmmaNegateA = 1 << 4,
  WgmmaNegateB = 1 << 5,
  WgmmaTransposeA = 1 << 6,
  WgmmaTransposeB = 1 << 7,
};

/// Op::variant of atomics.
enum AtomicOperation : uint32_t {
  AtomicAdd,
  AtomicMin,
  AtomicMax,
  AtomicExchange,
  AtomicCompareSwap,
  AtomicIncrement,
  AtomicDecrement,
  AtomicAnd,
  AtomicOr,
  AtomicXor,
};
enum AtomicBits : uint32_t { AtomicOperationMask = 15, AtomicFloat = 16, AtomicSigned = 32 };

/// Op::variant of shuffles and votes.
enum ShuffleMode : uint32_t { ShuffleUp, ShuffleDown, ShuffleButterfly, ShuffleIndex };
enum VoteMode : uint32_t { VoteAny, VoteAll, VoteUniform, VoteBallot, VoteNegate = 8 };

/// Op::variant of mbarrier instructions.
enum MbarrierBits : uint32_t { MbarrierExpect = 1, MbarrierRelaxed = 2, MbarrierTest = 4 };

} // namespace tilewright::emulator

#endif // TILEWRIGHT_LIB_EMULATOR_EXECUTORS_H
