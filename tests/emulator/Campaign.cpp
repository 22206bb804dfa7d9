//===- Campaign.cpp - Real kernels and planted faults ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   tilewright-emulator-campaign kernels [SEEDS]   every variant and shape: values, no findings
//   tilewright-emulator-campaign mutants [STRIDE]  every STRIDE-th fault: found, or listed
//   tilewright-emulator-campaign planted [STRIDE]  every STRIDE-th fault in the source: found
//   tilewright-emulator-campaign speed             thread-instructions a second, by length
//
// `mutants` fails when a fault in executed code is neither found nor of a kind
// that docs/emulator.md explains.
//
//===----------------------------------------------------------------------===//

#include "tests/emulator/AttentionKernel.h"
#include "tests/emulator/BackwardKernel.h"
#include "tests/emulator/Mutations.h"
#include "tests/emulator/PlantedFaults.h"
#include "tests/emulator/ProductKernel.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <string_view>

using namespace tilewright;
using namespace tilewright::emulator;
using namespace tilewright::emulator::test;

namespace {

const Variant variants[] = {
    {.name = "d64",
     .headDim = 64,
     .warpgroups = 2,
     .blockKeys = 64,
     .stages = 2,
     .mode = 2,
     .stored = "attention_d64.ptx"},
    {.name = "d64_causal",
     .headDim = 64,
     .warpgroups = 4,
     .blockKeys = 64,
     .stages = 6,
     .mode = 2,
     .causal = 1,
     .skip = 1,
     .stored = "attention_d64_causal.ptx"},
    {.name = "d128_pingpong",
     .headDim = 128,
     .warpgroups = 2,
     .blockKeys = 128,
     .stages = 2,
     .pingPong = 1},
    {.name = "d128_causal",
     .headDim = 128,
     .warpgroups = 2,
     .blockKeys = 128,
     .stages = 2,
     .pingPong = 1,
     .causal = 1},
    {.name = "d64_3wg",
     .headDim = 64,
     .warpgroups = 3,
     .blockKeys = 128,
     .stages = 3,
     .mode = 2,
     .pingPong = 1},
};

constexpr Shape shapes[] = {{256, 2, 1, 1}, {300, 3, 6, 2}, {129, 1, 100, 1}, {77, 2, -1, 1}};

/// Kernels besides the forward one.
struct OtherKernel {
  std::string name, source, defines, stored;
};
const OtherKernel backwardKernels[] = {
    {"backward_d64", "backward.cu", "", "backward_d64.ptx"},
    {"backward_d64_causal_atomics", "backward.cu", "-DCAUSAL=1 -DATOMICS=1", ""}};
const OtherKernel productKernels[] = {{"e4m3", "e4m3.cu", "", "e4m3.ptx"},
                                      {"e4m3_rounding", "e4m3.cu", "-DROUND=1", ""}};

/// The module, or nothing and a message.
Result<Module> load(const std::string &ptx) {
  if (ptx.empty())
    return Error(ErrorKind::Unsupported, "no nvcc to compile it");
  return loadModule(ptx);
}

/// One input under many seeds: right values, no finding, the same bits.
template <typename Case>
bool passes(const std::string &name, const Module &module, const Case &input, uint64_t seeds) {
  std::optional<typename Case::Result> last;
  double seconds = 0;
  uint64_t instructions = 0;
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    auto result = input.run(module, {.seed = seed});
    if (!result || result->outcome.finding || !result->valuesAreRight() ||
        (last && result->output != last->output)) {
      fmt::print("{} seed {}: {}\n", name, seed,
                 !result                   ? result.error().message()
                 : result->outcome.finding ? toText(*result->outcome.finding)
                                           : result->errors());
      return false;
    }
    seconds += result->seconds;
    instructions += result->outcome.statistics.threadInstructions;
    last = std::move(*result);
  }
  fmt::print("{}: {}, {:.1f} ms a run, {:.0f} million thread-instructions/s\n", name,
             last->errors(), seconds / double(seeds) * 1e3, double(instructions) / seconds / 1e6);
  return true;
}

/// Tells whether there is a module; without nvcc only stored ones need to be there.
bool report(const std::string &name, const Result<Module> &module, bool stored, int &failures) {
  if (module)
    return true;
  const bool skipped = module.error().kind() == ErrorKind::Unsupported && !stored;
  fmt::print("{}: {}{}\n", name, skipped ? "skipped: " : "", module.error().message());
  failures += !skipped;
  return false;
}

