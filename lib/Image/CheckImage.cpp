//===- CheckImage.cpp - What launching a kernel relies on -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Expression/Spelling.h"
#include "lib/Image/KernelImage.h"
#include "lib/Support/MakeError.h"

#include <algorithm>

using namespace tilewright;

namespace {
constexpr size_t maxNameLength = 256;
constexpr int64_t maxExtent = expression::Sizes::maxExtent;

bool isTensor(const KernelArgument &argument) {
  return argument.kind == KernelArgument::Kind::Tensor;
}

/// Names go into messages and, as C strings, to the driver.
Status checkName(std::string_view what, std::string_view name) {
  const auto isControl = [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; };
  if (name.empty() || name.size() > maxNameLength || std::ranges::any_of(name, isControl))
    return invalidArgument("{} '{}' is no name: 1 to {} bytes without control characters", what,
                           expression::printable(name, 40), maxNameLength);
  return {};
}

Status checkArgument(const KernelArgument &argument) {
  if (Status named = checkName("argument", argument.name); !named)
    return named;
  const size_t rank = argument.shape.size();
  if (!isTensor(argument)) {
    if (rank != 0 || !argument.strides.empty())
      return invalidArgument("argument '{}' is a scalar and has a shape", argument.name);
    return {};
  }
  if (rank > TensorView::maxRank || argument.strides.size() != rank)
    return invalidArgument("argument '{}' has {} extents and {} strides; the limit is {} of each",
                           argument.name, rank, argument.strides.size(), TensorView::maxRank);
  for (int64_t extent : argument.shape)
    if (extent != KernelArgument::dynamic && (extent < 0 || extent > maxExtent))
      return invalidArgument("argument '{}' has an extent of {}; it must be from 0 to {}",
                             argument.name, extent, maxExtent);
  return {};
}

Status checkArguments(const KernelImage &image) {
  const std::vector<KernelArgument> &arguments = image.arguments;
  if (arguments.size() > maxArguments)
    return unsupported("the kernel takes {} arguments, '{}' beyond the limit of {}",
                       arguments.size(), expression::printable(arguments[maxArguments].name, 40),
                       maxArguments);
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (Status checked = checkArgument(arguments[i]); !checked)
      return checked;
    for (size_t j = 0; j < i; ++j)
      if (arguments[j].name == arguments[i].name)
        return invalidArgument("two arguments are named '{}'", arguments[i].name);
  }
  return {};
}

const KernelArgument *findArgument(const KernelImage &image, std::string_view name) {
  const auto found = std::ranges::find(image.arguments, name, &KernelArgument::name);
  return found == image.arguments.end() ? nullptr : &*found;
}

/// What the expressions declare is what the kernel takes, or no launch could bind it.
Status checkDeclarations(const KernelImage &image) {
  for (const expression::Scalar &scalar : image.expressions.declarations.scalars()) {
    const KernelArgument *argument = findArgument(image, scalar.name);
    if (!argument || isTensor(*argument))
      return invalidArgument("the expressions declare a scalar '{}', which the kernel does not "
                             "take",
                             scalar.name);
  }
  for (const expression::Tensor &tensor : image.expressions.declarations.tensors()) {
    const KernelArgument *argument = findArgument(image, tensor.name);
    const DType dtype = tensor.dtype == DType::Bool ? DType::U8 : tensor.dtype;
    if (!argument || !isTensor(*argument) || argument->shape.size() != tensor.rank ||
        (argument->dtype != dtype && argument->dtype != tensor.dtype))
      return invalidArgument("the expressions declare a tensor '{}' ({}, {} dimensions), which "
                             "the kernel does not take",
                             tensor.name, nameOf(tensor.dtype), tensor.rank);
  }
  return {};
}

Status checkFormula(const KernelImage &image, const SizeFormula &formula) {
  using Op = SizeFormula::Op;
  size_t depth = 0;
  for (const SizeFormula::Step &step : formula.steps) {
    const bool pushes = step.op == Op::Constant || step.op == Op::Extent;
    if (step.op == Op::Extent && (step.argument >= image.arguments.size() ||
                                  step.dimension >= image.arguments[step.argument].shape.size()))
      return invalidArgument("a size formula reads dimension {} of argument {}, which is not there",
                             step.dimension, step.argument);
    if (pushes ? depth == SizeFormula::maxDepth : depth < 2)
      return invalidArgument("a size formula keeps less than 1 or more than {} numbers",
                             SizeFormula::maxDepth);
    depth = pushes ? depth + 1 : depth - 1;
  }
  if (depth != 1)
    return invalidArgument("a size formula leaves {} numbers instead of one", depth);
  return {};
}

