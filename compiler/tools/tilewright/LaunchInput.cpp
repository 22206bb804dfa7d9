//===- LaunchInput.cpp - A kernel and what it is run on -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/tilewright/LaunchInput.h"

#include "compiler/tools/tilewright/Progress.h"
#include "compiler/tools/tilewright/VisitedWork.h"

using namespace tilewright;
using namespace tilewright::tool;

Result<BlockMap> LaunchInput::blocks() const {
  if (program.from() > Stage::Tile)
    return Error(ErrorKind::Unsupported, "the program starts below tile");
  Result<std::string> tile = program.text(Stage::Tile);
  if (!tile)
    return tile.error();
  return computeBlockMap(*tile, tensors.sizes, program.input().scalars);
}

double LaunchInput::operationsOf(const BlockMap &blocks) const {
  const KernelFacts &facts = program.facts();
  return countOperations(countVisitedScores(blocks, tensors.sizes), tensors.sizes, facts.headDim,
                         facts.valueDim);
}

Result<LaunchInput> tool::prepareLaunch(const Options &options) {
  if (Status checked = checkRunOptions(options); !checked)
    return checked.error();
  Result<CompiledProgram> program = [&] {
    Progress progress("compiling");
    return CompiledProgram::load(options);
  }();
  if (!program)
    return program.error();
  Result<RunTensors> tensors = makeRunTensors(options, program->facts());
  if (!tensors)
    return tensors.error();

  Arguments arguments;
  arguments.query = tensors->query;
  arguments.key = tensors->key;
  arguments.value = tensors->value;
  arguments.out = tensors->out;
  arguments.lse = tensors->lse;
  arguments.scale = options.problem.scale;
  const ProblemInput &input = program->input();
  arguments.scalars.insert(input.scalars.begin(), input.scalars.end());
  Result<std::map<std::string, TensorView, std::less<>>> bound = input.bindTensors(tensors->sizes);
  if (!bound)
    return bound.error();
  arguments.tensors = *std::move(bound);
  return LaunchInput{*std::move(program), *std::move(tensors), std::move(arguments)};
}
