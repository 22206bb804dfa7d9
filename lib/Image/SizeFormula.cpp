//===- SizeFormula.cpp - Integers computed from extents -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Image/KernelImage.h"
#include "lib/Support/MakeError.h"

#include <algorithm>
#include <array>
#include <optional>

using namespace tilewright;

using Op = SizeFormula::Op;

/// Nothing where the result leaves 64 bits or the divisor is not positive.
static std::optional<int64_t> apply(Op op, int64_t a, int64_t b) {
  int64_t result = 0;
  switch (op) {
  case Op::Add:
    return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::optional(result);
  case Op::Subtract:
    return __builtin_sub_overflow(a, b, &result) ? std::nullopt : std::optional(result);
  case Op::Multiply:
    return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional(result);
  case Op::CeilDiv:
    return b <= 0 ? std::nullopt : std::optional(a / b + (a % b > 0));
  case Op::FloorDiv:
    return b <= 0 ? std::nullopt : std::optional(a / b - (a % b < 0));
  case Op::Min:
    return std::min(a, b);
  case Op::Max:
    return std::max(a, b);
  case Op::Constant:
  case Op::Extent:
    break;
  }
  return std::nullopt;
}

Result<int64_t> tilewright::evaluate(const SizeFormula &formula,
                                     std::span<const std::span<const int64_t>> extents) {
  std::array<int64_t, SizeFormula::maxDepth> stack;
  size_t depth = 0;
  for (const SizeFormula::Step &step : formula.steps) {
    const bool pushes = step.op == Op::Constant || step.op == Op::Extent;
    if (pushes ? depth == stack.size() : depth < 2)
      return internalError("a size formula keeps less than 1 or more than {} numbers",
                           stack.size());
    if (step.op == Op::Constant) {
      stack[depth++] = step.constant;
    } else if (step.op == Op::Extent) {
      if (step.argument >= extents.size() || step.dimension >= extents[step.argument].size())
        return internalError("a size formula reads dimension {} of argument {}, which is not there",
                             step.dimension, step.argument);
      stack[depth++] = extents[step.argument][step.dimension];
    } else {
      const int64_t b = stack[--depth];
      int64_t &a = stack[depth - 1];
      std::optional<int64_t> result = apply(step.op, a, b);
      if (!result)
        return invalidArgument("a size of the launch leaves 64 bits or divides by {}, which must "
                               "be positive, at the operands {} and {}",
                               b, a, b);
      a = *result;
    }
  }
  if (depth != 1)
    return internalError("a size formula leaves {} numbers instead of one", depth);
  return stack[0];
}
