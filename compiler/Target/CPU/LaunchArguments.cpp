//===- LaunchArguments.cpp - A launch, checked and laid out ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/CPU/LaunchArguments.h"
#include "lib/Expression/Bounds.h"
#include "lib/Support/MakeError.h"

#include <algorithm>
#include <cmath>

using namespace tilewright;

namespace {
constexpr int64_t maxExtent = expression::Sizes::maxExtent;

/// The tensors that every problem has, and what their dimensions are. Dimensions of one name have
/// one extent in all of them.
struct ProblemTensor {
  std::string_view name;
  std::vector<std::string_view> dimensions;
  bool isOutput;
};

const std::vector<ProblemTensor> &problemTensors() {
  static const std::vector<ProblemTensor> tensors = {
      {"query", {"batch", "heads", "query_length", "head_dim"}, false},
      {"key", {"batch", "kv_heads", "key_length", "head_dim"}, false},
      {"value", {"batch", "kv_heads", "key_length", "value_dim"}, false},
      {"out", {"batch", "heads", "query_length", "value_dim"}, true},
      {"lse", {"batch", "heads", "query_length"}, true},
  };
  return tensors;
}

const ProblemTensor *findProblemTensor(std::string_view name) {
  auto found = std::ranges::find(problemTensors(), name, &ProblemTensor::name);
  return found == problemTensors().end() ? nullptr : &*found;
}

/// A tensor of the launch beside what the kernel expects of it.
struct BoundTensor {
  const KernelArgument &argument;
  TensorView view;
  const ProblemTensor *role = nullptr;
  /// The bytes from its first element to the end of its last one; equal if it has none.
  uintptr_t begin = 0;
  uintptr_t end = 0;

  std::string label() const {
    return role ? argument.name : fmt::format("tensor '{}'", argument.name);
  }

