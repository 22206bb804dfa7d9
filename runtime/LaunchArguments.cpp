//===- LaunchArguments.cpp - A launch, checked and bound ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/LaunchArguments.h"
#include "lib/Expression/Bounds.h"
#include "lib/Support/MakeError.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

using namespace tilewright;

namespace {
constexpr int64_t maxExtent = expression::Sizes::maxExtent;

bool isTensor(const KernelArgument &argument) {
  return argument.kind == KernelArgument::Kind::Tensor;
}

/// "f32[?, ?, ?, 64]", as TensorView::describe has it.
std::string describe(const KernelArgument &argument) {
  std::vector<std::string> extents;
  for (int64_t extent : argument.shape)
    extents.push_back(extent == KernelArgument::dynamic ? "?" : fmt::to_string(extent));
  return fmt::format("{}[{}]", nameOf(argument.dtype), fmt::join(extents, ", "));
}

bool accepts(const KernelArgument &argument, DType dtype) {
  return dtype == argument.dtype || (argument.dtype == DType::U8 && dtype == DType::Bool);
}

Status checkType(const BoundArgument &tensor) {
  const KernelArgument &argument = *tensor.argument;
  const TensorView &view = *tensor.view;
  if (view.rank != argument.shape.size())
    return invalidArgument("{} has {} dimensions, and this kernel takes {} ({})", tensor.label(),
                           view.rank, argument.shape.size(), describe(argument));
  if (!accepts(argument, view.dtype))
    return invalidArgument("{} is {}, and this kernel takes {}", tensor.label(), view.describe(),
                           describe(argument));
  for (size_t i = 0; i < view.rank; ++i) {
    if (view.shape[i] < 0 || view.shape[i] > maxExtent)
      return invalidArgument("{}: {} is {}; the limit is 0 to {}", tensor.label(),
                             tensor.dimension(i), view.shape[i], maxExtent);
    if (argument.shape[i] != KernelArgument::dynamic && view.shape[i] != argument.shape[i])
      return invalidArgument("{} is {}, and this kernel takes {}: {} is {} instead of {}",
                             tensor.label(), view.describe(), describe(argument),
                             tensor.dimension(i), view.shape[i], argument.shape[i]);
    if (view.shape[i] > 1 && argument.strides[i] != KernelArgument::dynamic &&
        view.strides[i] != argument.strides[i])
      return invalidArgument("{} has stride {} in dimension {}; it must be {}", tensor.label(),
                             view.strides[i], i, argument.strides[i]);
  }
  return {};
}

/// Finds the bytes that the view covers.
Status checkMemory(BoundArgument &tensor) {
  const TensorView &view = *tensor.view;
  auto tooLarge = [&] {
    return invalidArgument("{}: extents [{}] with strides [{}] do not fit the address space",
                           tensor.label(), fmt::join(view.sizes(), ", "),
                           fmt::join(std::span(view.strides).first(view.rank), ", "));
  };
  std::optional<int64_t> count = view.elementCount();
  if (!count)
    return tooLarge();
  if (*count == 0)
    return {};
  if (!view.data)
    return invalidArgument("{} has {} elements and no data: its pointer is null", tensor.label(),
                           *count);
  const auto size = static_cast<int64_t>(sizeOf(view.dtype));
  const auto address = reinterpret_cast<uintptr_t>(view.data);
  if (address % static_cast<uintptr_t>(size) != 0)
    return invalidArgument("{} starts at address {:#x}, which is no multiple of its elements' {} "
                           "bytes",
                           tensor.label(), address, size);

  int64_t low = 0, high = size; // in bytes
  for (size_t i = 0; i < view.rank; ++i) {
    int64_t reach = 0;
    int64_t &side = view.strides[i] < 0 ? low : high;
    if (__builtin_mul_overflow(view.shape[i] - 1, view.strides[i], &reach) ||
        __builtin_mul_overflow(reach, size, &reach) || __builtin_add_overflow(side, reach, &side))
      return tooLarge();
  }
  if (__builtin_add_overflow(address, low, &tensor.begin) ||
      __builtin_add_overflow(address, high, &tensor.end))
    return tooLarge();
  return {};
}

/// With its dimensions sorted by stride, a tensor whose every stride goes beyond all that the
/// smaller ones reach has one place for each element. (The converse does not hold: exotic layouts
/// are refused although no two elements meet.)
Status checkNoSharedElements(const BoundArgument &tensor) {
  const TensorView &view = *tensor.view;
  std::array<std::pair<int64_t, int64_t>, TensorView::maxRank> dimensions; // |stride|, extent
  size_t count = 0;
  for (size_t i = 0; i < view.rank; ++i)
    if (view.shape[i] > 1)
      dimensions[count++] = {std::abs(view.strides[i]), view.shape[i]};
  std::sort(dimensions.begin(), dimensions.begin() + count);
  int64_t reach = 0; // checkMemory found that it fits
  for (auto [stride, extent] : std::span(dimensions).first(count)) {
    if (stride <= reach)
      return invalidArgument("{}: extents [{}] with strides [{}] let elements share memory, and an "
                             "output's must not",
                             tensor.label(), fmt::join(view.sizes(), ", "),
                             fmt::join(std::span(view.strides).first(view.rank), ", "));
    reach += (extent - 1) * stride;
  }
  return {};
}

Status checkOutputs(std::span<const BoundArgument> arguments) {
  for (const BoundArgument &output : arguments) {
    if (!output.isOutput() || output.isEmpty())
      continue;
    if (Status checked = checkNoSharedElements(output); !checked)
      return checked;
    for (const BoundArgument &other : arguments)
      if (&other != &output && output.begin < other.end && other.begin < output.end)
        return invalidArgument(
            "{} overlaps {}: they cover bytes {:#x} to {:#x} and {:#x} to {:#x}; an output needs "
            "memory of its own, from its first element to its last",
            output.label(), other.label(), output.begin, output.end, other.begin, other.end);
  }
  return {};
}

/// The extents by name, each as the first tensor that has it says.
class Extents {
public:
  Status add(const BoundArgument &tensor) {
    if (!tensor.role || tensor.role->rank != tensor.view->rank)
      return {};
    for (size_t i = 0; i < tensor.view->rank; ++i) {
      const Dimension dimension = tensor.role->dimensions[i];
      Known &known = list[static_cast<size_t>(dimension)];
      if (!known.role)
        known = {tensor.view->shape[i], tensor.role};
      else if (known.extent != tensor.view->shape[i])
        return invalidArgument("{} is {} in {} and {} in {}", nameOf(dimension), known.extent,
                               known.role->name, tensor.view->shape[i], tensor.role->name);
    }
    return {};
  }

