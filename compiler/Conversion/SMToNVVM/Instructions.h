//===- Instructions.h - What an sm_90a thread can be told -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Single instructions as functions that build them: NVVM ops where MLIR has them,
// inline PTX where it has none (products with operands in registers, waits that
// hold registers back) or where its op would name shared memory by a 64-bit
// pointer. Shared memory is addressed by i32 throughout. Semantics: NVIDIA's PTX
// ISA 8.7.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_CONVERSION_SMTONVVM_INSTRUCTIONS_H
#define TILEWRIGHT_COMPILER_CONVERSION_SMTONVVM_INSTRUCTIONS_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tilewright::sm90 {

using LocBuilder = mlir::ImplicitLocOpBuilder;
using mlir::Type;
using mlir::Value;
using mlir::ValueRange;

/// Integer constants of 32 bits.
Value constant(LocBuilder &b, int64_t value);

/// One whose value ptxas does not know.
Value hiddenConstant(LocBuilder &b, int64_t value);

/// threadIdx.x and blockIdx.x, i32.
Value threadIndex(LocBuilder &b);
Value blockIndex(LocBuilder &b);
/// The dynamic shared memory's address; `symbol` is its global.
Value sharedMemoryBase(LocBuilder &b, llvm::StringRef symbol);

/// Lane 0's value in all lanes: also tells ptxas that it is uniform.
Value fromFirstLane(LocBuilder &b, Value value);
/// The value of lane `lane ^ mask`.
Value exchange(LocBuilder &b, Value value, int mask);

/// 2^x and log2(x), approximate, denormals flushed; 1/x likewise. f32.
Value exp2(LocBuilder &b, Value x);
Value log2(LocBuilder &b, Value x);
Value reciprocal(LocBuilder &b, Value x);

/// All threads of the block.
void blockBarrier(LocBuilder &b);
/// More (or fewer) registers for the threads of this warpgroup than the launch gave them.
void setRegisters(LocBuilder &b, int64_t count, bool increase);

/// All lanes of the warp.
void warpBarrier(LocBuilder &b);
/// Shows this thread's writes to shared memory to the tensor cores.
void sharedProxyFence(LocBuilder &b);
void storeShared(LocBuilder &b, Value address, Value word);

void barrierInit(LocBuilder &b, Value address, int64_t count);
/// Makes initialised barriers visible to the copy engine.
void barrierInitFence(LocBuilder &b);
void barrierArrive(LocBuilder &b, Value address);
/// The same in the lanes where `lane` is 0, once `after` (f32, or null) is computed.
void barrierArriveFromFirstLane(LocBuilder &b, Value address, Value lane, Value after);
void barrierExpect(LocBuilder &b, Value address, int64_t bytes);
/// Spins until the phase of this parity is over.
void barrierWait(LocBuilder &b, Value address, Value parity);

/// Starts a copy of a box at `coordinates` (i32, innermost first) to shared memory.
void copyBox(LocBuilder &b, Value destination, Value tensorMap, Value barrier,
             ValueRange coordinates);

/// Orders what threads did to these registers before the products that follow; returns them.
llvm::SmallVector<Value> productFence(LocBuilder &b, ValueRange registers);
/// One wgmma m64nNk16. `lhs` is one i64 descriptor or four i32 registers, `accumulator` N / 2 f32
/// or empty for zero. Returns the N / 2 registers of the result, in flight.
llvm::SmallVector<Value> product(LocBuilder &b, int64_t columns, Type element, ValueRange lhs,
                                 Value rhsDescriptor, bool rhsIsColumnsByDepth,
                                 ValueRange accumulator);
void commitProducts(LocBuilder &b);
/// Waits until at most `pending` groups are in flight; returns the registers, ready.
llvm::SmallVector<Value> waitForProducts(LocBuilder &b, int64_t pending, ValueRange registers);

} // namespace tilewright::sm90

#endif // TILEWRIGHT_COMPILER_CONVERSION_SMTONVVM_INSTRUCTIONS_H
