//===- Parameters.cpp - What a kernel is launched with --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/SMToNVVM/Parameters.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::sm90;

Parameters::Parameters(func::FuncOp source, LLVM::LLVMFuncOp kernel)
    : source(source), kernel(kernel), entry(OpBuilder::atBlockBegin(&kernel.getBody().front())) {}

bool Parameters::isArgument(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && argument.getOwner() == &source.getBody().front();
}

Value Parameters::parameter(sm::ParameterKind kind, Value argument, int64_t detail, Type type) {
  const auto number = static_cast<int64_t>(cast<BlockArgument>(argument).getArgNumber());
  auto wanted = sm::ParameterAttr::get(source.getContext(), kind, number, detail);
  Block &block = kernel.getBody().front();
  const auto *known = llvm::find(list, wanted);
  if (known != list.end())
    return block.getArgument(static_cast<unsigned>(known - list.begin()));
  list.push_back(wanted);
  return block.addArgument(type, argument.getLoc());
}

Value Parameters::constant(int64_t value, Location location) {
  // In front of all that the block has by now.
  entry.setInsertionPointToStart(&kernel.getBody().front());
  return LLVM::ConstantOp::create(entry, location, entry.getI64Type(),
                                  entry.getI64IntegerAttr(value));
}

Value Parameters::scalar(Value argument) {
  return parameter(sm::ParameterKind::Scalar, argument, 0, argument.getType());
}

Value Parameters::address(Value tensor) {
  return parameter(sm::ParameterKind::Address, tensor, 0,
                   LLVM::LLVMPointerType::get(source.getContext(), 1));
}

Value Parameters::extent(Value tensor, int64_t dim) {
  auto type = cast<MemRefType>(tensor.getType());
  if (!type.isDynamicDim(dim))
    return constant(type.getDimSize(dim), tensor.getLoc());
  return parameter(sm::ParameterKind::Extent, tensor, dim, entry.getI64Type());
}

Value Parameters::stride(Value tensor, int64_t dim) {
  auto [strides, offset] = cast<MemRefType>(tensor.getType()).getStridesAndOffset();
  const int64_t known = strides[static_cast<size_t>(dim)];
  if (!ShapedType::isDynamic(known))
    return constant(known, tensor.getLoc());
  return parameter(sm::ParameterKind::Stride, tensor, dim, entry.getI64Type());
}

Value Parameters::tensorMap(Value tensor, int64_t rows) {
  return parameter(sm::ParameterKind::TensorMap, tensor, rows,
                   LLVM::LLVMPointerType::get(source.getContext()));
}

ArrayAttr Parameters::finish() {
  Block &block = kernel.getBody().front();
  kernel.setFunctionType(LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(entry.getContext()),
                                                     llvm::to_vector(block.getArgumentTypes())));
  for (auto [number, parameter] : llvm::enumerate(list)) {
    if (parameter.getKind() != sm::ParameterKind::TensorMap)
      continue;
    const auto index = static_cast<unsigned>(number);
    kernel.setArgAttr(index, "llvm.byval",
                      TypeAttr::get(LLVM::LLVMArrayType::get(entry.getI8Type(), 128)));
    kernel.setArgAttr(index, "nvvm.grid_constant", entry.getUnitAttr());
    kernel.setArgAttr(index, "llvm.align", entry.getI64IntegerAttr(64));
  }
  return entry.getArrayAttr(llvm::to_vector_of<Attribute>(list));
}
