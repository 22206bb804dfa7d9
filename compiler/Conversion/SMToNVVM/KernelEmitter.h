//===- KernelEmitter.h - One kernel from one sm function --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_CONVERSION_SMTONVVM_KERNELEMITTER_H
#define TILEWRIGHT_COMPILER_CONVERSION_SMTONVVM_KERNELEMITTER_H

#include "compiler/Conversion/SMToNVVM/Fragments.h"
#include "compiler/Conversion/SMToNVVM/Parameters.h"
#include "compiler/Conversion/SMToNVVM/Rings.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace tilewright::sm90 {

/// Walks an sm function once and writes the text of its kernel: what a thread does, with vectors
/// for register tiles, i32 for stages, and scf for control flow.
class KernelEmitter {
public:
  /// `kernel` has an empty entry block; `sharedSymbol` is the global of dynamic shared memory.
  KernelEmitter(mlir::func::FuncOp source, mlir::LLVM::LLVMFuncOp kernel,
                llvm::StringRef sharedSymbol);

  /// Errors are reported at the op that cannot be lowered.
  mlir::LogicalResult emit();

private:
  mlir::LogicalResult describeLaunch();
  mlir::LogicalResult emitBlock(mlir::Block &block);
  mlir::LogicalResult emitOp(mlir::Operation &op);
  mlir::LogicalResult emitGrid(sm::GridOp grid);
  mlir::LogicalResult emitRoles(sm::GridOp grid);
  mlir::LogicalResult emitRole(mlir::Operation *role);
  mlir::LogicalResult emitFor(mlir::scf::ForOp loop);
  mlir::LogicalResult emitIf(mlir::scf::IfOp branch);
  mlir::LogicalResult emitDim(mlir::Operation &op);
  mlir::LogicalResult emitLoad(mlir::memref::LoadOp op);
  mlir::LogicalResult emitCopy(sm::CopyOp op);
  void emitCommit(sm::CommitOp op);
  mlir::LogicalResult emitGather(sm::GatherOp op);
  mlir::LogicalResult emitStore(sm::StoreOp op);
  /// Writes the `part`-th of the two rows that a thread has of each 16; `indices` end with it.
  void emitRow(Value target, llvm::ArrayRef<Value> indices, llvm::ArrayRef<Value> tile,
               int64_t part);
  void emitMma(sm::MmaOp op);
  void emitAwait(sm::AwaitOp op);
  mlir::LogicalResult emitConstant(mlir::arith::ConstantOp op);
  mlir::LogicalResult emitElementwise(mlir::Operation &op);

  Value value(Value of);
  llvm::SmallVector<Value> values(ValueRange of);
  Value warpIndex();
  Value asI32(Value index);
  Value asI64(Value index);
  Value asIndex(Value integer);
  /// The address of tensor[indices..., 0...], all i64.
  Value elementAddress(Value tensor, ValueRange indices);
  /// tensor[indices...], all i64.
  Value loadElement(Value tensor, ValueRange indices);
  /// Where a role's work is done under a condition.
  mlir::LogicalResult emitUnder(Value condition, llvm::function_ref<mlir::LogicalResult()> body);

  mlir::func::FuncOp source;
  mlir::LLVM::LLVMFuncOp kernel;
  LocBuilder b;
  Parameters parameters;
  mlir::IRMapping map;
  int64_t threads = 0; // of a block
  Value thread;        // index in the block, i32
  Place place;
  std::optional<Rings> rings;
  bool wholeWarp =
      false; // of the role that is being emitted: all lanes of a producer's warp run it
  std::string sharedSymbol;
};

} // namespace tilewright::sm90

#endif // TILEWRIGHT_COMPILER_CONVERSION_SMTONVVM_KERNELEMITTER_H
