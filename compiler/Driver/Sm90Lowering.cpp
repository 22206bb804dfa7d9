//===- Sm90Lowering.cpp - Target sm_90a: NVIDIA's Hopper ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Driver/BuildId.h"
#include "compiler/Driver/CachedImage.h"
#include "compiler/Pipelines/GpuPipeline.h"
#include "compiler/Target/Codegen.h"
#include "compiler/Target/PTX/Assembler.h"
#include "compiler/Target/PTX/Codegen.h"
#include "compiler/Target/PTX/KernelDescription.h"
#include "dialect/SM/SM.h"
#include "lib/Expression/Spelling.h"
#include "lib/Support/MakeError.h"
#include "runtime/GpuKernel.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

using namespace mlir;
using namespace tilewright;

/// By what ptxas makes of such kernels: what does not fit spills, and the gate refuses it.
static ScorePressure scorePressure(const ParsedProblem &problem) {
  const size_t tensors = problem.declarations.tensors().size();
  size_t ofScores = 0, ofMasks = 0;
  for (const expression::Expression &score : problem.scores)
    ofScores += score.nodes().size();
  for (const expression::Expression &mask : problem.masks)
    ofMasks += mask.nodes().size();
  if (tensors > 1 || ofScores > 24 || ofScores + ofMasks > (tensors == 0 ? 40 : 24))
    return ScorePressure::Many;
  const bool wide = std::max(problem.headDim, problem.valueDim) > 192;
  return tensors == 1 || (wide && !problem.scores.empty()) ? ScorePressure::Some
                                                           : ScorePressure::Few;
}

/// An H100's, by NVIDIA's whitepaper on its architecture.
static constexpr int64_t cacheOfDevice = int64_t{50} << 20;

namespace {
class Sm90Lowering : public Lowering {
public:
  explicit Sm90Lowering(std::string ptxas) : chosenPtxas(std::move(ptxas)) {}

  std::string_view targetName() const override { return "sm_90a"; }

  std::span<const Stage> stages() const override {
    static constexpr Stage all[] = {Stage::Attn, Stage::Tile, Stage::SM,    Stage::NVVM,
                                    Stage::LLVM, Stage::PTX,  Stage::Cubin, Stage::SASS};
    return all;
  }
  std::span<const Stage> firstStages() const override {
    static constexpr Stage first[] = {Stage::Attn, Stage::Tile, Stage::SM, Stage::NVVM, Stage::PTX};
    return first;
  }
  Stage codeSource() const override { return Stage::SM; }
  bool codeNamesPlaces() const override { return true; }

  Status check(const ParsedProblem &problem) const override {
    if (problem.dtype != DType::F16 && problem.dtype != DType::BF16)
      return unsupported("dtype is {}; target sm_90a takes f16 and bf16", nameOf(problem.dtype));
    for (auto [name, width] :
         {std::pair{"head dim", problem.headDim}, {"value dim", problem.valueDim}})
      if (width > sm::maxWidth)
        return unsupported("{} is {}; target sm_90a takes up to {}", name, width, sm::maxWidth);
    return {};
  }

  Schedule defaultSchedule(const ParsedProblem &problem) const override {
    return defaultGpuSchedule(problem.headDim, problem.valueDim, scorePressure(problem));
  }
  Schedule defaultScheduleAtTile() const override {
    return {.stages = defaultGpuSchedule(1, 1, ScorePressure::Few).stages};
  }

  Status checkSchedule(const Schedule &schedule) const override {
    // A warpgroup has productRows rows of queries, and up to four work on a block.
    if (schedule.blockQ % sm::productRows != 0 || schedule.blockQ > 4 * sm::productRows)
      return unsupported("block_q is {}; target sm_90a takes multiples of {} up to {}",
                         schedule.blockQ, sm::productRows, 4 * sm::productRows);
    // Keys are the depth of the second product.
    if (schedule.blockKV % sm::productDepth != 0 || schedule.blockKV > sm::maxSharedRows)
      return unsupported("block_kv is {}; target sm_90a takes multiples of {} up to {}",
                         schedule.blockKV, sm::productDepth, sm::maxSharedRows);
    return {};
  }

  int64_t lanes(const ParsedProblem &) const override { return 0; }

  /// Every GPU of the target: which of them will run the kernel is not known here.
  std::optional<Machine> machine() const override {
    return Machine{.features = "sm_90a", .level1 = sm::maxSharedMemory, .level2 = cacheOfDevice};
  }

  std::string passesTo(Stage stage, const ParsedProblem *,
                       const Schedule &schedule) const override {
    switch (stage) {
    case Stage::Tile:
      return attnToTilePipeline(schedule);
    case Stage::SM:
      return tileToSMPipeline(schedule);
    case Stage::NVVM:
      return smToNVVMPipeline();
    default:
      return nvvmToLLVMPipeline();
    }
  }

