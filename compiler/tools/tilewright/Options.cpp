//===- Options.cpp - What the command line says ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/tilewright/Options.h"

#include "compiler/Frontend/ParsedProblem.h"
#include "compiler/tools/tilewright/OptionTable.h"
#include "lib/Expression/Declarations.h"
#include "lib/Expression/Spelling.h"
#include "lib/Support/MakeError.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Option/Arg.h"
#include "llvm/Option/ArgList.h"

#include <bit>

using namespace tilewright;
using namespace tilewright::tool;
using llvm::StringRef;
using llvm::opt::Arg;

/// What the user wrote, short enough for a message.
static std::string shown(StringRef text) {
  return expression::printable(text, 80);
}

/// The nearest of `known` to `text`, if it is near enough to be meant.
static std::string suggest(StringRef text, llvm::ArrayRef<StringRef> known) {
  StringRef nearest;
  unsigned distance = 4;
  for (StringRef candidate : known) {
    const unsigned candidateDistance =
        text.take_front(80).edit_distance(candidate, /*AllowReplacements=*/true, distance);
    if (candidateDistance < std::min<size_t>(distance, candidate.size()))
      distance = candidateDistance, nearest = candidate;
  }
  return nearest.empty() ? "" : fmt::format("; did you mean '{}'?", std::string_view(nearest));
}

static Error wrongValue(const Arg &arg, std::string_view wanted) {
  return invalidArgument("{} is '{}'; it must be {}",
                         std::string_view(arg.getSpelling().rtrim('=')), shown(arg.getValue()),
                         wanted);
}

/// Comma-separated integers from `low` to `high`, `least` to `most` of them.
static Result<llvm::SmallVector<int64_t>> parseIntegers(const Arg &arg, size_t least, size_t most,
                                                        int64_t low, int64_t high,
                                                        std::string_view wanted) {
  llvm::SmallVector<StringRef> parts;
  StringRef(arg.getValue()).split(parts, ',');
  llvm::SmallVector<int64_t> numbers;
  for (StringRef part : parts) {
    int64_t number = 0;
    if (!llvm::to_integer(part, number, 10) || number < low || number > high)
      return wrongValue(arg, wanted);
    numbers.push_back(number);
  }
  if (numbers.size() < least || numbers.size() > most)
    return wrongValue(arg, wanted);
  return numbers;
}

/// The result of `parse(value)`, which is nothing for an unknown name. Names are of any target; the
/// compiler says which of them the one at hand has.
template <typename T>
static Status parseName(const Arg &arg, std::optional<T> &result,
                        std::optional<T> (*parse)(std::string_view), std::string_view wanted) {
  result = parse(arg.getValue());
  if (!result)
    return wrongValue(arg, wanted);
  return {};
}

static Status parseText(const Arg &arg, std::string &result, std::string_view wanted) {
  result = arg.getValue();
  return result.empty() ? wrongValue(arg, wanted) : Status();
}

static Status parseNamed(const Arg &arg, std::vector<NamedOption> &options,
                         std::string_view wanted) {
  auto [name, value] = StringRef(arg.getValue()).split('=');
  if (name.empty() || value.empty())
    return wrongValue(arg, wanted);
  options.push_back({name.str(), value.str()});
  return {};
}