int runKernels(uint64_t seeds) {
  int failures = 0;
  for (const Variant &variant : variants) {
    const Result<Module> module = load(ptxOf(variant));
    if (!report(variant.name, module, !variant.stored.empty(), failures))
      continue;
    for (const Shape &shape : shapes)
      failures += !passes(fmt::format("{} T={} heads={} amplitude={}", variant.name, shape.length,
                                      shape.heads, shape.amplitude),
                          *module, AttentionCase(variant, shape), seeds);
  }
  for (const OtherKernel &kernel : backwardKernels) {
    const Result<Module> module = load(ptxOf(kernel.source, kernel.defines, kernel.stored));
    if (!report(kernel.name, module, !kernel.stored.empty(), failures))
      continue;
    const bool causal = kernel.defines.find("CAUSAL=1") != kernel.defines.npos;
    for (const auto &[length, heads] : {std::pair{256u, 1u}, {200u, 2u}, {77u, 1u}})
      failures += !passes(fmt::format("{} T={} heads={}", kernel.name, length, heads), *module,
                          BackwardCase(length, heads, causal), seeds);
  }
  for (const OtherKernel &kernel : productKernels) {
    const Result<Module> module = load(ptxOf(kernel.source, kernel.defines, kernel.stored));
    if (!report(kernel.name, module, !kernel.stored.empty(), failures))
      continue;
    for (const auto &[rows, columns, depth] :
         {std::tuple{64u, 64u, 128u}, {128u, 64u, 640u}, {64u, 192u, 1024u}})
      failures += !passes(fmt::format("{} {}x{}x{}", kernel.name, rows, columns, depth), *module,
                          ProductCase(rows, columns, depth), seeds);
  }
  return failures != 0;
}

struct Tally {
  uint32_t executed = 0, found = 0, neverExecuted = 0;
  std::map<std::string, uint32_t> by;
};

/// Kinds whose survivors are harmless; docs/emulator.md says why.
const std::set<std::string, std::less<>> mayBeHarmless = {
    "drop fence.mbarrier_init", "drop fence.proxy",      "B LBO wrong, K-major (ignored)",
    "B LBO wrong, MN-major",    "drop wgmma.fence",      "drop mbarrier.arrive",
    "drop bar.warp.sync",       "drop wgmma.wait_group", "drop wgmma.commit_group",
    "wait_group one too weak",  "drop bar.sync",         "drop bar.arrive",
    "drop setmaxnreg.dec"};

int runMutants(uint32_t stride) {
  constexpr Shape mutantShapes[] = {{768, 1, 1, 1}, {500, 1, 100, 1}, {300, 6, 1, 1}};
  constexpr uint64_t seedsEach = 3;
  int failures = 0;
  for (const Variant &variant : variants) {
    if (variant.name == "d64_3wg" || variant.name == "d128_causal")
      continue;
    const std::string ptx = ptxOf(variant);
    Result<Module> original =
        ptx.empty() ? Result<Module>(Error(ErrorKind::Unsupported, "")) : loadModule(ptx, "attn");
    if (!original)
      continue;
    std::vector<AttentionCase> cases;
    std::set<uint32_t> executedLines;
    for (const Shape &shape : mutantShapes) {
      cases.emplace_back(variant, shape);
      for (uint64_t seed = 1; seed <= seedsEach; ++seed) {
        Result<AttentionCase::Result> result = cases.back().run(*original, {.seed = seed});
        if (!result || result->outcome.finding || !result->valuesAreRight()) {
          fmt::print("{}: the kernel itself fails\n", variant.name);
          return 1;
        }
        for (size_t i = 0; i < result->outcome.executed.size(); ++i)
          if (result->outcome.executed[i])
            executedLines.insert(original->ops[i].line);
      }
    }
    std::map<std::string, Tally> tallies;
    std::vector<std::string> survivors;
    const std::vector<Mutant> mutants = mutate(ptx, variant.blockKeys * variant.headDim * 2, 8);
    for (size_t i = 0; i < mutants.size(); i += stride) {
      const Mutant &mutant = mutants[i];
      Tally &tally = tallies[mutant.kind];
      if (!executedLines.contains(mutant.line)) {
        ++tally.neverExecuted;
        continue;
      }
      ++tally.executed;
      std::string by;
      Result<Module> module = loadModule(plant(ptx, mutant), "attn");
      if (!module)
        by = "decoder: " + module.error().message();
      for (const AttentionCase &attention : cases)
        for (uint64_t seed = 1; seed <= seedsEach && by.empty(); ++seed) {
          Result<AttentionCase::Result> result =
              attention.run(*module, {.seed = seed, .budget = 20'000'000});
          if (!result)
            by = result.error().message();
          else if (result->outcome.finding)
            by = nameOf(result->outcome.finding->kind);
          else if (!result->valuesAreRight())
            by = "value";
        }
      if (!by.empty()) {
        ++tally.found;
        ++tally.by[by];
        continue;
      }
      survivors.push_back(fmt::format("line {}: {}: {}", mutant.line, mutant.kind,
                                      original->lineText(mutant.line)));
      failures += !mayBeHarmless.contains(mutant.kind);
    }
    fmt::print("\n{}\n", variant.name);
    for (const auto &[kind, tally] : tallies) {
      std::vector<std::string> by;
      for (const auto &[finding, count] : tally.by)
        by.push_back(fmt::format("{} {}", finding, count));
      fmt::print("| {} | {} | {} | {} | {} |\n", kind, tally.executed, tally.neverExecuted,
                 tally.found, fmt::join(by, ", "));
    }
    for (const std::string &survivor : survivors)
      fmt::print("left: {}\n", survivor);
  }
  return failures != 0;
}