Status checkParameter(const KernelImage &image, const KernelParameter &parameter) {
  using Kind = KernelParameter::Kind;
  if (parameter.argument >= image.arguments.size())
    return invalidArgument("a parameter is made from argument {} of {}", parameter.argument,
                           image.arguments.size());
  const KernelArgument &argument = image.arguments[parameter.argument];
  const size_t rank = argument.shape.size();
  if (isTensor(argument) == (parameter.kind == Kind::Scalar))
    return invalidArgument("a parameter made from '{}' takes a tensor for a scalar or a scalar for "
                           "a tensor",
                           argument.name);
  if ((parameter.kind == Kind::Extent || parameter.kind == Kind::Stride) &&
      parameter.detail >= rank)
    return invalidArgument("a parameter is made from dimension {} of '{}', which has {}",
                           parameter.detail, argument.name, rank);
  if (parameter.kind == Kind::TensorMap && (sizeOf(argument.dtype) != 2 || rank < 2 || rank > 5 ||
                                            parameter.detail < 1 || parameter.detail > maxBoxRows))
    return invalidArgument("'{}' ({}, {} dimensions) is read through a tensor map in boxes of {} "
                           "rows; it takes 2-byte elements, 2 to 5 dimensions, 1 to {} rows",
                           argument.name, nameOf(argument.dtype), rank, parameter.detail,
                           maxBoxRows);
  return {};
}

Status checkRing(const KernelLaunch &launch, const SharedRing &ring) {
  if (Status named = checkName("ring", ring.name); !named)
    return named;
  if (ring.stages == 0 || ring.stageBytes == 0 || ring.stageBytes % sharedStageAlignment != 0)
    return invalidArgument("ring '{}' has {} stages of {} bytes; it takes 1 or more of a multiple "
                           "of {}",
                           ring.name, ring.stages, ring.stageBytes, sharedStageAlignment);
  const uint64_t stagesEnd = ring.offset + uint64_t{ring.stages} * ring.stageBytes;
  const uint64_t barriersEnd = ring.barriers + uint64_t{ring.stages} * 2 * sharedBarrierBytes;
  if (std::max(stagesEnd, barriersEnd) > launch.sharedMemory)
    return invalidArgument("ring '{}' ends at byte {} of the {} of shared memory", ring.name,
                           std::max(stagesEnd, barriersEnd), launch.sharedMemory);
  return {};
}

Status checkLaunch(const KernelImage &image, const KernelLaunch &launch) {
  if (Status named = checkName("kernel", launch.kernel); !named)
    return named;
  if (launch.threads < 1 || launch.threads > maxThreadsOfBlock)
    return unsupported("kernel {} has {} threads a block; the limit is 1 to {}", launch.kernel,
                       launch.threads, maxThreadsOfBlock);
  if (launch.sharedMemory > maxSharedMemoryOfBlock)
    return unsupported("kernel {} takes {} bytes of shared memory; the limit is {}", launch.kernel,
                       launch.sharedMemory, maxSharedMemoryOfBlock);
  if (launch.rings.size() > maxRings)
    return unsupported("kernel {} has {} rings; the limit is {}", launch.kernel,
                       launch.rings.size(), maxRings);
  for (const SharedRing &ring : launch.rings)
    if (Status checked = checkRing(launch, ring); !checked)
      return checked;
  for (const SizeFormula &formula : launch.grid)
    if (Status checked = checkFormula(image, formula); !checked)
      return checked;
  size_t bytes = 0;
  for (const KernelParameter &parameter : launch.parameters) {
    if (Status checked = checkParameter(image, parameter); !checked)
      return checked;
    const size_t size = sizeOf(parameter, image.arguments[parameter.argument]);
    const size_t alignment = std::min<size_t>(size, 64);
    bytes = (bytes + alignment - 1) / alignment * alignment + size;
    if (bytes > maxParameterBytes)
      return unsupported("kernel {} takes more than {} bytes of parameters, of which '{}' passes "
                         "the limit",
                         launch.kernel, maxParameterBytes,
                         image.arguments[parameter.argument].name);
  }
  return {};
}
} // namespace

size_t tilewright::sizeOf(const KernelParameter &parameter, const KernelArgument &argument) {
  switch (parameter.kind) {
  case KernelParameter::Kind::Scalar:
    return argument.kind == KernelArgument::Kind::F64 ? 8 : 4;
  case KernelParameter::Kind::TensorMap:
    return 128;
  default:
    return 8;
  }
}

Status tilewright::checkImage(const KernelImage &image) {
  if (Status checked = checkArguments(image); !checked)
    return checked;
  if (Status checked = checkDeclarations(image); !checked)
    return checked;
  if (image.launches.size() != 1)
    return unsupported("the image has {} launches, and one is expected", image.launches.size());
  return checkLaunch(image, image.launches.front());
}