  std::optional<int64_t> find(Dimension dimension) const {
    const Known &known = list[static_cast<size_t>(dimension)];
    return known.role ? std::optional(known.extent) : std::nullopt;
  }

  int64_t operator[](Dimension dimension) const { return find(dimension).value_or(0); }

  Status checkHeads() const {
    std::optional<int64_t> heads = find(Dimension::Heads), kvHeads = find(Dimension::KvHeads);
    if (!heads || !kvHeads || *heads == 0 || (*kvHeads != 0 && *heads % *kvHeads == 0))
      return {};
    return invalidArgument(
        "query has {} heads and key has {}: heads must be a multiple of kv_heads", *heads,
        *kvHeads);
  }

private:
  struct Known {
    int64_t extent = 0;
    const ProblemTensor *role = nullptr;
  };
  std::array<Known, dimensionCount> list;
};

/// Real values are rounded to f32 where the kernel takes f32.
Status convertScalar(BoundArgument &scalar, double value) {
  const auto label = [&] {
    return scalar.argument->name == "scale" ? "scale"
                                            : fmt::format("scalar '{}'", scalar.argument->name);
  };
  switch (scalar.argument->kind) {
  case KernelArgument::Kind::I32:
    if (!(value >= std::numeric_limits<int32_t>::min() &&
          value <= std::numeric_limits<int32_t>::max() && value == std::floor(value)))
      return invalidArgument("{} is {}; it must be an integer from {} to {}", label(), value,
                             std::numeric_limits<int32_t>::min(),
                             std::numeric_limits<int32_t>::max());
    scalar.scalar.i32 = static_cast<int32_t>(value);
    return {};
  case KernelArgument::Kind::F32:
    if (std::isfinite(value) && std::abs(value) > std::numeric_limits<float>::max())
      return invalidArgument("{} is {}, which is beyond the f32 that this kernel takes ({})",
                             label(), value, std::numeric_limits<float>::max());
    scalar.scalar.f32 = static_cast<float>(value);
    return {};
  case KernelArgument::Kind::F64:
    scalar.scalar.f64 = value;
    return {};
  case KernelArgument::Kind::Tensor:
    break;
  }
  return internalError("{} is no scalar", label());
}

/// What is given for a tensor of the kernel, or null.
const TensorView *findTensor(const Arguments &given, std::string_view name,
                             const ProblemTensor *role) {
  if (role)
    return role->find(given);
  auto found = given.tensors.find(name);
  return found == given.tensors.end() ? nullptr : &found->second;
}

/// Nothing is given that the kernel does not take.
Status checkNames(const KernelInterface &kernel, const Arguments &given) {
  const std::span<const KernelArgument> arguments = kernel.arguments();
  const auto isUsers = [&](size_t i, bool tensor) {
    return isTensor(arguments[i]) == tensor && !kernel.role(i) && i != kernel.scale();
  };
  const auto takes = [&](std::string_view name, bool tensor) {
    for (size_t i = 0; i < arguments.size(); ++i)
      if (isUsers(i, tensor) && arguments[i].name == name)
        return true;
    return false;
  };
  const auto namesOf = [&](bool tensors) {
    std::vector<std::string> names;
    for (size_t i = 0; i < arguments.size(); ++i)
      if (isUsers(i, tensors))
        names.push_back(arguments[i].name);
    return names.empty() ? std::string("none") : fmt::format("{}", fmt::join(names, ", "));
  };
  for (const ProblemTensor &tensor : problemTensors())
    if (tensor.find(given) && !kernel.takes(tensor))
      return invalidArgument("{} is given, and this kernel has no {}", tensor.name, tensor.name);
  if (given.scale && kernel.scale() == KernelInterface::none)
    return invalidArgument("scale is given ({}), and this kernel has its own", *given.scale);
  for (const auto &[name, value] : given.scalars)
    if (!takes(name, false))
      return invalidArgument("unknown scalar '{}'; this kernel takes: {}", name, namesOf(false));
  for (const auto &[name, view] : given.tensors)
    if (!takes(name, true))
      return invalidArgument("unknown tensor '{}'; this kernel takes: {}", name, namesOf(true));
  return {};
}

Status bindTensor(BoundArgument &tensor, const Arguments &arguments) {
  tensor.view = findTensor(arguments, tensor.argument->name, tensor.role);
  if (!tensor.view)
    return invalidArgument("{} is missing; this kernel takes {}", tensor.label(),
                           describe(*tensor.argument));
  if (Status checked = checkType(tensor); !checked)
    return checked;
  return checkMemory(tensor);
}

Status bindScalar(BoundArgument &scalar, bool isScale, const Arguments &arguments,
                  const Extents &extents) {
  if (isScale) {
    const auto width = static_cast<double>(std::max<int64_t>(extents[Dimension::HeadDim], 1));
    const double scale = arguments.scale.value_or(1 / std::sqrt(width));
    if (!std::isfinite(scale))
      return invalidArgument("scale is {}; it must be finite", scale);
    return convertScalar(scalar, scale);
  }
  auto found = arguments.scalars.find(scalar.argument->name);
  if (found == arguments.scalars.end())
    return invalidArgument("scalar '{}' is missing", scalar.argument->name);
  return convertScalar(scalar, found->second);
}

Status checkExpressions(const LaunchExpressions &expressions, const Arguments &arguments,
                        const Extents &extents) {
  if (expressions.scores.empty() && expressions.masks.empty())
    return {};
  const expression::Sizes sizes{extents[Dimension::Batch], extents[Dimension::Heads],
                                extents[Dimension::KvHeads], extents[Dimension::QueryLength],
                                extents[Dimension::KeyLength]};
  const auto &declaredScalars = expressions.declarations.scalars();
  const auto &declaredTensors = expressions.declarations.tensors();
  std::array<double, maxArguments> scalars;
  std::array<const TensorView *, maxArguments> tensors;
  if (declaredScalars.size() > maxArguments || declaredTensors.size() > maxArguments)
    return unsupported("the expressions of a kernel declare {} scalars and {} tensors; the limit "
                       "is {} of each",
                       declaredScalars.size(), declaredTensors.size(), maxArguments);
  for (size_t i = 0; i < declaredScalars.size(); ++i) {
    auto found = arguments.scalars.find(declaredScalars[i].name);
    if (found == arguments.scalars.end())
      return invalidArgument("scalar '{}' is missing", declaredScalars[i].name);
    scalars[i] = found->second;
  }
  for (size_t i = 0; i < declaredTensors.size(); ++i) {
    tensors[i] = findTensor(arguments, declaredTensors[i].name, nullptr);
    if (!tensors[i])
      return invalidArgument("tensor '{}' is missing", declaredTensors[i].name);
  }
  const expression::BindingsView bindings{std::span(scalars).first(declaredScalars.size()),
                                          std::span(tensors).first(declaredTensors.size())};
  std::array<expression::Interval, LaunchArguments::maxNodes> intervals;
  std::array<bool, LaunchArguments::maxNodes> readsTensor;
  for (const auto *list : {&expressions.scores, &expressions.masks})
    for (const expression::Expression &expression : *list) {
      const size_t count = expression.nodes().size();
      const bool isSmall = count <= intervals.size();
      std::vector<expression::Interval> moreIntervals(isSmall ? 0 : count);
      const auto moreReads = isSmall ? nullptr : std::make_unique<bool[]>(count);
      const expression::BoundsStorage storage =
          isSmall ? expression::BoundsStorage{intervals, readsTensor}
                  : expression::BoundsStorage{moreIntervals, {moreReads.get(), count}};
      Status checked =
          expression::checkBounds(expression, expressions.declarations, sizes, bindings, storage);
      if (!checked)
        return checked;
    }
  return {};
}
} // namespace