int runPlanted(uint32_t stride) {
  constexpr Shape plantedShapes[] = {{768, 2, 1, 1}, {1000, 1, 100, 1}, {300, 12, 1, 1}};
  constexpr uint64_t seedsEach = 8;
  std::string source = readTestFile("kernels/attention.cu");
  // Faults may lie in the header, too.
  constexpr std::string_view include = "#include \"hopper.h\"\n";
  source.replace(source.find(include), include.size(), readTestFile("kernels/hopper.h"));
  std::map<std::string, std::vector<AttentionCase>> cases;
  int failures = 0;
  for (size_t i = 0; i < plantedFaults().size(); i += stride) {
    const PlantedFault &fault = plantedFaults()[i];
    const bool oneBuffer = fault.variant == "d128_onebuffer";
    const auto base = std::find_if(std::begin(variants), std::end(variants), [&](const Variant &v) {
      return v.name == (oneBuffer ? "d128_pingpong" : fault.variant);
    });
    Variant variant = *base;
    variant.queryBuffers = oneBuffer ? 1 : variant.queryBuffers;
    std::string text = source;
    for (const auto &[old, replacement] : fault.edits) {
      size_t at = text.find(old);
      failures += at == text.npos;
      for (; at != text.npos; at = text.find(old, at + replacement.size()))
        text.replace(at, old.size(), replacement);
    }
    const std::string ptx = compile(text, variant.defines() + " " + fault.defines);
    if (ptx.empty()) {
      fmt::print("{}: skipped: no nvcc, or it fails\n", fault.name);
      continue;
    }
    Result<Module> module = loadModule(ptx, "attn");
    if (!module) {
      fmt::print("{}: {}\n", fault.name, module.error().message());
      ++failures;
      continue;
    }
    std::vector<AttentionCase> &inputs = cases[fault.variant];
    for (const Shape &shape : plantedShapes)
      if (inputs.size() < std::size(plantedShapes))
        inputs.emplace_back(variant, shape);
    uint32_t found = 0, runs = 0;
    std::map<std::string, uint32_t> by;
    for (const AttentionCase &attention : inputs)
      for (uint64_t seed = 1; seed <= seedsEach; ++seed, ++runs) {
        Result<AttentionCase::Result> result =
            attention.run(*module, {.seed = seed, .budget = 20'000'000});
        if (result && !result->outcome.finding && result->valuesAreRight())
          continue;
        ++found;
        ++by[!result                   ? result.error().message()
             : result->outcome.finding ? std::string(nameOf(result->outcome.finding->kind))
                                       : "value"];
      }
    std::vector<std::string> kinds;
    for (const auto &[kind, count] : by)
      kinds.push_back(fmt::format("{} {}", kind, count));
    fmt::print("| {} | {} of {} | {} |\n", fault.name, found, runs, fmt::join(kinds, ", "));
    failures += found == 0;
  }
  return failures != 0;
}

int measureSpeed() {
  for (const Variant &variant : variants) {
    Result<Module> module = load(ptxOf(variant));
    if (!module)
      continue;
    for (uint32_t length : {256u, 512u, 1024u, 2048u}) {
      const AttentionCase attention(variant, {length, 1, 1, 1});
      for (bool checkRaces : {true, false}) {
        double best = 1e9;
        uint64_t instructions = 0;
        for (uint64_t seed = 1; seed <= 8; ++seed) {
          Result<AttentionCase::Result> result =
              attention.run(*module, {.seed = seed, .checkRaces = checkRaces});
          if (!result || result->outcome.finding)
            return 1;
          best = std::min(best, result->seconds);
          instructions = result->outcome.statistics.threadInstructions;
        }
        fmt::print("| {} | {} | {} | {:.1f} | {:.1f} | {:.0f} |\n", variant.name, length,
                   checkRaces ? "on" : "off", best * 1e3, double(instructions) / 1e6,
                   double(instructions) / best / 1e6);
      }
    }
  }
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  uint32_t number = 8;
  if (argc > 2) {
    const std::string_view digits = argv[2];
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
  }
  if (mode == "kernels")
    return runKernels(std::max(number, 1u));
  if (mode == "mutants")
    return runMutants(std::max(number, 1u));
  if (mode == "planted")
    return runPlanted(std::max(number, 1u));
  if (mode == "speed")
    return measureSpeed();
  fmt::print("tilewright-emulator-campaign kernels [SEEDS] | mutants [STRIDE] | planted [STRIDE] | "
             "speed\n");
  return 2;
}