static Status parseSizes(const Arg &arg, Options &options) {
  constexpr int64_t maxExtent = expression::Sizes::maxExtent;
  switch (arg.getOption().getID()) {
  case OPT_head_dim: {
    auto dims = parseIntegers(arg, 1, 2, 1, maxHeadDim, "D or D,DV, each from 1 to 65536");
    if (!dims)
      return dims.error();
    options.problem.headDim = dims->front();
    options.problem.valueDim = dims->back();
    return {};
  }
  case OPT_random: {
    auto sizes =
        parseIntegers(arg, 5, 5, 0, maxExtent, "B,Hq,Hkv,Tq,Tk, five numbers from 0 to 2^30");
    if (!sizes)
      return sizes.error();
    const auto &s = *sizes;
    options.random = ProblemSizes{s[0], s[1], s[2], s[3], s[4]};
    return {};
  }
  case OPT_lengths: {
    auto lengths = parseIntegers(arg, 2, 2, 0, maxExtent, "Tq,Tk, two numbers from 0 to 2^30");
    if (!lengths)
      return lengths.error();
    options.sizes.queryLength = lengths->front();
    options.sizes.keyLength = lengths->back();
    return {};
  }
  case OPT_batch: {
    auto batch = parseIntegers(arg, 1, 1, 0, maxExtent, "a number from 0 to 2^30");
    if (!batch)
      return batch.error();
    options.sizes.batch = batch->front();
    return {};
  }
  case OPT_heads: {
    auto heads = parseIntegers(arg, 1, 2, 0, maxExtent, "Hq or Hq,Hkv, each from 0 to 2^30");
    if (!heads)
      return heads.error();
    options.sizes.heads = heads->front();
    options.sizes.kvHeads = heads->back();
    return {};
  }
  default:
    return internalError("{} is no size", std::string_view(arg.getSpelling()));
  }
}

static Status parseFile(const Arg &arg, Options &options) {
  const bool isPtx = options.subcommand == Subcommand::Emulate;
  std::optional<std::string> &file = isPtx ? options.ptx : options.problem.file;
  if (file)
    return invalidArgument("'{}' and '{}': one file of {} at most", shown(*file),
                           shown(arg.getValue()), isPtx ? "PTX" : "IR");
  file = arg.getValue();
  return {};
}

static Status parseEmulation(const Arg &arg, emulator::CommandOptions &emulation) {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  const auto number = [&arg](int64_t low, int64_t high, std::string_view wanted) {
    return parseIntegers(arg, 1, 1, low, high, wanted);
  };
  switch (arg.getOption().getID()) {
  case OPT_seeds:
  case OPT_emulate_eq: {
    auto seeds = number(1, 1'000'000, "a number from 1 to 1000000");
    if (!seeds)
      return seeds.error();
    emulation.seeds = static_cast<uint64_t>(seeds->front());
    return {};
  }
  case OPT_budget: {
    auto budget = number(1, most, "a number from 1 to 2^63 - 1");
    if (!budget)
      return budget.error();
    emulation.run.budget = static_cast<uint64_t>(budget->front());
    return {};
  }
  case OPT_break: {
    auto line = number(1, UINT32_MAX, "a line of the PTX, from 1 on");
    if (!line)
      return line.error();
    emulation.breaks.push_back(static_cast<uint32_t>(line->front()));
    return {};
  }
  case OPT_warp: {
    auto warp = number(0, UINT32_MAX, "a number from 0 on");
    if (!warp)
      return warp.error();
    emulation.warp = static_cast<uint32_t>(warp->front());
    return {};
  }
  default:
    return internalError("{} is no option of the emulator", std::string_view(arg.getSpelling()));
  }
}

