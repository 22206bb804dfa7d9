//===- ArgumentsStruct.cpp - The struct that an object's functions take ---===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/CPU/ArgumentsStruct.h"

#include <algorithm>

using namespace llvm;
using namespace tilewright;

static Type *typeOf(const KernelArgument &argument, bool isOfProblem, LLVMContext &context) {
  switch (argument.kind) {
  case KernelArgument::Kind::Tensor:
    break;
  case KernelArgument::Kind::I32:
    return Type::getInt32Ty(context);
  case KernelArgument::Kind::F32:
    return Type::getFloatTy(context);
  case KernelArgument::Kind::F64:
    return Type::getDoubleTy(context);
  }
  auto *pointer = PointerType::getUnqual(context);
  auto *numbers = ArrayType::get(Type::getInt64Ty(context), argument.shape.size());
  return isOfProblem ? StructType::get(pointer, numbers)
                     : StructType::get(pointer, numbers, numbers);
}

ArgumentsStruct::ArgumentsStruct(const ObjectDescription &object, Value *pointer)
    : object(&object), pointer(pointer) {
  LLVMContext &context = pointer->getContext();
  SmallVector<Type *> fields(std::size(problemExtents), Type::getInt64Ty(context));
  for (auto [i, argument] : enumerate(arguments()))
    fields.push_back(typeOf(argument, interface().role(i) != nullptr, context));
  type = StructType::get(context, fields);
}

Value *ArgumentsStruct::address(IRBuilderBase &b, ArrayRef<unsigned> place) const {
  SmallVector<Value *> indices = {b.getInt32(0)};
  for (unsigned index : place)
    indices.push_back(b.getInt32(index));
  return b.CreateInBoundsGEP(type, pointer, indices);
}

Value *ArgumentsStruct::load(IRBuilderBase &b, Type *field, ArrayRef<unsigned> place) const {
  return b.CreateLoad(field, address(b, place));
}

static unsigned fieldOf(size_t argument) {
  return static_cast<unsigned>(std::size(problemExtents) + argument);
}

Value *ArgumentsStruct::extent(IRBuilderBase &b, Dimension dimension) const {
  const auto *found = std::ranges::find(problemExtents, dimension);
  return load(b, b.getInt64Ty(), static_cast<unsigned>(found - std::begin(problemExtents)));
}

Value *ArgumentsStruct::data(IRBuilderBase &b, size_t argument) const {
  return load(b, b.getPtrTy(), {fieldOf(argument), 0});
}

Value *ArgumentsStruct::addressOfScalar(IRBuilderBase &b, size_t argument) const {
  return address(b, fieldOf(argument));
}

Value *ArgumentsStruct::scalar(IRBuilderBase &b, size_t argument) const {
  return load(b, type->getElementType(fieldOf(argument)), fieldOf(argument));
}

Value *ArgumentsStruct::stride(IRBuilderBase &b, size_t argument, size_t dimension) const {
  const unsigned strides = interface().role(argument) ? 1 : 2;
  return load(b, b.getInt64Ty(), {fieldOf(argument), strides, static_cast<unsigned>(dimension)});
}

Value *ArgumentsStruct::extent(IRBuilderBase &b, size_t argument, size_t dimension) const {
  const ProblemTensor *role = interface().role(argument);
  if (!role)
    return load(b, b.getInt64Ty(), {fieldOf(argument), 1, static_cast<unsigned>(dimension)});
  if (std::ranges::find(problemExtents, role->dimensions[dimension]) != std::end(problemExtents))
    return extent(b, role->dimensions[dimension]);
  return b.getInt64(static_cast<uint64_t>(arguments()[argument].shape[dimension]));
}
