//===- ParsedProblem.cpp - Check a problem and parse its expressions ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/ParsedProblem.h"

#include "lib/Expression/Parse.h"
#include "lib/Support/MakeError.h"

#include <algorithm>

using namespace tilewright;

static Status checkHeadDim(std::string_view field, int64_t value) {
  if (value < 1 || value > maxHeadDim)
    return invalidArgument("{} is {}; it must be from 1 to {}", field, value, maxHeadDim);
  return {};
}

/// A kernel's own arguments are found by name too.
static Status checkNotOwn(std::string_view what, std::string_view name) {
  if (std::ranges::find(reservedArgumentNames, name) != reservedArgumentNames.end())
    return invalidArgument("{} '{}': every kernel has an argument of this name; choose another",
                           what, name);
  return {};
}

static Status declare(const Problem &problem, expression::Declarations &declarations) {
  for (const ScalarDeclaration &scalar : problem.scalars) {
    if (Status status = checkNotOwn("scalar", scalar.name); !status)
      return status;
    const auto type =
        scalar.type == ScalarType::I32 ? expression::Type::I32 : expression::Type::Real;
    if (Result<uint32_t> index = declarations.addScalar(scalar.name, type); !index)
      return index.error();
  }
  for (const TensorDeclaration &tensor : problem.tensors) {
    if (Status status = checkNotOwn("tensor", tensor.name); !status)
      return status;
    if (sizeOf(tensor.dtype) == 0)
      return invalidArgument("tensor '{}' has dtype {}; dtypes are 0 to {}", tensor.name,
                             static_cast<int>(tensor.dtype), static_cast<int>(DType::Bool));
    if (tensor.dtype == DType::F64 && problem.dtype != DType::F64)
      return invalidArgument("tensor '{}' is f64, but a problem in {} computes in f32; convert it",
                             tensor.name, nameOf(problem.dtype));
    if (Result<uint32_t> index = declarations.addTensor(tensor.name, tensor.dtype, tensor.rank);
        !index)
      return index.error();
  }
  return {};
}

static Status parseAll(const std::vector<std::string> &texts, expression::Role role,
                       const expression::Declarations &declarations,
                       std::vector<expression::Expression> &expressions) {
  for (const std::string &text : texts) {
    Result<expression::Expression> parsed = expression::parse(text, declarations, role);
    if (!parsed)
      return parsed.error();
    expressions.push_back(*std::move(parsed));
  }
  return {};
}

Result<ParsedProblem> tilewright::parseProblem(const Problem &problem) {
  ParsedProblem parsed;
  parsed.headDim = problem.headDim;
  parsed.valueDim = problem.valueDim.value_or(problem.headDim);
  parsed.dtype = problem.dtype;
  parsed.outDType = problem.outDType.value_or(problem.dtype);
  parsed.lse = problem.lse;
  if (Status status = checkHeadDim("headDim", parsed.headDim); !status)
    return status.error();
  if (Status status = checkHeadDim("valueDim", parsed.valueDim); !status)
    return status.error();
  if (!isFloat(parsed.dtype))
    return invalidArgument("dtype is {}; queries, keys and values are f64, f32, f16 or bf16",
                           nameOf(parsed.dtype));
  const DType real = parsed.dtype == DType::F64 ? DType::F64 : DType::F32;
  if (parsed.outDType != parsed.dtype && parsed.outDType != real)
    return invalidArgument("outDType is {}; for a problem in {} it can be {}",
                           nameOf(parsed.outDType), nameOf(parsed.dtype),
                           parsed.dtype == real
                               ? std::string(nameOf(real))
                               : fmt::format("{} or {}", nameOf(parsed.dtype), nameOf(real)));

  if (Status status = declare(problem, parsed.declarations); !status)
    return status.error();
  if (Status status =
          parseAll(problem.scores, expression::Role::Score, parsed.declarations, parsed.scores);
      !status)
    return status.error();
  if (Status status =
          parseAll(problem.masks, expression::Role::Mask, parsed.declarations, parsed.masks);
      !status)
    return status.error();
  return parsed;
}
