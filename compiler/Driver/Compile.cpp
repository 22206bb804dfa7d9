//===- Compile.cpp - From an attention problem to a kernel ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include <tilewright/compiler.h>

#include "compiler/Driver/CompilationAccess.h"
#include "compiler/Driver/Implementation.h"
#include "compiler/Driver/MeasuredSchedule.h"
#include "compiler/Frontend/BuildProblem.h"
#include "compiler/Frontend/ParseModule.h"
#include "compiler/Frontend/PrintModule.h"
#include "compiler/Frontend/ReadProblem.h"
#include "dialect/Attn/Attn.h"
#include "dialect/Tile/Tile.h"
#include "lib/Expression/Spelling.h"
#include "lib/Support/MakeError.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/StringSwitch.h"

#include <algorithm>

using namespace mlir;
using namespace tilewright;
using expression::printable;

Result<std::unique_ptr<const Lowering>> tilewright::findLowering(const CompileOptions &options) {
  if (options.target == "cpu")
    return makeCpuLowering(options);
  if (options.target == "sm_90a")
    return makeSm90Lowering(options);
  return invalidArgument("unknown target '{}'; targets are cpu, sm_90a",
                         printable(options.target, 40));
}

/// The compiler's own choice under what the file states under what the options state.
static Result<Schedule> findSchedule(attn::ForwardOp forward, const ParsedProblem &problem,
                                     const Lowering &lowering, const std::string &options) {
  Schedule schedule = lowering.defaultSchedule(problem);
  auto stated = forward->getAttrOfType<tile::ScheduleAttr>(tile::scheduleAttribute);
  if (stated) {
    schedule.blockQ = stated.getBlockQ();
    schedule.blockKV = stated.getBlockKv();
  }
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
  const Lowering &lowering = *implementation->lowering;
  if (Status checked = lowering.check(*implementation->problem); !checked)
    return checked.error();
  attn::ForwardOp forward;
  module.walk([&](attn::ForwardOp op) { forward = op; });
  Result<Schedule> schedule =
      findSchedule(forward, *implementation->problem, lowering, options.schedule);
  if (!schedule)
    return schedule.error();
  if (Status checked = lowering.checkSchedule(*schedule); !checked)
    return checked.error();
  implementation->schedule = *schedule;
  const bool isStated = forward->hasAttr(tile::scheduleAttribute) || !options.schedule.empty();
  for (Remark &remark : implementation->lowering->remarks(*implementation->problem))
    implementation->addRemark(std::move(remark));
  const bool isAsRead = !text.empty() && options.schedule.empty();
  implementation->setFirstText(isAsRead ? std::string(text) : printModule(module));
  if (!isStated)
    useMeasuredSchedule(*implementation, options.tuning);
  return Compilation(implementation);
}

Result<Compilation> tilewright::compile(const Problem &problem, const CompileOptions &options) {
  Result<std::unique_ptr<const Lowering>> lowering = findLowering(options);
  if (!lowering)
    return lowering.error();
  Result<ParsedProblem> parsed = parseProblem(problem);
  if (!parsed)
    return parsed.error();
  const auto implementation =
      std::make_shared<Compilation::Implementation>(*std::move(lowering), Stage::Attn);
  implementation->problem = *std::move(parsed);
  const OwningOpRef<ModuleOp> module =
      buildProblem(*implementation->problem, implementation->context);
  return startAtProblem(implementation, *module, options);
}

static Status checkFirstStage(const Lowering &lowering, Stage from) {
  const std::span<const Stage> first = lowering.firstStages();
  if (std::ranges::find(first, from) != first.end())
    return {};
  std::vector<std::string_view> names;
  for (Stage stage : first)
    names.push_back(nameOf(stage));
  return invalidArgument("a compilation for this target cannot start at {}; it starts at {} or {}",
                         nameOf(from), fmt::join(names.begin(), std::prev(names.end()), ", "),
                         names.back());
}