static Status parseOption(const Arg &arg, Options &options) {
  ProblemOptions &problem = options.problem;
  const char *value = arg.getNumValues() ? arg.getValue() : "";
  switch (arg.getOption().getID()) {
  case OPT_INPUT:
    return parseFile(arg, options);
  case OPT_help:
    options.help = true;
    return {};
  case OPT_version:
    options.version = true;
    return {};

  case OPT_head_dim:
  case OPT_random:
  case OPT_lengths:
  case OPT_batch:
  case OPT_heads:
    return parseSizes(arg, options);
  case OPT_dtype:
    if (Status s = parseName(arg, problem.dtype, parseDType, "f64, f32, f16 or bf16"); !s)
      return s;
    return isFloat(*problem.dtype) ? Status() : wrongValue(arg, "f64, f32, f16 or bf16");
  case OPT_out_dtype:
    if (Status s = parseName(arg, problem.outDType, parseDType, "f64, f32, f16 or bf16"); !s)
      return s;
    return isFloat(*problem.outDType) ? Status() : wrongValue(arg, "f64, f32, f16 or bf16");
  case OPT_mask:
    problem.functions.push_back({FunctionOption::Mask, value});
    return {};
  case OPT_score:
    problem.functions.push_back({FunctionOption::Score, value});
    return {};
  case OPT_preset:
    problem.functions.push_back({FunctionOption::Preset, value});
    return {};
  case OPT_scalar:
    return parseNamed(arg, problem.scalars, "NAME=VALUE");
  case OPT_tensor:
    return parseNamed(arg, problem.tensors, "NAME=FILE, NAME=FILE:ENTRY or NAME=f32[?,?]");
  case OPT_scale: {
    Result<expression::Number> number = expression::parseNumber(value);
    if (!number || !std::isfinite(number->value))
      return wrongValue(arg, "a finite number");
    problem.scale = number->value;
    return {};
  }

  case OPT_from:
    return parseName(arg, problem.from, parseStage,
                     "attn, tile or vector, and for a GPU attn, tile, sm, nvvm or ptx");
  case OPT_target:
    options.target = options.compile.target = value;
    return {};
  case OPT_cpu:
    return parseText(arg, options.compile.cpu, "the name of a processor");
  case OPT_schedule:
    return parseText(arg, options.compile.schedule, "choices like block_q=64,block_kv=96");
  case OPT_tuning:
    return parseText(arg, options.compile.tuning, "the path of a file");
  case OPT_ptxas:
    return parseText(arg, options.compile.ptxas, "the path of ptxas");
  case OPT_remarks:
    options.remarks = true;
    return {};
  case OPT_emit:
    return parseName(arg, options.emit, parseStage,
                     "attn, tile, vector, llvm, asm, obj or header, and for a GPU attn, tile, sm, "
                     "nvvm, llvm, ptx, cubin or sass");
  case OPT_name:
    return parseText(arg, options.compile.name, "what the names of C functions begin with");
  case OPT_print_pipeline:
    options.printPipeline = true;
    return {};
  case OPT_output:
    options.output = value;
    return {};

  case OPT_q:
    options.query = value;
    return {};
  case OPT_k:
    options.key = value;
    return {};
  case OPT_v:
    options.value = value;
    return {};
  case OPT_layout:
    if (StringRef(value) != "bhtd" && StringRef(value) != "bthd")
      return wrongValue(arg, "bhtd or bthd");
    options.layout = StringRef(value) == "bhtd" ? Layout::BHTD : Layout::BTHD;
    return {};
  case OPT_seed:
    if (!llvm::to_integer(StringRef(value), options.seed, 10))
      return wrongValue(arg, "a number from 0 to 2^64 - 1");
    options.emulation.firstSeed = options.seed;
    return {};
  case OPT_check:
    options.check = true;
    return {};
  case OPT_json:
    options.json = options.emulation.json = true;
    return {};
  case OPT_threads: {
    auto threads = parseIntegers(arg, 1, 1, 1, 4096, "a number from 1 to 4096");
    if (!threads)
      return threads.error();
    options.threads = static_cast<unsigned>(threads->front());
    options.emulation.run.threads = options.threads;
    return {};
  }

  case OPT_seconds: {
    Result<expression::Number> seconds = expression::parseNumber(value);
    if (!seconds || !(seconds->value >= 0) || seconds->value > 86400)
      return wrongValue(arg, "a number from 0 to 86400");
    options.tournament.seconds = seconds->value;
    return {};
  }
  case OPT_candidates: {
    auto number = parseIntegers(arg, 1, 1, 1, 1000, "a number from 1 to 1000");
    if (!number)
      return number.error();
    options.tournament.contenders = static_cast<size_t>(number->front());
    return {};
  }

  case OPT_launch:
    options.launch = value;
    return {};
  case OPT_emulate:
    options.emulate = true;
    return {};
  case OPT_emulate_eq:
    options.emulate = true;
    return parseEmulation(arg, options.emulation);
  case OPT_seeds:
  case OPT_budget:
  case OPT_break:
  case OPT_warp:
    return parseEmulation(arg, options.emulation);
  case OPT_step:
    options.emulation.step = true;
    return {};
  case OPT_print:
    options.emulation.prints.push_back(value);
    return {};
  default:
    return internalError("{} is not handled", std::string_view(arg.getSpelling()));
  }
}