  Result<std::string> code(Stage stage, Compilation::Implementation &state) const override {
    if (stage == Stage::SASS) {
      Result<std::string> cubin = state.memoized(Stage::Cubin);
      return cubin ? ptx::disassemble(*cubin) : cubin;
    }
    if (stage == Stage::Cubin) {
      Result<std::string> ptx = state.memoized(Stage::PTX);
      if (!ptx)
        return ptx;
      Result<ptx::Assembled> assembled = assemble(*ptx, state);
      if (!assembled)
        return assembled.error();
      return std::move(assembled->cubin);
    }
    Result<ModuleOp> module = state.module(Stage::LLVM);
    if (!module)
      return module.error();
    llvm::LLVMContext context;
    Result<std::unique_ptr<llvm::Module>> translated = ptx::translateToLLVM(*module, context);
    if (!translated)
      return translated.error();
    if (stage == Stage::LLVM)
      return printLLVM(**translated);
    Result<std::string> comment = ptx::describeInComment(*module);
    if (!comment)
      return comment;
    Result<std::string> ptx = ptx::emitPtx(**translated);
    if (!ptx)
      return ptx;
    return *comment + *ptx;
  }

  Result<Signature> signature(Compilation::Implementation &state) const override {
    Result<ptx::KernelDescription> description = describe(state);
    if (!description)
      return description.error();
    return Signature{.function = description->launch.kernel,
                     .arguments = std::move(description->arguments)};
  }

  Result<Kernel> kernel(Compilation::Implementation &state) const override {
    Result<KernelImage> made = image(state, /*assembled=*/true);
    if (!made)
      return made.error();
    return makeGpuKernel(*made);
  }

  Result<KernelImage> image(Compilation::Implementation &state, bool assembled) const override {
    const auto make = [&] { return makeImage(state, assembled); };
    const Result<std::string> ptxas = ptx::findPtxas(chosenPtxas);
    if (!assembled || !ptxas) // that there is none is said after what is wrong with the problem
      return make();
    return findOrMakeImage(state,
                           {.target = "sm_90a",
                            .assembler = ptx::fingerprintOf(*ptxas),
                            .flags = fmt::format("{}", fmt::join(ptx::ptxasFlags, " "))},
                           make);
  }

private:
  Result<KernelImage> makeImage(Compilation::Implementation &state, bool assembled) const {
    Result<ptx::KernelDescription> description = describe(state);
    if (!description)
      return description.error();
    KernelImage image{.target = "sm_90a",
                      .compiler =
                          fmt::format("Tilewright {}, build id {}", TILEWRIGHT_VERSION, buildId()),
                      .assembler = {},
                      .schedule = toString(state.schedule),
                      .stage = std::string(nameOf(state.from)),
                      .source = *state.memoized(state.from),
                      .expressions = state.launchExpressions(),
                      .arguments = std::move(description->arguments),
                      .launches = {std::move(description->launch)},
                      .ptx = *state.memoized(Stage::PTX),
                      .cubin = {}};
    if (assembled)
      if (Status added = addCubin(image, state); !added)
        return added.error();
    return image;
  }

  Result<ptx::KernelDescription> describe(Compilation::Implementation &state) const {
    Result<std::string> ptx = state.memoized(Stage::PTX);
    if (!ptx)
      return ptx.error();
    return ptx::readDescription(*ptx, state.context);
  }

  /// Refused: what does not pass the gate.
  Result<ptx::Assembled> assemble(const std::string &ptx,
                                  Compilation::Implementation &state) const {
    Result<std::string> ptxas = ptx::findPtxas(chosenPtxas);
    if (!ptxas)
      return ptxas.error();
    Result<ptx::Assembled> assembled = ptx::assemble(ptx, *ptxas);
    if (!assembled) // of our own PTX it is our fault
      return state.from == Stage::PTX
                 ? assembled
                 : internalError("the lowering gave wrong PTX: {}", assembled.error().message());
    if (Status passed = ptx::checkResources(assembled->resources); !passed)
      return passed.error();
    return assembled;
  }

  Status addCubin(KernelImage &image, Compilation::Implementation &state) const {
    Result<ptx::Assembled> assembled = assemble(image.ptx, state);
    if (!assembled)
      return assembled.error();
    Result<std::string> version = ptx::versionOf(*ptx::findPtxas(chosenPtxas));
    if (!version)
      return version.error();
    image.assembler = *std::move(version);
    image.cubin = std::move(assembled->cubin);
    image.launches.front().registers = static_cast<uint32_t>(assembled->resources.registers);
    return checkImage(image);
  }

  std::string chosenPtxas;
};
} // namespace

Result<std::unique_ptr<const Lowering>>
tilewright::makeSm90Lowering(const CompileOptions &options) {
  if (!options.cpu.empty())
    return invalidArgument("cpu is '{}', but the target is sm_90a",
                           expression::printable(options.cpu, 40));
  if (!options.name.empty())
    return invalidArgument("name is '{}', but the target sm_90a has no objects for C",
                           expression::printable(options.name, 40));
  return std::unique_ptr<const Lowering>(std::make_unique<Sm90Lowering>(options.ptxas));
}
