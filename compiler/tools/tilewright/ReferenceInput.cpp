//===- ReferenceInput.cpp - What the reference computes -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/tilewright/ReferenceInput.h"

#include "lib/Support/MakeError.h"

using namespace tilewright;
using namespace tilewright::tool;

Result<reference::Problem> tool::makeReference(const ParsedProblem &problem,
                                               const LaunchInput &input) {
  const Arguments &arguments = input.arguments;
  reference::Problem result;
  result.q = arguments.query;
  result.k = arguments.key;
  result.v = arguments.value;
  result.scale = problem.scale ? problem.scale : arguments.scale;
  result.scores = problem.scores;
  result.masks = problem.masks;
  result.declarations = problem.declarations;
  for (const expression::Scalar &scalar : problem.declarations.scalars()) {
    const auto value = arguments.scalars.find(scalar.name);
    if (value == arguments.scalars.end())
      return invalidArgument("--scalar {}=VALUE is missing", scalar.name);
    result.bindings.scalars.push_back(value->second);
  }
  for (const expression::Tensor &tensor : problem.declarations.tensors()) {
    const auto view = arguments.tensors.find(tensor.name);
    if (view == arguments.tensors.end())
      return invalidArgument("--tensor {}=FILE is missing", tensor.name);
    result.bindings.tensors.push_back(view->second);
  }
  return result;
}
