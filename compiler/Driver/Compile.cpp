//===- Compile.cpp - From an attention problem to a kernel ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include <tilewright/compiler.h>

#include "compiler/Driver/CompilationAccess.h"
#include "compiler/Driver/Implementation.h"
#include "compiler/Frontend/BuildProblem.h"
#include "compiler/Frontend/ParseModule.h"
#include "compiler/Frontend/PrintModule.h"
#include "compiler/Frontend/ReadProblem.h"
#include "compiler/Pipelines/CpuPipeline.h"
#include "dialect/Attn/Attn.h"
#include "dialect/Tile/Tile.h"
#include "lib/Expression/Spelling.h"
#include "lib/Support/MakeError.h"

using namespace mlir;
using namespace tilewright;
using expression::printable;

static Result<CpuTarget> findTarget(const CompileOptions &options) {
  if (options.target != "cpu")
    return invalidArgument("unknown target '{}'; targets are cpu", printable(options.target, 40));
  if (options.cpu.empty())
    return CpuTarget::host();
  return CpuTarget::named(options.cpu);
}

/// The compiler's choice under what the file states under what the options state.
static Result<Schedule> findSchedule(attn::ForwardOp forward, const ParsedProblem &problem,
                                     const CpuTarget &target, const std::string &options) {
  Schedule schedule =
      defaultCpuSchedule(target, problem.dtype == DType::F64, problem.headDim, problem.valueDim);
  auto stated = forward->getAttrOfType<tile::ScheduleAttr>(tile::scheduleAttribute);
  if (stated)
    schedule = {.blockQ = stated.getBlockQ(), .blockKV = stated.getBlockKv()};
  Result<Schedule> parsed = parseSchedule(options, schedule);
  if (parsed && stated)
    forward->setAttr(
        tile::scheduleAttribute,
        tile::ScheduleAttr::get(forward.getContext(), parsed->blockQ, parsed->blockKV));
  return parsed;
}

/// Goes on from a module at stage attn. `text` is what it was read from, if anything: errors and
/// remarks then speak of the places in the user's file.
static Result<Compilation>
startAtProblem(const std::shared_ptr<Compilation::Implementation> &implementation, ModuleOp module,
               const CompileOptions &options, std::string_view text = {}) {
  attn::ForwardOp forward;
  module.walk([&](attn::ForwardOp op) { forward = op; });
  Result<Schedule> schedule =
      findSchedule(forward, *implementation->problem, implementation->target, options.schedule);
  if (!schedule)
    return schedule.error();
  implementation->schedule = *schedule;
  const bool isAsRead = !text.empty() && options.schedule.empty();
  implementation->setFirstText(isAsRead ? std::string(text) : printModule(module));
  return Compilation(implementation);
}

Result<Compilation> tilewright::compile(const Problem &problem, const CompileOptions &options) {
  Result<CpuTarget> target = findTarget(options);
  if (!target)
    return target.error();
  Result<ParsedProblem> parsed = parseProblem(problem);
  if (!parsed)
    return parsed.error();
  const auto implementation =
      std::make_shared<Compilation::Implementation>(*std::move(target), Stage::Attn);
  implementation->problem = *std::move(parsed);
  const OwningOpRef<ModuleOp> module =
      buildProblem(*implementation->problem, implementation->context);
  return startAtProblem(implementation, *module, options);
}

Result<Compilation> tilewright::compileText(std::string_view text, Stage from,
                                            const CompileOptions &options) {
  if (from > Stage::Vector)
    return invalidArgument("a compilation cannot start at {}; it starts at attn, tile or vector",
                           nameOf(from));
  if (from > Stage::Attn && !options.schedule.empty())
    return invalidArgument("schedule '{}' comes too late: at stage {} the blocks are chosen",
                           printable(options.schedule, 40), nameOf(from));
  Result<CpuTarget> target = findTarget(options);
  if (!target)
    return target.error();
  const auto implementation =
      std::make_shared<Compilation::Implementation>(*std::move(target), from);
  Result<OwningOpRef<ModuleOp>> module = parseModule(text, implementation->context);
  if (!module)
    return module.error();
  if (from == Stage::Attn) {
    Result<ParsedProblem> problem = readProblem(**module);
    if (!problem)
      return problem.error();
    implementation->problem = *std::move(problem);
    return startAtProblem(implementation, **module, options, text);
  }
  implementation->setFirstText(std::string(text));
  return Compilation(implementation);
}

Result<std::string> Compilation::text(Stage stage) const {
  return implementation->text(stage);
}

std::string Compilation::schedule() const {
  return implementation->schedule ? toString(*implementation->schedule) : "";
}

std::string Compilation::pipeline() const {
  return implementation->pipeline();
}

std::vector<Remark> Compilation::remarks() const {
  return implementation->remarks();
}

Result<Kernel> Compilation::kernel() const {
  return implementation->kernel();
}

const ParsedProblem *CompilationAccess::problem(const Compilation &compilation) {
  const auto &problem = compilation.implementation->problem;
  return problem ? &*problem : nullptr;
}
