//===- KernelInterface.cpp - What a kernel takes, looked up once ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/KernelInterface.h"

#include <algorithm>

using namespace tilewright;

namespace {
template <TensorView Arguments::*member> const TensorView *find(const Arguments &given) {
  const TensorView &view = given.*member;
  return view.data || view.rank != 0 ? &view : nullptr;
}

const TensorView *findLse(const Arguments &given) {
  return given.lse ? &*given.lse : nullptr;
}

constexpr ProblemTensor allProblemTensors[] = {
    {"query",
     {Dimension::Batch, Dimension::Heads, Dimension::QueryLength, Dimension::HeadDim},
     4,
     false,
     find<&Arguments::query>},
    {"key",
     {Dimension::Batch, Dimension::KvHeads, Dimension::KeyLength, Dimension::HeadDim},
     4,
     false,
     find<&Arguments::key>},
    {"value",
     {Dimension::Batch, Dimension::KvHeads, Dimension::KeyLength, Dimension::ValueDim},
     4,
     false,
     find<&Arguments::value>},
    {"out",
     {Dimension::Batch, Dimension::Heads, Dimension::QueryLength, Dimension::ValueDim},
     4,
     true,
     find<&Arguments::out>},
    {"lse", {Dimension::Batch, Dimension::Heads, Dimension::QueryLength}, 3, true, findLse},
};
} // namespace

std::string_view tilewright::nameOf(Dimension dimension) {
  static constexpr std::string_view names[dimensionCount] = {
      "batch", "heads", "kv_heads", "query_length", "key_length", "head_dim", "value_dim"};
  return names[static_cast<size_t>(dimension)];
}

std::span<const ProblemTensor> tilewright::problemTensors() {
  return allProblemTensors;
}

KernelInterface::KernelInterface(std::vector<KernelArgument> arguments,
                                 LaunchExpressions expressions)
    : list(std::move(arguments)), expressionList(std::move(expressions)) {
  static_assert(std::size(allProblemTensors) == std::tuple_size_v<decltype(taken)>);
  for (const KernelArgument &argument : list) {
    const bool isTensor = argument.kind == KernelArgument::Kind::Tensor;
    const auto *role = std::ranges::find(allProblemTensors, argument.name, &ProblemTensor::name);
    const bool hasRole = isTensor && role != std::end(allProblemTensors);
    if (hasRole)
      taken[role - allProblemTensors] = true;
    if (!isTensor && argument.name == "scale")
      scaleIndex = roles.size();
    roles.push_back(hasRole ? role : nullptr);
  }
}
