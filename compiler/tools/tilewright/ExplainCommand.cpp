//===- ExplainCommand.cpp - tilewright explain ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Analysis/IoModel.h"
#include "compiler/Target/CPU/CacheSizes.h"
#include "compiler/tools/tilewright/BlockPicture.h"
#include "compiler/tools/tilewright/Commands.h"
#include "compiler/tools/tilewright/CompiledProgram.h"
#include "compiler/tools/tilewright/LaunchFacts.h"
#include "compiler/tools/tilewright/Output.h"
#include "compiler/tools/tilewright/Progress.h"
#include "compiler/tools/tilewright/VisitedWork.h"
#include "lib/Expression/Parse.h"
#include "lib/Support/MakeError.h"

using namespace tilewright;
using namespace tilewright::tool;

/// More blocks than this in a row or column are drawn together.
static constexpr int64_t maxPicture = 64;

/// The lines on the problem, as far as it is known; below attn it is not.
static std::string describeProblem(const ParsedProblem *problem, const KernelFacts &facts,
                                   const ProblemInput &input) {
  std::string text = fmt::format("problem     head dim {}, value dim {}, {} to {}{}\n",
                                 facts.headDim, facts.valueDim, nameOf(facts.dtype),
                                 nameOf(facts.outDType), facts.lse ? ", with lse" : "");
  if (!problem)
    return text;
  for (const expression::Expression &score : problem->scores)
    text += fmt::format("  score     {}\n", toString(score, problem->declarations));
  for (const expression::Expression &mask : problem->masks)
    text += fmt::format("  mask      {}\n", toString(mask, problem->declarations));
  if (problem->masks.empty())
    text += "  mask      none\n";
  for (const auto &[name, value] : input.scalars)
    text += fmt::format("  scalar    {} = {}\n", name, value);
  return text;
}

static std::string describeBlocks(const BlockMap &map, const ProblemSizes &sizes,
                                  const KernelFacts &facts) {
  const auto operations = [&](double scores) {
    return countOperations(scores, sizes, facts.headDim, facts.valueDim) * 1e-9;
  };
  const double allScores = double(sizes.queryLength) * double(sizes.keyLength);
  const int64_t visited = map.full() + map.partial();
  const BlockPicture picture = drawBlocks(map, maxPicture);
  std::string together;
  if (picture.queryBlocks > 1 || picture.keyBlocks > 1)
    together = fmt::format("; each character stands for {} by {} blocks", picture.queryBlocks,
                           picture.keyBlocks);
  return fmt::format(
      "\nblocks      {} queries (down) by {} keys (across), of one head; # full: no mask code,\n"
      "            + partial, . skipped: not visited{}\n\n{}\n"
      "counts      {} full, {} partial, {} skipped; {} of {} blocks visited\n"
      "operations  {:.4g} GFLOP in the visited blocks of all heads; {:.4g} without a mask\n",
      map.blockQ, map.blockKV, together, picture.text, map.full(), map.partial(), map.skipped(),
      visited, visited + map.skipped(), operations(countVisitedScores(map, sizes)),
      operations(allScores));
}

/// One line of the model for one fast memory.
static std::string describeAccesses(const IoModel &model, std::string_view name, int64_t bytes) {
  const double elements = double(bytes) / double(sizeOf(model.dtype));
  const std::string memory =
      fmt::format("{} of {}, M = {:.0f} elements", name, formatBytes(double(bytes)), elements);
  switch (model.range(elements)) {
  case IoModel::Range::Holds:
    return fmt::format("  {}: {:.2f} times fewer; limit for long sequences {:.2f}\n", memory,
                       model.accessRatio(elements), model.accessRatioLimit(elements));
  case IoModel::Range::MemoryTooSmall:
    return fmt::format("  {}: the model does not hold, M is below d^2\n", memory);
  case IoModel::Range::AllFits:
    return fmt::format("  {}: the model does not hold, M is above T d: all of it fits\n", memory);
  }
  return "";
}

static std::string describeMemory(const IoModel &model, const std::string &scratch,
                                  const CacheSizes &caches) {
  return fmt::format(
      "\nmemory      query, key and value {}; a table of all scores, never stored, would be {}\n"
      "scratch     {}\n"
      "accesses    of slow memory, against a kernel that stores the scores. A model in closed "
      "form,\n"
      "            not a measurement: (T^2 + T d) / (T^2 d^2 / M + T d), for d^2 <= M <= T d\n"
      "            ({}):\n{}{}",
      formatBytes(model.inputBytes()), formatBytes(model.scoreTableBytes()), scratch,
      caches.measured ? "M from this machine's caches of one core"
                      : "M assumed, since the machine's caches are not known",
      describeAccesses(model, "L1", caches.level1), describeAccesses(model, "L2", caches.level2));
}