/// The stage that only has such an operation, if there is one.
static std::optional<Stage> stageOf(Operation *op) {
  if (isa<scf::ForallOp>(op))
    return Stage::Tile;
  if (isa<LLVM::LLVMFuncOp>(op))
    return Stage::NVVM;
  return llvm::StringSwitch<std::optional<Stage>>(op->getName().getDialectNamespace())
      .Case("attn", Stage::Attn)
      .Case("tile", Stage::Tile)
      .Case("sm", Stage::SM)
      .Default(std::nullopt);
}

/// Refused: a program whose operations say that it is of another stage.
static Status checkIsOfStage(ModuleOp module, Stage from) {
  Operation *evidence = nullptr;
  module.walk([&](Operation *op) {
    if (!stageOf(op))
      return WalkResult::advance();
    evidence = op;
    return WalkResult::interrupt();
  });
  if (!evidence)
    return from == Stage::Vector
               ? Status()
               : invalidArgument("from is {}, and the program has no operation of the dialect {}",
                                 nameOf(from), from == Stage::NVVM ? "llvm" : nameOf(from));
  if (stageOf(evidence) == from)
    return {};
  return invalidArgument("from is {}, and the program is of stage {}: it has the operation '{}'",
                         nameOf(from), nameOf(*stageOf(evidence)),
                         evidence->getName().getStringRef().str());
}

/// The blocks are chosen from stage tile on, but not yet what follows.
static Result<Schedule> findLateSchedule(const Lowering &lowering, Stage from,
                                         const std::string &options) {
  const Schedule left = from == Stage::Tile ? lowering.defaultScheduleAtTile() : Schedule();
  if (options.empty() || left != Schedule())
    return parseSchedule(options, left);
  return invalidArgument("schedule '{}' comes too late: at stage {} the blocks are chosen",
                         printable(options, 40), nameOf(from));
}

Result<Compilation> tilewright::compileText(std::string_view text, Stage from,
                                            const CompileOptions &options) {
  Result<std::unique_ptr<const Lowering>> lowering = findLowering(options);
  if (!lowering)
    return lowering.error();
  if (Status checked = checkFirstStage(**lowering, from); !checked)
    return checked.error();
  const auto implementation =
      std::make_shared<Compilation::Implementation>(*std::move(lowering), from);
  if (from > Stage::Attn) {
    Result<Schedule> schedule = findLateSchedule(*implementation->lowering, from, options.schedule);
    if (!schedule)
      return schedule.error();
    implementation->schedule = *schedule;
  }
  if (from == Stage::PTX) {
    implementation->setFirstText(std::string(text));
    return Compilation(implementation);
  }
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
  if ((**module).getBody()->empty())
    return invalidArgument("the module is empty");
  if (Status checked = checkIsOfStage(**module, from); !checked)
    return checked.error();
  implementation->setFirstText(std::string(text));
  return Compilation(implementation);
}

Result<std::string> Compilation::text(Stage stage) const {
  return implementation->text(stage);
}

Result<std::string> Compilation::image() const {
  Result<KernelImage> image = implementation->image(/*assembled=*/true);
  if (!image)
    return image.error();
  return encode(*image);
}

std::string Compilation::schedule() const {
  return toString(implementation->schedule);
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

Result<Signature> CompilationAccess::signature(const Compilation &compilation) {
  return compilation.implementation->signature();
}

Result<KernelImage> CompilationAccess::image(const Compilation &compilation, bool assembled) {
  return compilation.implementation->image(assembled);
}

std::optional<TuningSubject> CompilationAccess::tuningSubject(const Compilation &compilation) {
  const Compilation::Implementation &state = *compilation.implementation;
  std::optional<TuningKey> key = state.tuningKey();
  if (!key)
    return std::nullopt;
  return TuningSubject{.key = *std::move(key),
                       .own = state.lowering->defaultSchedule(*state.problem),
                       .lanes = state.lowering->lanes(*state.problem)};
}

const ParsedProblem *CompilationAccess::problem(const Compilation &compilation) {
  const auto &problem = compilation.implementation->problem;
  return problem ? &*problem : nullptr;
}
