//===- KernelFacts.cpp - What a compiled kernel takes and gives -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/tilewright/KernelFacts.h"

#include "lib/Support/MakeError.h"

#include <algorithm>

using namespace tilewright;
using namespace tilewright::tool;

/// The argument of that name, a tensor with elements of a floating type.
static Result<const KernelArgument *> findTensor(const Signature &signature, std::string_view name,
                                                 size_t rank) {
  const auto found = std::ranges::find(signature.arguments, name, &KernelArgument::name);
  if (found == signature.arguments.end())
    return invalidArgument("'{}' has no argument '{}'", signature.function, name);
  if (found->kind != KernelArgument::Kind::Tensor || !isFloat(found->dtype) ||
      found->shape.size() != rank)
    return invalidArgument("argument '{}' of '{}' must be a tensor of floats of rank {}", name,
                           signature.function, rank);
  return &*found;
}

Result<KernelFacts> tool::readKernelFacts(const Signature &signature) {
  KernelFacts facts;
  Result<const KernelArgument *> query = findTensor(signature, "query", 4);
  if (!query)
    return query.error();
  Result<const KernelArgument *> value = findTensor(signature, "value", 4);
  if (!value)
    return value.error();
  Result<const KernelArgument *> out = findTensor(signature, "out", 4);
  if (!out)
    return out.error();
  facts.dtype = (*query)->dtype;
  facts.outDType = (*out)->dtype;
  facts.headDim = (*query)->shape[3];
  facts.valueDim = (*value)->shape[3];
  if (facts.headDim < 1 || facts.valueDim < 1)
    return invalidArgument("'{}' leaves the widths of query or value open", signature.function);
  facts.lse = std::ranges::count(signature.arguments, "lse", &KernelArgument::name) != 0;
  facts.scratchBytes = signature.scratchBytes;
  return facts;
}
