//===- CpuLowering.cpp - Target cpu ---------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Driver/Implementation.h"
#include "compiler/Pipelines/CpuPipeline.h"
#include "compiler/Target/CPU/Codegen.h"
#include "compiler/Target/CPU/CpuKernel.h"
#include "compiler/Target/CPU/ObjectHeader.h"
#include "compiler/Target/Codegen.h"
#include "lib/Support/MakeError.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

using namespace mlir;
using namespace tilewright;

namespace {
class CpuLowering : public Lowering {
public:
  CpuLowering(CpuTarget target, std::string name, std::optional<Machine> measurable)
      : target(std::move(target)), name(std::move(name)), measurable(std::move(measurable)) {}

  std::string_view targetName() const override { return "cpu"; }

  std::span<const Stage> stages() const override {
    static constexpr Stage all[] = {Stage::Attn, Stage::Tile,   Stage::Vector, Stage::LLVM,
                                    Stage::Asm,  Stage::Object, Stage::Header};
    return all;
  }
  std::span<const Stage> firstStages() const override { return stages().first(3); }
  Stage codeSource() const override { return Stage::Vector; }

  Status check(const ParsedProblem &) const override { return {}; }

  std::vector<Remark> remarks(const ParsedProblem &problem) const override {
    if (!target.amxRefused || problem.dtype != DType::BF16)
      return {};
    return {{.pass = "target",
             .message = "products are computed in f32 and not with AMX: the processor has it, and "
                        "the system does not let this process use it (arch_prctl with "
                        "ARCH_REQ_XCOMP_PERM fails)"}};
  }

  Schedule defaultSchedule(const ParsedProblem &problem) const override {
    const Schedule blocks =
        usesAmx(problem)
            ? defaultAmxSchedule(problem.valueDim)
            : defaultCpuSchedule(target, problem.dtype, problem.headDim, problem.valueDim);
    Schedule schedule = defaultScheduleAtTile();
    schedule.blockQ = blocks.blockQ;
    schedule.blockKV = blocks.blockKV;
    return schedule;
  }
  Schedule defaultScheduleAtTile() const override {
    return {.vectors = target.vectors, .rows = target.rows};
  }

  int64_t lanes(const ParsedProblem &problem) const override {
    if (usesAmx(problem))
      return 0;
    return problem.dtype == DType::F64 ? target.lanes / 2 : target.lanes;
  }

  std::optional<Machine> machine() const override { return measurable; }

  std::string passesTo(Stage stage, const ParsedProblem *problem,
                       const Schedule &schedule) const override {
    switch (stage) {
    case Stage::Tile:
      return attnToTilePipeline(schedule, target.lanes, fewQueries(*problem, schedule));
    case Stage::Vector:
      return tileToVectorPipeline(target, schedule);
    default:
      return vectorToLLVMPipeline();
    }
  }

  /// Generating code changes the module that it is given, so each stage translates anew.
  Result<std::string> code(Stage stage, Compilation::Implementation &state) const override {
    Result<ModuleOp> module = state.module(Stage::LLVM);
    if (!module)
      return module.error();
    llvm::LLVMContext context;
    Result<std::unique_ptr<llvm::Module>> translated = translateToLLVM(*module, target, context);
    if (!translated)
      return translated.error();
    if (stage == Stage::LLVM)
      return printLLVM(**translated);
    if (stage == Stage::Asm)
      return emitAssembly(**translated, target);
    Result<Signature> taken = signature(state);
    if (!taken)
      return taken.error();
    Result<ObjectDescription> object =
        ObjectDescription::make(name, *std::move(taken), state.launchExpressions());
    if (!object)
      return object.error();
    Result<std::string> header = objectHeader(
        **translated, *object, target, state.from == Stage::Attn ? toString(state.schedule) : "");
    if (stage == Stage::Header)
      return header;
    state.keep(Stage::Header, std::move(header)); // who links an object wants both
    if (Status added = addObjectFunctions(**translated, *object, target); !added)
      return added.error();
    return emitObject(**translated, target);
  }

  Result<Signature> signature(Compilation::Implementation &state) const override {
    Result<ModuleOp> module = state.module(Stage::Vector);
    if (!module)
      return module.error();
    return extractSignature(*module);
  }

  Result<Kernel> kernel(Compilation::Implementation &state) const override {
    if (!target.isHost)
      return unsupported("the code is for {}, which this machine cannot run", target.cpu);
    Result<Signature> taken = signature(state);
    if (!taken)
      return taken.error();
    Result<ModuleOp> module = state.module(Stage::LLVM);
    if (!module)
      return module.error();
    return makeCpuKernel(*module, target, *std::move(taken), state.launchExpressions());
  }

  Result<KernelImage> image(Compilation::Implementation &, bool) const override {
    return unsupported("target cpu has no kernel images: code for a processor is compiled where it "
                       "runs");
  }

private:
  /// Where queries fill less than half of a register tile, columns do better on the lanes; narrow
  /// heads on AMX do from one tile of queries on.
  int64_t fewQueries(const ParsedProblem &problem, const Schedule &schedule) const {
    const bool isNarrow = std::max(problem.headDim, problem.valueDim) <= 96;
    return usesAmx(problem) && isNarrow ? target.lanes : target.lanes * schedule.vectors / 2;
  }

  bool usesAmx(const ParsedProblem &problem) const {
    return target.amx && problem.dtype == DType::BF16 &&
           std::max(problem.headDim, problem.valueDim) <= maxAmxWidth;
  }

  CpuTarget target;
  /// The prefix of an object's functions.
  std::string name;
  std::optional<Machine> measurable;
};
} // namespace

Result<std::unique_ptr<const Lowering>> tilewright::makeCpuLowering(const CompileOptions &options) {
  if (!options.ptxas.empty())
    return invalidArgument("ptxas is '{}', but target cpu needs none", options.ptxas);
  Result<CpuTarget> target =
      options.cpu.empty() ? CpuTarget::host() : CpuTarget::named(options.cpu);
  if (!target)
    return target.error();
  std::optional<Machine> measurable;
  if (options.cpu.empty())
    measurable = Machine::host(*target);
  return std::unique_ptr<const Lowering>(std::make_unique<CpuLowering>(
      *std::move(target), options.name.empty() ? "attention" : options.name,
      std::move(measurable)));
}
