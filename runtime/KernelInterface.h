//===- KernelInterface.h - What a kernel takes, looked up once --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names are compared here, when a kernel is made, and not again in each launch.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_RUNTIME_KERNELINTERFACE_H
#define TILEWRIGHT_RUNTIME_KERNELINTERFACE_H

#include "lib/Image/KernelImage.h"

#include <tilewright/runtime.h>

#include <array>
#include <span>
#include <string_view>
#include <vector>

namespace tilewright {

/// Dimensions of one name have one extent in all tensors.
enum class Dimension : uint8_t { Batch, Heads, KvHeads, QueryLength, KeyLength, HeadDim, ValueDim };
constexpr size_t dimensionCount = 7;

/// "kv_heads".
std::string_view nameOf(Dimension dimension);

/// A tensor that every problem may have: query, key, value, out, lse.
struct ProblemTensor {
  std::string_view name;
  std::array<Dimension, 4> dimensions;
  size_t rank;
  bool isOutput;
  /// What a launch gives for it, or null.
  const TensorView *(*find)(const Arguments &given);
};

std::span<const ProblemTensor> problemTensors();

class KernelInterface {
public:
  static constexpr size_t none = SIZE_MAX;

  KernelInterface(std::vector<KernelArgument> arguments, LaunchExpressions expressions);

  std::span<const KernelArgument> arguments() const { return list; }
  const LaunchExpressions &expressions() const { return expressionList; }

  /// Null for a tensor of the user's own and for a scalar.
  const ProblemTensor *role(size_t argument) const { return roles[argument]; }
  bool takes(const ProblemTensor &tensor) const { return taken[&tensor - problemTensors().data()]; }
  /// Which argument the scale of the scores is, or none.
  size_t scale() const { return scaleIndex; }

private:
  std::vector<KernelArgument> list;
  LaunchExpressions expressionList;
  std::vector<const ProblemTensor *> roles;
  std::array<bool, 5> taken = {};
  size_t scaleIndex = none;
};

} // namespace tilewright

#endif // TILEWRIGHT_RUNTIME_KERNELINTERFACE_H