  std::string dimension(size_t i) const {
    return role && i < role->dimensions.size() ? std::string(role->dimensions[i])
                                               : fmt::format("the extent of dimension {}", i);
  }
};

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

Status checkType(const BoundTensor &tensor) {
  const KernelArgument &argument = tensor.argument;
  const TensorView &view = tensor.view;
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
Status checkMemory(BoundTensor &tensor) {
  const TensorView &view = tensor.view;
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
Status checkNoSharedElements(const BoundTensor &tensor) {
  const TensorView &view = tensor.view;
  std::vector<std::pair<int64_t, int64_t>> dimensions; // |stride|, extent
  for (size_t i = 0; i < view.rank; ++i)
    if (view.shape[i] > 1)
      dimensions.emplace_back(std::abs(view.strides[i]), view.shape[i]);
  std::ranges::sort(dimensions);
  int64_t reach = 0; // checkMemory found that it fits
  for (auto [stride, extent] : dimensions) {
    if (stride <= reach)
      return invalidArgument("{}: extents [{}] with strides [{}] let elements share memory, and an "
                             "output's must not",
                             tensor.label(), fmt::join(view.sizes(), ", "),
                             fmt::join(std::span(view.strides).first(view.rank), ", "));
    reach += (extent - 1) * stride;
  }
  return {};
}

Status checkOutputs(const std::vector<BoundTensor> &tensors) {
  for (const BoundTensor &output : tensors) {
    if (!output.role || !output.role->isOutput || output.begin == output.end)
      continue;
    if (Status checked = checkNoSharedElements(output); !checked)
      return checked;
    for (const BoundTensor &other : tensors)
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
  Status add(const BoundTensor &tensor) {
    if (!tensor.role || tensor.role->dimensions.size() != tensor.view.rank)
      return {};
    for (size_t i = 0; i < tensor.view.rank; ++i) {
      auto [known, isNew] =
          extents.try_emplace(tensor.role->dimensions[i], tensor.view.shape[i], tensor.role->name);
      if (known->second.first != tensor.view.shape[i])
        return invalidArgument("{} is {} in {} and {} in {}", tensor.role->dimensions[i],
                               known->second.first, known->second.second, tensor.view.shape[i],
                               tensor.role->name);
    }
    return {};
  }

  std::optional<int64_t> find(std::string_view dimension) const {
    auto found = extents.find(dimension);
    return found == extents.end() ? std::nullopt : std::optional(found->second.first);
  }

  int64_t operator[](std::string_view dimension) const { return find(dimension).value_or(0); }

  Status checkHeads() const {
    std::optional<int64_t> heads = find("heads"), kvHeads = find("kv_heads");
    if (!heads || !kvHeads || *heads == 0 || (*kvHeads != 0 && *heads % *kvHeads == 0))
      return {};
    return invalidArgument(
        "query has {} heads and key has {}: heads must be a multiple of kv_heads", *heads,
        *kvHeads);
  }

private:
  std::map<std::string_view, std::pair<int64_t, std::string_view>> extents;
};

/// Real values are rounded to f32 where the kernel takes f32.
Result<ScalarValue> convertScalar(const KernelArgument &argument, std::string_view label,
                                  double value) {
  ScalarValue result{};
  switch (argument.kind) {
  case KernelArgument::Kind::I32:
    if (!(value >= std::numeric_limits<int32_t>::min() &&
          value <= std::numeric_limits<int32_t>::max() && value == std::floor(value)))
      return invalidArgument("{} is {}; it must be an integer from {} to {}", label, value,
                             std::numeric_limits<int32_t>::min(),
                             std::numeric_limits<int32_t>::max());
    result.i32 = static_cast<int32_t>(value);
    return result;
  case KernelArgument::Kind::F32:
    if (std::isfinite(value) && std::abs(value) > std::numeric_limits<float>::max())
      return invalidArgument("{} is {}, which is beyond the f32 that this kernel takes ({})", label,
                             value, std::numeric_limits<float>::max());
    result.f32 = static_cast<float>(value);
    return result;
  case KernelArgument::Kind::F64:
    result.f64 = value;
    return result;
  case KernelArgument::Kind::Tensor:
    break;
  }
  return internalError("{} is no scalar", label);
}

bool isGiven(const TensorView &view) {
  return view.data || view.rank != 0;
}

/// What the caller calls `name`, if it gave it.
std::optional<TensorView> findTensor(const Arguments &arguments, std::string_view name) {
  auto ifGiven = [](const TensorView &view) {
    return isGiven(view) ? std::optional(view) : std::nullopt;
  };
  if (name == "query")
    return ifGiven(arguments.query);
  if (name == "key")
    return ifGiven(arguments.key);
  if (name == "value")
    return ifGiven(arguments.value);
  if (name == "out")
    return ifGiven(arguments.out);
  if (name == "lse")
    return arguments.lse;
  auto found = arguments.tensors.find(name);
  return found == arguments.tensors.end() ? std::nullopt : std::optional(found->second);
}

/// Nothing is given that the kernel does not take.
Status checkNames(const Signature &signature, const Arguments &arguments) {
  auto takes = [&](std::string_view name, bool tensor) {
    return std::ranges::any_of(signature.arguments, [&](const KernelArgument &argument) {
      return argument.name == name && (argument.kind == KernelArgument::Kind::Tensor) == tensor;
    });
  };
  auto namesOf = [&](bool tensors) {
    std::vector<std::string> names;
    for (const KernelArgument &argument : signature.arguments)
      if ((argument.kind == KernelArgument::Kind::Tensor) == tensors &&
          !findProblemTensor(argument.name) && argument.name != "scale")
        names.push_back(argument.name);
    return names.empty() ? std::string("none") : fmt::format("{}", fmt::join(names, ", "));
  };
  for (const ProblemTensor &tensor : problemTensors())
    if (findTensor(arguments, tensor.name) && !takes(tensor.name, true))
      return invalidArgument("{} is given, and this kernel has no {}", tensor.name, tensor.name);
  if (arguments.scale && !takes("scale", false))
    return invalidArgument("scale is given ({}), and this kernel has its own", *arguments.scale);
  for (const auto &[name, value] : arguments.scalars)
    if (!takes(name, false) || name == "scale")
      return invalidArgument("unknown scalar '{}'; this kernel takes: {}", name, namesOf(false));
  for (const auto &[name, view] : arguments.tensors)
    if (!takes(name, true) || findProblemTensor(name))
      return invalidArgument("unknown tensor '{}'; this kernel takes: {}", name, namesOf(true));
  return {};
}

Result<std::vector<BoundTensor>> bindTensors(const Signature &signature,
                                             const Arguments &arguments) {
  std::vector<BoundTensor> tensors;
  for (const KernelArgument &argument : signature.arguments) {
    if (argument.kind != KernelArgument::Kind::Tensor)
      continue;
    BoundTensor tensor{argument, {}, findProblemTensor(argument.name)};
    std::optional<TensorView> view = findTensor(arguments, argument.name);
    if (!view)
      return invalidArgument("{} is missing; this kernel takes {}", tensor.label(),
                             describe(argument));
    tensor.view = *view;
    if (Status checked = checkType(tensor); !checked)
      return checked.error();
    if (Status checked = checkMemory(tensor); !checked)
      return checked.error();
    tensors.push_back(tensor);
  }
  return tensors;
}

Result<ScalarValue> bindScalar(const KernelArgument &argument, const Arguments &arguments,
                               const Extents &extents) {
  if (argument.name == "scale") {
    double scale = arguments.scale.value_or(
        1 / std::sqrt(static_cast<double>(std::max<int64_t>(extents["head_dim"], 1))));
    if (!std::isfinite(scale))
      return invalidArgument("scale is {}; it must be finite", scale);
    return convertScalar(argument, "scale", scale);
  }
  auto found = arguments.scalars.find(argument.name);
  if (found == arguments.scalars.end())
    return invalidArgument("scalar '{}' is missing", argument.name);
  return convertScalar(argument, fmt::format("scalar '{}'", argument.name), found->second);
}

Status checkExpressions(const LaunchExpressions &expressions, const Arguments &arguments,
                        const Extents &extents) {
  const expression::Sizes sizes{extents["batch"], extents["heads"], extents["kv_heads"],
                                extents["query_length"], extents["key_length"]};
  expression::Bindings bindings;
  for (const expression::Scalar &scalar : expressions.declarations.scalars()) {
    auto found = arguments.scalars.find(scalar.name);
    if (found == arguments.scalars.end())
      return invalidArgument("scalar '{}' is missing", scalar.name);
    bindings.scalars.push_back(found->second);
  }
  for (const expression::Tensor &tensor : expressions.declarations.tensors())
    bindings.tensors.push_back(findTensor(arguments, tensor.name).value_or(TensorView()));
  for (const auto *list : {&expressions.scores, &expressions.masks})
    for (const expression::Expression &expression : *list) {
      Result<expression::Bounds> bounds =
          expression::checkBounds(expression, expressions.declarations, sizes, bindings);
      if (!bounds)
        return bounds.error();
    }
  return {};
}

MemRefDescriptor descriptorOf(const TensorView &view) {
  MemRefDescriptor descriptor{view.data, view.data, 0, {}};
  std::copy_n(view.shape.begin(), view.rank, descriptor.extentsAndStrides);
  std::copy_n(view.strides.begin(), view.rank, descriptor.extentsAndStrides + view.rank);
  return descriptor;
}
} // namespace

Result<LaunchArguments> LaunchArguments::check(const Signature &signature,
                                               const LaunchExpressions &expressions,
                                               const Arguments &arguments) {
  if (Status checked = checkNames(signature, arguments); !checked)
    return checked.error();
  Result<std::vector<BoundTensor>> tensors = bindTensors(signature, arguments);
  if (!tensors)
    return tensors.error();
  Extents extents;
  for (const BoundTensor &tensor : *tensors)
    if (Status checked = extents.add(tensor); !checked)
      return checked.error();
  if (Status checked = extents.checkHeads(); !checked)
    return checked.error();
  if (Status checked = checkOutputs(*tensors); !checked)
    return checked.error();

  LaunchArguments result;
  result.descriptors.reserve(tensors->size());
  result.scalars.reserve(signature.arguments.size());
  size_t nextTensor = 0;
  for (const KernelArgument &argument : signature.arguments) {
    if (argument.kind == KernelArgument::Kind::Tensor) {
      result.descriptors.push_back(descriptorOf((*tensors)[nextTensor++].view));
      result.pointerList.push_back(&result.descriptors.back());
    } else {
      Result<ScalarValue> value = bindScalar(argument, arguments, extents);
      if (!value)
        return value.error();
      result.scalars.push_back(*value);
      result.pointerList.push_back(&result.scalars.back());
    }
  }
  if (Status checked = checkExpressions(expressions, arguments, extents); !checked)
    return checked.error();
  for (std::string_view dimension : {"batch", "heads", "query_length"})
    result.empty = result.empty || extents.find(dimension) == 0;
  return result;
}
