//===- BuildProblem.cpp - From a problem to attn IR -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/BuildProblem.h"

#include "compiler/Frontend/ElementTypes.h"
#include "compiler/Frontend/ExpressionToRegion.h"
#include "dialect/Attn/Attn.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace tilewright;

/// A tensor of which everything but the innermost extent is known only at launch. With `isRowwise`
/// its rows are contiguous, which is what loads of whole tiles build on.
static MemRefType tensorType(size_t rank, int64_t innermost, Type element, bool isRowwise) {
  SmallVector<int64_t> shape(rank, ShapedType::kDynamic), strides(rank, ShapedType::kDynamic);
  shape.back() = innermost;
  if (isRowwise)
    strides.back() = 1;
  return MemRefType::get(
      shape, element, StridedLayoutAttr::get(element.getContext(), ShapedType::kDynamic, strides));
}

namespace {
/// The function's arguments, in order.
struct ArgumentList {
  SmallVector<Type> types;
  SmallVector<StringRef> names;

  void add(StringRef name, Type type) {
    names.push_back(name);
    types.push_back(type);
  }
};
} // namespace

static ArgumentList argumentsOf(const ParsedProblem &problem, Type real, Builder &builder) {
  const Type element = elementTypeOf(problem.dtype, builder.getContext());
  const Type outElement = elementTypeOf(problem.outDType, builder.getContext());
  ArgumentList arguments;
  arguments.add("query", tensorType(4, problem.headDim, element, true));
  arguments.add("key", tensorType(4, problem.headDim, element, true));
  arguments.add("value", tensorType(4, problem.valueDim, element, true));
  arguments.add("out", tensorType(4, problem.valueDim, outElement, true));
  if (problem.lse)
    arguments.add("lse", tensorType(3, ShapedType::kDynamic, real, true));
  arguments.add("scale", real);
  for (const expression::Scalar &scalar : problem.declarations.scalars())
    arguments.add(scalar.name, scalar.type == expression::Type::Real ? real : builder.getI32Type());
  for (const expression::Tensor &tensor : problem.declarations.tensors())
    arguments.add(tensor.name,
                  tensorType(tensor.rank, ShapedType::kDynamic,
                             elementTypeOf(tensor.dtype, builder.getContext()), false));
  return arguments;
}

/// Gives `region` its block and lets `fill` compute what it yields from the block's arguments.
static void fillRegion(OpBuilder &builder, Region &region, ArrayRef<Type> argumentTypes,
                       llvm::function_ref<Value(ValueRange)> fill) {
  OpBuilder::InsertionGuard guard(builder);
  const Location location = region.getLoc();
  Block *block = builder.createBlock(&region, {}, argumentTypes,
                                     SmallVector<Location>(argumentTypes.size(), location));
  attn::YieldOp::create(builder, location, fill(block->getArguments()));
}

OwningOpRef<ModuleOp> tilewright::buildProblem(const ParsedProblem &problem, MLIRContext &context) {
  context
      .loadDialect<arith::ArithDialect, attn::AttnDialect, func::FuncDialect, math::MathDialect>();
  OpBuilder builder(&context);
  const Location location = builder.getUnknownLoc();
  const Type real =
      problem.dtype == DType::F64 ? Type(builder.getF64Type()) : Type(builder.getF32Type());

  OwningOpRef<ModuleOp> module = ModuleOp::create(location);
  builder.setInsertionPointToEnd(module->getBody());
  const ArgumentList arguments = argumentsOf(problem, real, builder);
  auto function = func::FuncOp::create(builder, location, "attention",
                                       builder.getFunctionType(arguments.types, {}));
  for (auto [i, name] : llvm::enumerate(arguments.names))
    function.setArgAttr(i, attn::nameAttribute, builder.getStringAttr(name));
  builder.setInsertionPointToStart(function.addEntryBlock());

  ValueRange rest = function.getArguments();
  const auto take = [&](size_t count) {
    const ValueRange taken = rest.take_front(count);
    rest = rest.drop_front(count);
    return taken;
  };
  const ValueRange tensors = take(4);
  const Value lse = problem.lse ? take(1).front() : Value();
  const Value scale = take(1).front();
  RegionNames names;
  names.scalars = take(problem.declarations.scalars().size());
  names.tensors = take(problem.declarations.tensors().size());

  auto forward = attn::ForwardOp::create(builder, location, tensors[0], tensors[1], tensors[2],
                                         tensors[3], lse, scale);
  if (!problem.scores.empty())
    fillRegion(builder, forward.getScore(), forward.getScoreArgumentTypes(), [&](ValueRange in) {
      names.score = in.front();
      names.positions = in.drop_front();
      for (const expression::Expression &score : problem.scores)
        names.score = emitExpression(builder, location, score, problem.declarations, names, real);
      return names.score;
    });
  if (!problem.masks.empty())
    fillRegion(builder, forward.getMask(), forward.getMaskArgumentTypes(), [&](ValueRange in) {
      names.positions = in;
      Value visible;
      for (const expression::Expression &mask : problem.masks) {
        const Value next =
            emitExpression(builder, location, mask, problem.declarations, names, real);
        visible = visible ? arith::AndIOp::create(builder, location, visible, next) : next;
      }
      return visible;
    });
  func::ReturnOp::create(builder, location);
  return module;
}