static bool isRepeatable(unsigned id) {
  switch (id) {
  case OPT_INPUT: // Has a message of its own.
  case OPT_help:
  case OPT_version:
  case OPT_mask:
  case OPT_score:
  case OPT_preset:
  case OPT_scalar:
  case OPT_tensor:
  case OPT_break:
  case OPT_print:
    return true;
  default:
    return false;
  }
}

static Error unknownOption(const Arg &arg, std::optional<Subcommand> subcommand) {
  const StringRef name = arg.getSpelling().split('=').first;
  const llvm::opt::OptTable &table = optionTable();
  const std::string_view place =
      subcommand ? subcommands()[static_cast<size_t>(*subcommand)].name : "tilewright";
  std::string exact;
  if (table.findExact(name, exact))
    return invalidArgument("'{}' has no option {}; see tilewright --help", place, shown(name));
  // Of a short name a few edits make any other.
  const unsigned most = std::clamp<unsigned>(name.size() / 3, 1, 3);
  std::string nearest;
  if (table.findNearest(name.take_front(40), nearest, visibilityOf(subcommand), 1, most) > most)
    nearest.clear();
  return invalidArgument(
      "unknown option '{}'{}", shown(name),
      nearest.empty() ? ""
                      : fmt::format("; did you mean '{}'?", StringRef(nearest).rtrim('=').str()));
}

Result<Options> tool::parseOptions(std::span<const char *const> arguments) {
  Options options;
  options.sizes = {.batch = 1, .heads = 1, .kvHeads = 1, .queryLength = -1, .keyLength = -1};
  if (arguments.empty())
    return invalidArgument(
        "a subcommand is missing: compile, run, bench, tune, explain or emulate; see "
        "tilewright --help");
  if (arguments.front()[0] != '-') {
    llvm::SmallVector<StringRef> names;
    for (const SubcommandInfo &info : subcommands()) {
      if (info.name == arguments.front())
        options.subcommand = static_cast<Subcommand>(names.size());
      names.push_back(info.name);
    }
    if (!options.subcommand)
      return invalidArgument("unknown subcommand '{}'{}", shown(arguments.front()),
                             suggest(arguments.front(), names));
    arguments = arguments.subspan(1);
  }

  unsigned missingIndex = 0, missingCount = 0;
  const llvm::opt::InputArgList list =
      optionTable().ParseArgs({arguments.data(), arguments.size()}, missingIndex, missingCount,
                              visibilityOf(options.subcommand));
  if (missingCount != 0)
    return invalidArgument("{} needs a value", shown(list.getArgString(missingIndex)));

  llvm::SmallDenseSet<unsigned> seen;
  for (const Arg *arg : list) {
    const unsigned id = arg->getOption().getID();
    if (id == OPT_UNKNOWN)
      return unknownOption(*arg, options.subcommand);
    if (!isRepeatable(id) && !seen.insert(id).second)
      return invalidArgument("{} is given twice", std::string_view(arg->getSpelling().rtrim('=')));
    if (Status parsed = parseOption(*arg, options); !parsed)
      return parsed.error();
  }
  if (options.subcommand == Subcommand::Run && seen.contains(OPT_budget) && !options.emulate)
    return invalidArgument("--budget limits an emulated run; --emulate is missing");
  if (!options.subcommand && options.problem.file)
    return invalidArgument(
        "'{}': a subcommand comes first: compile, run, bench, tune, explain or emulate",
        shown(*options.problem.file));
  return options;
}
