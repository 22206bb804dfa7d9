//===- MissingInstructions.cpp - What a processor cannot do ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/CPU/MissingInstructions.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/Target/TargetMachine.h>

using namespace llvm;

/// Rounding is adding a number so large that the sum has no fraction, and taking it away again.
static Value *floorOf(IRBuilder<> &b, Value *x) {
  Type *type = x->getType();
  const bool isDouble = type->getScalarType()->isDoubleTy();
  Constant *large = ConstantFP::get(type, isDouble ? 0x1p52 : 0x1p23);
  Value *magic = b.CreateCopySign(large, x);
  Value *nearest = b.CreateFSub(b.CreateFAdd(x, magic), magic);
  Value *below = b.CreateFSub(nearest, ConstantFP::get(type, 1));
  Value *result = b.CreateSelect(b.CreateFCmpOGT(nearest, x), below, nearest);
  Value *hasFraction = b.CreateFCmpOLT(b.CreateUnaryIntrinsic(Intrinsic::fabs, x), large);
  return b.CreateSelect(hasFraction, b.CreateCopySign(result, x), x);
}

static Type *withElement(Type *type, Type *element) {
  auto *vector = dyn_cast<VectorType>(type);
  return vector ? VectorType::get(element, vector->getElementCount()) : element;
}

/// The bits of an f16, moved to their places in an f32, are that number times 2^-112, as a
/// subnormal one if need be.
static Value *floatFromHalf(IRBuilder<> &b, Value *x) {
  Type *type = x->getType();
  Type *integer = withElement(type, b.getInt32Ty()), *real = withElement(type, b.getFloatTy());
  const auto number = [&](uint32_t value) { return ConstantInt::get(integer, value); };
  Value *bits = b.CreateZExt(b.CreateBitCast(x, withElement(type, b.getInt16Ty())), integer);
  Value *magnitude = b.CreateShl(b.CreateAnd(bits, number(0x7FFF)), number(13));
  Value *scaled = b.CreateFMul(b.CreateBitCast(magnitude, real), ConstantFP::get(real, 0x1p112));
  Value *isFinite = b.CreateICmpULT(magnitude, number(0x7C00 << 13));
  magnitude = b.CreateSelect(isFinite, b.CreateBitCast(scaled, integer),
                             b.CreateOr(magnitude, number(0x7F800000)));
  Value *sign = b.CreateShl(b.CreateAnd(bits, number(0x8000)), number(16));
  return b.CreateBitCast(b.CreateOr(magnitude, sign), real);
}

/// To nearest, ties to even: of a number that is normal as an f16 the sum with half a last place
/// carries where it must; a smaller one is rounded by the addition of 1/2, whose last place is
/// that of the subnormal numbers.
static Value *halfFromFloat(IRBuilder<> &b, Value *x) {
  Type *type = x->getType();
  Type *integer = withElement(type, b.getInt32Ty());
  const auto number = [&](uint32_t value) { return ConstantInt::get(integer, value); };
  Value *bits = b.CreateBitCast(x, integer);
  Value *sign = b.CreateAnd(bits, number(0x80000000));
  Value *magnitude = b.CreateXor(bits, sign);

  constexpr uint32_t oneHalf = 0x3F000000, leastNormal = 113 << 23, pastLargest = 143 << 23;
  Value *small = b.CreateFAdd(b.CreateBitCast(magnitude, type), ConstantFP::get(type, 0.5));
  small = b.CreateSub(b.CreateBitCast(small, integer), number(oneHalf));
  Value *isOdd = b.CreateAnd(b.CreateLShr(magnitude, number(13)), number(1));
  Value *normal = b.CreateAdd(magnitude, number(0xFFFu - (112u << 23)));
  normal = b.CreateLShr(b.CreateAdd(normal, isOdd), number(13));
  Value *isNaN = b.CreateICmpUGT(magnitude, number(0x7F800000));
  Value *large = b.CreateSelect(isNaN, number(0x7E00), number(0x7C00));

  Value *result = b.CreateSelect(b.CreateICmpULT(magnitude, number(leastNormal)), small, normal);
  result = b.CreateSelect(b.CreateICmpUGE(magnitude, number(pastLargest)), large, result);
  result = b.CreateOr(result, b.CreateLShr(sign, number(16)));
  result = b.CreateTrunc(result, withElement(type, b.getInt16Ty()));
  return b.CreateBitCast(result, withElement(type, b.getHalfTy()));
}

/// From one block to another a bf16 goes as its bits: LLVM would widen it and call a function that
/// narrows it again.
static void passAsBits(PHINode &phi) {
  IRBuilder<> builder(&phi);
  Type *integer = withElement(phi.getType(), builder.getInt16Ty());
  PHINode *bits = builder.CreatePHI(integer, phi.getNumIncomingValues());
  for (auto [value, block] : zip_equal(phi.incoming_values(), phi.blocks())) {
    builder.SetInsertPoint(block->getTerminator());
    bits->addIncoming(builder.CreateBitCast(value, integer), block);
  }
  builder.SetInsertPoint(phi.getParent(), phi.getParent()->getFirstInsertionPt());
  phi.replaceAllUsesWith(builder.CreateBitCast(bits, phi.getType()));
  phi.eraseFromParent();
}

void tilewright::writeOutMissingInstructions(Module &module, const TargetMachine &machine) {
  if (!machine.getTargetTriple().isX86())
    return;
  const bool hasFloor = machine.getMCSubtargetInfo()->checkFeatures("+sse4.1");
  const bool hasHalf = machine.getMCSubtargetInfo()->checkFeatures("+f16c");
  const auto writtenOut = [&](IRBuilder<> &b, Instruction &op) -> Value * {
    if (op.getNumOperands() == 0)
      return nullptr;
    Value *x = op.getOperand(0);
    const Type *from = x->getType()->getScalarType(), *to = op.getType()->getScalarType();
    if (auto *call = dyn_cast<IntrinsicInst>(&op))
      return call->getIntrinsicID() == Intrinsic::floor && !hasFloor ? floorOf(b, x) : nullptr;
    if (isa<FPExtInst>(op) && from->isHalfTy() && !hasHalf)
      return b.CreateFPExt(floatFromHalf(b, x), op.getType());
    if (isa<FPTruncInst>(op) && from->isFloatTy() && to->isHalfTy() && !hasHalf)
      return halfFromFloat(b, x);
    return nullptr;
  };
  for (Function &function : module)
    for (Instruction &op : make_early_inc_range(instructions(function))) {
      if (auto *phi = dyn_cast<PHINode>(&op);
          phi && phi->getType()->getScalarType()->isBFloatTy()) {
        passAsBits(*phi);
        continue;
      }
      IRBuilder<> builder(&op);
      if (Value *value = writtenOut(builder, op)) {
        op.replaceAllUsesWith(value);
        op.eraseFromParent();
      }
    }
}