bool BoundArgument::isOutput() const {
  return role && role->isOutput;
}

std::string BoundArgument::label() const {
  return role ? argument->name : fmt::format("tensor '{}'", argument->name);
}

std::string BoundArgument::dimension(size_t i) const {
  return role && i < role->rank ? std::string(nameOf(role->dimensions[i]))
                                : fmt::format("the extent of dimension {}", i);
}

Status LaunchArguments::check(const KernelInterface &kernel, const Arguments &given) {
  count = kernel.arguments().size();
  if (count > maxArguments)
    return unsupported("the kernel takes {} arguments, '{}' beyond the limit of {}", count,
                       kernel.arguments()[maxArguments].name, maxArguments);
  if (Status checked = checkNames(kernel, given); !checked)
    return checked;
  Extents extents;
  for (size_t i = 0; i < count; ++i) {
    bound[i] = {.argument = &kernel.arguments()[i],
                .view = nullptr,
                .role = kernel.role(i),
                .begin = 0,
                .end = 0,
                .scalar = {}};
    extentList[i] = {};
    if (!isTensor(*bound[i].argument))
      continue;
    if (Status checked = bindTensor(bound[i], given); !checked)
      return checked;
    extentList[i] = bound[i].view->sizes();
  }
  for (const BoundArgument &argument : arguments())
    if (argument.view)
      if (Status checked = extents.add(argument); !checked)
        return checked;
  if (Status checked = extents.checkHeads(); !checked)
    return checked;
  if (Status checked = checkOutputs(arguments()); !checked)
    return checked;
  for (size_t i = 0; i < count; ++i)
    if (!bound[i].view)
      if (Status checked = bindScalar(bound[i], i == kernel.scale(), given, extents); !checked)
        return checked;
  if (Status checked = checkExpressions(kernel.expressions(), given, extents); !checked)
    return checked;
  empty =
      std::ranges::any_of(std::array{Dimension::Batch, Dimension::Heads, Dimension::QueryLength},
                          [&](Dimension dimension) { return extents.find(dimension) == 0; });
  return {};
}
