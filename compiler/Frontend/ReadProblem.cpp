//===- ReadProblem.cpp - From attn IR back to a problem -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/ReadProblem.h"

#include "compiler/Frontend/ElementTypes.h"
#include "compiler/Frontend/RegionToExpression.h"
#include "dialect/Attn/Attn.h"
#include "lib/Support/MakeError.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"

#include <algorithm>

using namespace mlir;
using namespace tilewright;

static Result<attn::ForwardOp> findForward(ModuleOp module) {
  SmallVector<attn::ForwardOp> found;
  module.walk([&](attn::ForwardOp forward) { found.push_back(forward); });
  if (found.size() != 1)
    return invalidArgument("the module has {} attn.forward; a problem is one", found.size());
  auto function = dyn_cast<func::FuncOp>(found.front()->getParentOp());
  if (!function || function->getParentOp() != module)
    return invalidArgument("attn.forward must be directly in a function of the module");
  return found.front();
}

/// What a host calls each argument of the function.
static Result<std::vector<std::string>> argumentNames(func::FuncOp function) {
  std::vector<std::string> names;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto name = function.getArgAttrOfType<StringAttr>(i, attn::nameAttribute);
    if (!name)
      return invalidArgument("argument {} of @{} has no '{}'; a host passes arguments by name", i,
                             function.getName().str(), attn::nameAttribute.str());
    if (llvm::is_contained(names, name.getValue()))
      return invalidArgument("two arguments of @{} are named '{}'", function.getName().str(),
                             name.str());
    names.push_back(name.str());
  }
  return names;
}

/// The op's own operands are arguments under their own names.
static Status checkOwnArgument(StringRef name, Value operand, ArrayRef<std::string> names) {
  auto argument = dyn_cast<BlockArgument>(operand);
  if (!argument || !isa<func::FuncOp>(argument.getOwner()->getParentOp()))
    return invalidArgument("{} of attn.forward is not an argument of the function", name.str());
  const std::string &seen = names[argument.getArgNumber()];
  if (seen != name)
    return invalidArgument("{} of attn.forward is the argument named '{}'; a host passes it as "
                           "'{}'",
                           name.str(), seen, name.str());
  return {};
}

/// Declares an argument that the regions may read.
static Result<uint32_t> declare(const std::string &name, Type type, DType real,
                                expression::Declarations &declarations) {
  if (std::ranges::find(reservedArgumentNames, name) != reservedArgumentNames.end())
    return invalidArgument("argument '{}' is not the {} of attn.forward; choose another name", name,
                           name);
  if (auto tensor = dyn_cast<MemRefType>(type)) {
    const std::optional<DType> dtype = dtypeOf(tensor.getElementType());
    if (!dtype || (*dtype == DType::F64 && real != DType::F64))
      return invalidArgument("tensor '{}' has elements of {}; a problem that computes in {} takes "
                             "{}f32, f16, bf16, i64, i32 and i8",
                             name, describe(tensor.getElementType()), nameOf(real),
                             real == DType::F64 ? "f64, " : "");
    return declarations.addTensor(name, *dtype, tensor.getRank());
  }
  if (type.isInteger(32))
    return declarations.addScalar(name, expression::Type::I32);
  if (dtypeOf(type) == real)
    return declarations.addScalar(name, expression::Type::Real);
  return invalidArgument("argument '{}' is {}; a problem that computes in {} takes i32, {} and "
                         "memrefs",
                         name, describe(type), nameOf(real), nameOf(real));
}

Result<ParsedProblem> tilewright::readProblem(ModuleOp module) {
  Result<attn::ForwardOp> found = findForward(module);
  if (!found)
    return found.error();
  attn::ForwardOp forward = *found;
  auto function = cast<func::FuncOp>(forward->getParentOp());
  Result<std::vector<std::string>> names = argumentNames(function);
  if (!names)
    return names.error();

  ParsedProblem problem;
  problem.headDim = forward.getHeadDim();
  problem.valueDim = forward.getValueDim();
  if (std::max(problem.headDim, problem.valueDim) > maxHeadDim)
    return invalidArgument("head dims are {} and {}; they must be from 1 to {}", problem.headDim,
                           problem.valueDim, maxHeadDim);
  problem.dtype = *dtypeOf(forward.getQuery().getType().getElementType());
  problem.outDType = *dtypeOf(forward.getOut().getType().getElementType());
  problem.lse = static_cast<bool>(forward.getLse());
  FloatAttr scale;
  if (matchPattern(forward.getScale(), m_Constant(&scale)))
    problem.scale = scale.getValueAsDouble();

  std::vector<std::pair<StringRef, Value>> own = {{"query", forward.getQuery()},
                                                  {"key", forward.getKey()},
                                                  {"value", forward.getValue()},
                                                  {"out", forward.getOut()}};
  if (problem.lse)
    own.emplace_back("lse", forward.getLse());
  if (!problem.scale)
    own.emplace_back("scale", forward.getScale());
  for (auto [name, operand] : own)
    if (Status status = checkOwnArgument(name, operand, *names); !status)
      return status.error();

  const DType real = problem.dtype == DType::F64 ? DType::F64 : DType::F32;
  Captured captured;
  for (auto [name, argument] : llvm::zip(*names, function.getArguments())) {
    if (llvm::is_contained(llvm::make_second_range(own), argument))
      continue;
    Result<uint32_t> index = declare(name, argument.getType(), real, problem.declarations);
    if (!index)
      return index.error();
    captured[argument] = *index;
  }

  for (auto [region, role, expressions] :
       {std::tuple(&forward.getScore(), expression::Role::Score, &problem.scores),
        std::tuple(&forward.getMask(), expression::Role::Mask, &problem.masks)}) {
    if (region->empty())
      continue;
    Result<expression::Expression> expression =
        readRegion(*region, role, problem.declarations, captured);
    if (!expression)
      return expression.error();
    expressions->push_back(*std::move(expression));
  }
  return problem;
}