/// What a launch of these sizes needs besides the tensors.
static Result<std::string> describeScratch(const Options &options, const CompiledProgram &program) {
  const std::string stack = fmt::format("{} of stack a thread for tiles, whatever the lengths",
                                        formatBytes(double(program.facts().scratchBytes)));
  if (!options.compile.cpu.empty())
    return stack + "; the workspace is known only on the processor itself";
  Result<Kernel> kernel = program.kernel();
  if (!kernel)
    return kernel.error();
  Result<size_t> workspace = kernel->workspaceSize(options.sizes);
  if (!workspace)
    return workspace.error();
  return fmt::format("{} of workspace; {}", formatBytes(double(*workspace)), stack);
}

/// The choices that passes are told, and what they remarked.
static std::string describeDecisions(const CompiledProgram &program) {
  std::string text = "\ndecisions\n";
  const std::string pipeline = program.pipeline();
  llvm::StringRef rest = pipeline;
  while (!rest.empty()) {
    const size_t end = rest.find_first_of(",{()");
    const llvm::StringRef pass = rest.take_front(end);
    rest = rest.substr(pass.size());
    if (!rest.consume_front("{")) {
      rest = rest.drop_front(!rest.empty());
      continue;
    }
    const auto [options, others] = rest.split('}');
    rest = others;
    // The passes that cut a problem; the others' options say how code is printed.
    if (pass.starts_with("assign-") || pass.starts_with("convert-tile-to-"))
      text += fmt::format("  {}: {}\n", pass.str(), options.str());
  }
  for (const Remark &remark : program.remarks())
    text += fmt::format("  {}: {}\n", remark.pass, remark.message);
  return text;
}

static Result<std::string> explain(const Options &options) {
  Progress progress("compiling");
  Result<CompiledProgram> program = CompiledProgram::load(options);
  if (!program)
    return program.error();
  const KernelFacts &facts = program->facts();
  const ProblemSizes &sizes = options.sizes;
  std::string text = describeProblem(program->compiledProblem(), facts, program->input());
  text += fmt::format("sizes       batch {}, heads {}, kv heads {}, {} queries, {} keys\n"
                      "target      {}{}\nschedule    {}\n",
                      sizes.batch, sizes.heads, sizes.kvHeads, sizes.queryLength, sizes.keyLength,
                      program->target(),
                      program->isForGpu()           ? ""
                      : options.compile.cpu.empty() ? ", this machine"
                                                    : ", " + options.compile.cpu,
                      program->schedule().empty() ? "as the program states" : program->schedule());
  if (program->from() <= Stage::Tile) {
    Result<std::string> tile = program->text(Stage::Tile);
    if (!tile)
      return tile.error();
    Result<BlockMap> map = computeBlockMap(*tile, sizes, program->input().scalars);
    text += map ? describeBlocks(*map, sizes, facts)
                : fmt::format("\nblocks      not known: {}\n", map.error().message());
  }
  if (program->isForGpu()) {
    Result<std::string> launch = describeLaunch(*program, sizes);
    if (!launch)
      return launch.error();
    return text + *launch + describeDecisions(*program);
  }
  Result<std::string> scratch = describeScratch(options, *program);
  if (!scratch)
    return scratch.error();
  const IoModel model = {sizes, facts.headDim, facts.valueDim, facts.dtype};
  text += describeMemory(model, *scratch,
                         options.compile.cpu.empty() ? CacheSizes::ofThisMachine() : CacheSizes());
  return text + describeDecisions(*program);
}

Result<int> tool::runExplain(const Options &options) {
  if (options.sizes.queryLength < 0)
    return invalidArgument("--lengths Tq,Tk is missing");
  const ProblemSizes &s = options.sizes;
  if (Status checked =
          expression::checkSizes({s.batch, s.heads, s.kvHeads, s.queryLength, s.keyLength});
      !checked)
    return checked.error().within("--heads");
  Result<std::string> text = explain(options);
  if (!text)
    return text.error();
  if (Status written = writeStdout(*text); !written)
    return written.error();
  return 0;
}
