//===- LaunchChecks.cpp - What an object checks before it runs ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/CPU/LaunchChecks.h"
#include "compiler/Target/CPU/BoundsChecks.h"

#include <fmt/format.h>

using namespace llvm;
using namespace tilewright;

namespace {
constexpr int64_t maxExtent = expression::Sizes::maxExtent;

/// A tensor as the checks see it.
struct Tensor {
  std::string label;
  const KernelArgument *argument;
  bool isOutput;
  Value *data, *isEmpty;
  SmallVector<Value *> extents, strides;
  /// Bytes from the first element in memory to the end of the last one; equal where it is empty.
  Value *begin, *end;
};

bool isTensor(const KernelArgument &argument) {
  return argument.kind == KernelArgument::Kind::Tensor;
}

std::string labelOf(const ArgumentsStruct &arguments, size_t i) {
  const std::string &name = arguments.arguments()[i].name;
  return arguments.interface().role(i) ? name : fmt::format("tensor '{}'", name);
}

Tensor loadTensor(CheckBuilder &b, const ArgumentsStruct &arguments, size_t i) {
  const KernelArgument &argument = arguments.arguments()[i];
  const ProblemTensor *role = arguments.interface().role(i);
  Tensor tensor{.label = labelOf(arguments, i),
                .argument = &argument,
                .isOutput = role && role->isOutput,
                .data = arguments.data(b, i),
                .isEmpty = b.getFalse(),
                .extents = {},
                .strides = {},
                .begin = nullptr,
                .end = nullptr};
  for (size_t dim = 0; dim < argument.shape.size(); ++dim) {
    tensor.extents.push_back(arguments.extent(b, i, dim));
    tensor.strides.push_back(arguments.stride(b, i, dim));
    tensor.isEmpty = b.CreateOr(tensor.isEmpty, b.CreateIsNull(tensor.extents.back()));
  }
  return tensor;
}

/// Collects whether a sum or product ever left its bits.
class Exact {
public:
  explicit Exact(CheckBuilder &b) : b(b), overflows(b.getFalse()) {}

  Value *apply(Intrinsic::ID operation, Value *x, Value *y) {
    Value *pair = b.CreateBinaryIntrinsic(operation, x, y);
    overflows = b.CreateOr(overflows, b.CreateExtractValue(pair, 1));
    return b.CreateExtractValue(pair, 0);
  }

