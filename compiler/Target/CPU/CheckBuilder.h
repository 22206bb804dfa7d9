//===- CheckBuilder.h - Code that refuses what it cannot take ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of an object (ObjectFunctions.h) check what they are given: each
// check is a comparison, a number for its failure and a sentence.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TARGET_CPU_CHECKBUILDER_H
#define TILEWRIGHT_COMPILER_TARGET_CPU_CHECKBUILDER_H

#include <llvm/IR/IRBuilder.h>

#include <string>
#include <vector>

namespace tilewright {

/// Writes a function that returns a status: an i32, 0 or the number of what is wrong.
class CheckBuilder : public llvm::IRBuilder<> {
public:
  /// The sentence for each status is added to `sentences`, at its number.
  CheckBuilder(llvm::Function *function, std::vector<std::string> &sentences)
      : IRBuilder(llvm::BasicBlock::Create(function->getContext(), "", function)),
        function(function), sentences(sentences) {}

  llvm::BasicBlock *newBlock() { return llvm::BasicBlock::Create(getContext(), "", function); }

  /// Returns a new status here unless `isRight`.
  void require(llvm::Value *isRight, std::string sentence) {
    requireAs(static_cast<int32_t>(sentences.size()), isRight);
    sentences.push_back(std::move(sentence));
  }

  /// The same with a status that has its sentence.
  void requireAs(int32_t status, llvm::Value *isRight) {
    llvm::BasicBlock *refusal = newBlock(), *next = newBlock();
    CreateCondBr(isRight, next, refusal);
    SetInsertPoint(refusal);
    CreateRet(getInt32(static_cast<uint32_t>(status)));
    SetInsertPoint(next);
  }

  /// Returns here if `status`, a value, is not 0.
  void passOn(llvm::Value *status) {
    llvm::BasicBlock *refusal = newBlock(), *next = newBlock();
    CreateCondBr(CreateIsNull(status), next, refusal);
    SetInsertPoint(refusal);
    CreateRet(status);
    SetInsertPoint(next);
  }

  llvm::Value *number(int64_t value) { return getInt64(static_cast<uint64_t>(value)); }
  llvm::Value *minimum(llvm::Value *a, llvm::Value *b) {
    return CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b);
  }
  llvm::Value *maximum(llvm::Value *a, llvm::Value *b) {
    return CreateBinaryIntrinsic(llvm::Intrinsic::smax, a, b);
  }
  llvm::Value *isWithin(llvm::Value *value, int64_t low, int64_t high) {
    return CreateAnd(CreateICmpSGE(value, number(low)), CreateICmpSLE(value, number(high)));
  }

private:
  llvm::Function *function;
  std::vector<std::string> &sentences;
};

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_TARGET_CPU_CHECKBUILDER_H
