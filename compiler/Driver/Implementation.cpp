//===- Implementation.cpp - One stage after the other ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Driver/Implementation.h"

#include "compiler/Frontend/ParseModule.h"
#include "compiler/Frontend/PrintModule.h"
#include "compiler/Pipelines/Pipeline.h"
#include "compiler/Pipelines/Register.h"
#include "lib/Support/MakeError.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/Remarks.h"

#include <algorithm>

using namespace mlir;
using namespace tilewright;

namespace {
/// Keeps remarks as data.
struct CollectRemarks : remark::detail::MLIRRemarkStreamerBase {
  explicit CollectRemarks(std::vector<Remark> &remarks) : remarks(remarks) {}

  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    std::string message;
    for (const remark::detail::Remark::Arg &argument : remark.getArgs()) {
      if (!message.empty())
        message += "; ";
      // "Remark" is what the engine calls plain text.
      if (argument.key != "Remark")
        message += argument.key + ": ";
      message += argument.val;
    }
    remarks.push_back({.pass = remark.getCategoryName().str(), .message = std::move(message)});
  }

  std::vector<Remark> &remarks;
};
} // namespace

static DialectRegistry allDialects() {
  DialectRegistry registry;
  registerDialects(registry);
  return registry;
}

Compilation::Implementation::Implementation(std::unique_ptr<const Lowering> lowering, Stage from)
    : context(allDialects(), MLIRContext::Threading::DISABLED), lowering(std::move(lowering)),
      from(from) {
  const std::string every = ".*";
  const remark::RemarkCategories categories{every, every, every, every, every};
  [[maybe_unused]] const LogicalResult enabled = remark::enableOptimizationRemarks(
      context, std::make_unique<CollectRemarks>(collected),
      std::make_unique<remark::RemarkEmittingPolicyAll>(), categories);
  assert(succeeded(enabled) && "a streamer of our own cannot fail to open");
}

void Compilation::Implementation::setFirstText(std::string text) {
  texts.emplace(from, std::move(text));
}

void Compilation::Implementation::addRemark(Remark remark) {
  collected.push_back(std::move(remark));
}

Status Compilation::Implementation::tryLowering() {
  const std::lock_guard lock(mutex);
  const size_t remarksBefore = collected.size();
  const Result<ModuleOp> lowest = module(lowering->codeSource());
  if (lowest)
    return {};
  collected.resize(remarksBefore);
  std::erase_if(texts, [this](const auto &text) { return text.first != from; });
  std::erase_if(modules, [this](const auto &module) { return module.first != from; });
  return lowest.error();
}

Result<std::string> Compilation::Implementation::text(Stage stage) {
  const std::lock_guard lock(mutex);
  return memoized(stage);
}

Result<Kernel> Compilation::Implementation::kernel() {
  const std::lock_guard lock(mutex);
  if (!compiled)
    compiled = lowering->kernel(*this);
  return *compiled;
}

Result<KernelImage> Compilation::Implementation::image(bool assembled) {
  const std::lock_guard lock(mutex);
  return lowering->image(*this, assembled);
}

Result<Signature> Compilation::Implementation::signature() {
  const std::lock_guard lock(mutex);
  return lowering->signature(*this);
}

std::vector<Remark> Compilation::Implementation::remarks() {
  const std::lock_guard lock(mutex);
  if (std::exchange(passesWereSkipped, false)) [[maybe_unused]]
    const Result<std::string> code = memoized(Stage::PTX);
  return collected;
}

std::vector<Stage> Compilation::Implementation::stagesAfter(Stage after) const {
  std::vector<Stage> stages;
  for (Stage stage : lowering->stages().subspan(1))
    if (stage > after && stage <= Stage::LLVM)
      stages.push_back(stage);
  return stages;
}

std::string Compilation::Implementation::passesTo(Stage stage) const {
  return lowering->passesTo(stage, problem ? &*problem : nullptr, schedule);
}

std::string Compilation::Implementation::pipeline() const {
  std::vector<std::string> passes;
  for (Stage stage : stagesAfter(from))
    passes.push_back(passesTo(stage));
  return fmt::format("builtin.module({})", fmt::join(passes, ","));
}

Status Compilation::Implementation::checkIsThere(Stage stage) const {
  if (std::ranges::find(lowering->stages(), stage) == lowering->stages().end()) {
    std::vector<std::string_view> names;
    for (Stage known : lowering->stages())
      names.push_back(nameOf(known));
    return invalidArgument("this target has no stage {}; its stages are {}", nameOf(stage),
                           fmt::join(names, ", "));
  }
  if (stage < from)
    return invalidArgument("there is no stage {}: the compilation starts at {}, which comes later",
                           nameOf(stage), nameOf(from));
  return {};
}

Result<std::string> Compilation::Implementation::memoized(Stage stage) {
  const auto found = texts.find(stage);
  if (found != texts.end())
    return found->second;
  if (Status checked = checkIsThere(stage); !checked)
    return checked.error();
  const auto compute = [&]() -> Result<std::string> {
    if (stage >= Stage::LLVM)
      return lowering->code(stage, *this);
    Result<ModuleOp> program = module(stage);
    if (!program)
      return program.error();
    return printModule(*program);
  };
  return texts.emplace(stage, compute()).first->second;
}

Result<ModuleOp> Compilation::Implementation::module(Stage stage) {
  auto found = modules.find(stage);
  if (found == modules.end()) {
    if (Status checked = checkIsThere(stage); !checked)
      return checked.error();
    found = modules.emplace(stage, stage == from ? parse(stage) : lowerTo(stage)).first;
  }
  if (!found->second)
    return found->second.error();
  return found->second->get();
}

Result<OwningOpRef<ModuleOp>> Compilation::Implementation::lowerTo(Stage stage) {
  Result<ModuleOp> before = module(*std::prev(std::ranges::find(lowering->stages(), stage)));
  if (!before)
    return before.error();
  OwningOpRef<ModuleOp> program = before->clone();
  if (Status status = runPipeline(*program, passesTo(stage)); !status)
    return status.error();
  if (stage != lowering->codeSource() || !lowering->codeNamesPlaces())
    return program;
  keep(stage, printModule(*program));
  return parse(stage);
}

Result<OwningOpRef<ModuleOp>> Compilation::Implementation::parse(Stage stage) {
  Result<std::string> source = memoized(stage);
  if (!source)
    return source.error();
  Result<OwningOpRef<ModuleOp>> module = parseModule(*source, context, nameOf(stage));
  if (!module)
    return module.error().within(nameOf(stage));
  return module;
}

std::optional<TuningKey> Compilation::Implementation::tuningKey() const {
  const std::optional<Machine> machine = lowering->machine();
  if (!machine || !problem)
    return std::nullopt;
  return TuningKey::of(std::string(lowering->targetName()), *machine, *problem);
}

LaunchExpressions Compilation::Implementation::launchExpressions() const {
  if (!problem)
    return {};
  return {problem->declarations, problem->scores, problem->masks};
}