  CheckBuilder &b;
  Value *overflows;
};

/// LaunchArguments.cpp has the same: checkType and checkMemory.
void checkTensor(CheckBuilder &b, Tensor &tensor) {
  const KernelArgument &argument = *tensor.argument;
  for (size_t dim = 0; dim < argument.shape.size(); ++dim)
    if (argument.strides[dim] != KernelArgument::dynamic)
      b.require(b.CreateOr(b.CreateICmpSLE(tensor.extents[dim], b.number(1)),
                           b.CreateICmpEQ(tensor.strides[dim], b.number(argument.strides[dim]))),
                fmt::format("{}: the stride of dimension {} must be {}", tensor.label, dim,
                            argument.strides[dim]));
  b.require(b.CreateOr(tensor.isEmpty, b.CreateIsNotNull(tensor.data)),
            fmt::format("{}: the pointer is null", tensor.label));
  const auto size = static_cast<int64_t>(sizeOf(argument.dtype));
  Value *address = b.CreatePtrToInt(tensor.data, b.getInt64Ty());
  b.require(
      b.CreateOr(tensor.isEmpty,
                 b.CreateIsNull(b.CreateAnd(address, static_cast<uint64_t>(size - 1)))),
      fmt::format("{}: the pointer is no multiple of its elements' {} bytes", tensor.label, size));

  Exact exact(b);
  Value *count = b.number(1), *low = b.number(0), *high = b.number(size);
  for (auto [extent, stride] : zip_equal(tensor.extents, tensor.strides)) {
    count = exact.apply(Intrinsic::smul_with_overflow, count, extent);
    Value *reach =
        exact.apply(Intrinsic::smul_with_overflow, b.CreateSub(extent, b.number(1)), stride);
    reach = exact.apply(Intrinsic::smul_with_overflow, reach, b.number(size));
    Value *isBackwards = b.CreateICmpSLT(stride, b.number(0));
    low = exact.apply(Intrinsic::sadd_with_overflow, low,
                      b.CreateSelect(isBackwards, reach, b.number(0)));
    high = exact.apply(Intrinsic::sadd_with_overflow, high,
                       b.CreateSelect(isBackwards, b.number(0), reach));
  }
  tensor.begin = exact.apply(Intrinsic::usub_with_overflow, address, b.CreateNeg(low));
  tensor.end = exact.apply(Intrinsic::uadd_with_overflow, address, high);
  b.require(b.CreateOr(tensor.isEmpty, b.CreateNot(exact.overflows)),
            fmt::format("{}: extents and strides do not fit the address space", tensor.label));
  tensor.begin = b.CreateSelect(tensor.isEmpty, b.number(0), tensor.begin);
  tensor.end = b.CreateSelect(tensor.isEmpty, b.number(0), tensor.end);
}

/// Every dimension's stride goes beyond all that the dimensions of smaller strides reach; of equal
/// strides one comes first.
void checkNoSharedElements(CheckBuilder &b, const Tensor &tensor) {
  const size_t rank = tensor.extents.size();
  SmallVector<Value *> strides, reaches;
  for (auto [extent, stride] : zip_equal(tensor.extents, tensor.strides)) {
    strides.push_back(
        b.CreateBinaryIntrinsic(Intrinsic::abs, stride, b.getInt1(/*minimum is poison*/ false)));
    reaches.push_back(b.CreateMul(b.CreateSub(extent, b.number(1)), strides.back()));
  }
  Value *isRight = tensor.isEmpty;
  Value *areApart = b.getTrue();
  for (size_t i = 0; i < rank; ++i) {
    Value *reach = b.number(0);
    for (size_t j = 0; j < rank; ++j) {
      if (j == i)
        continue;
      Value *isSmaller =
          j < i ? b.CreateICmpSLE(strides[j], strides[i]) : b.CreateICmpSLT(strides[j], strides[i]);
      reach = b.CreateAdd(reach, b.CreateSelect(isSmaller, reaches[j], b.number(0)));
    }
    Value *isLine = b.CreateICmpSLE(tensor.extents[i], b.number(1));
    areApart = b.CreateAnd(areApart, b.CreateOr(isLine, b.CreateICmpSGT(strides[i], reach)));
  }
  b.require(b.CreateOr(isRight, areApart),
            fmt::format("{}: these strides let elements share memory, and an output's must not",
                        tensor.label));
}

void checkOutputs(CheckBuilder &b, ArrayRef<Tensor> tensors) {
  for (const Tensor &output : tensors) {
    if (!output.isOutput)
      continue;
    checkNoSharedElements(b, output);
    for (const Tensor &other : tensors)
      if (&other != &output)
        b.require(b.CreateOr(b.CreateICmpULE(other.end, output.begin),
                             b.CreateICmpULE(output.end, other.begin)),
                  fmt::format("{} overlaps {}; an output needs memory of its own, from its first "
                              "element to its last",
                              output.label, other.label));
  }
}

void checkExpressions(CheckBuilder &b, const ArgumentsStruct &arguments) {
  const LaunchExpressions &expressions = arguments.interface().expressions();
  if (expressions.scores.empty() && expressions.masks.empty())
    return;
  const auto find = [&](const std::string &name) {
    return static_cast<size_t>(
        std::ranges::find(arguments.arguments(), name, &KernelArgument::name) -
        arguments.arguments().begin());
  };
  const auto &scalars = expressions.declarations.scalars();
  const auto &tensors = expressions.declarations.tensors();
  const LaunchValues launch{.batch = arguments.extent(b, Dimension::Batch),
                            .heads = arguments.extent(b, Dimension::Heads),
                            .kvHeads = arguments.extent(b, Dimension::KvHeads),
                            .queryLength = arguments.extent(b, Dimension::QueryLength),
                            .keyLength = arguments.extent(b, Dimension::KeyLength),
                            .scalar = [&](uint32_t scalar) -> Value * {
                              if (scalars[scalar].type != expression::Type::I32)
                                return b.number(0);
                              return b.CreateSExt(arguments.scalar(b, find(scalars[scalar].name)),
                                                  b.getInt64Ty());
                            },
                            .extent = [&](uint32_t tensor, size_t dimension) -> Value * {
                              return arguments.extent(b, find(tensors[tensor].name), dimension);
                            }};
  Value *isEmpty = b.getFalse();
  for (Dimension dimension : problemExtents)
    isEmpty = b.CreateOr(isEmpty, b.CreateIsNull(arguments.extent(b, dimension)));
  BasicBlock *check = b.newBlock(), *done = b.newBlock();
  b.CreateCondBr(isEmpty, done, check);
  b.SetInsertPoint(check);
  for (const auto *list : {&expressions.scores, &expressions.masks})
    for (const expression::Expression &expression : *list)
      addBoundsChecks(b, expression, expressions.declarations, launch);
  b.CreateBr(done);
  b.SetInsertPoint(done);
}
} // namespace

void tilewright::addExtentChecks(CheckBuilder &b, const ArgumentsStruct &arguments) {
  for (Dimension dimension : problemExtents)
    b.require(b.isWithin(arguments.extent(b, dimension), 0, maxExtent),
              fmt::format("{} must be from 0 to {}", nameOf(dimension), maxExtent));
  Value *heads = arguments.extent(b, Dimension::Heads);
  Value *kvHeads = arguments.extent(b, Dimension::KvHeads);
  Value *isMultiple = b.CreateIsNull(b.CreateSRem(heads, b.maximum(kvHeads, b.number(1))));
  b.require(b.CreateOr(b.CreateIsNull(heads), b.CreateAnd(b.CreateIsNotNull(kvHeads), isMultiple)),
            "heads must be a multiple of kv_heads");
  for (auto [i, argument] : enumerate(arguments.arguments())) {
    if (!isTensor(argument))
      continue;
    const ProblemTensor *role = arguments.interface().role(i);
    for (size_t dim = 0; dim < argument.shape.size(); ++dim) {
      Value *extent = arguments.extent(b, i, dim);
      if (!role)
        b.require(b.isWithin(extent, 0, maxExtent),
                  fmt::format("{}: the extent of dimension {} must be from 0 to {}",
                              labelOf(arguments, i), dim, maxExtent));
      if (argument.shape[dim] != KernelArgument::dynamic && !isa<Constant>(extent))
        b.require(b.CreateICmpEQ(extent, b.number(argument.shape[dim])),
                  fmt::format("{}: the extent of dimension {} must be {}", labelOf(arguments, i),
                              dim, argument.shape[dim]));
    }
  }
}

void tilewright::addArgumentChecks(CheckBuilder &b, const ArgumentsStruct &arguments) {
  std::vector<Tensor> tensors;
  for (auto [i, argument] : enumerate(arguments.arguments()))
    if (isTensor(argument)) {
      tensors.push_back(loadTensor(b, arguments, i));
      checkTensor(b, tensors.back());
    }
  checkOutputs(b, tensors);
  if (const size_t scale = arguments.interface().scale(); scale != KernelInterface::none) {
    Value *value = arguments.scalar(b, scale);
    if (value->getType()->isFloatingPointTy())
      b.require(b.CreateFCmpOLT(b.CreateUnaryIntrinsic(Intrinsic::fabs, value),
                                ConstantFP::getInfinity(value->getType())),
                "scale must be finite");
  }
  checkExpressions(b, arguments);
}
