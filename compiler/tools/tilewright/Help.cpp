//===- Help.cpp - The texts of --help -------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/tilewright/OptionTable.h"
#include "lib/Expression/Presets.h"

#include "llvm/Option/Option.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace tilewright;
using namespace tilewright::tool;

static constexpr SubcommandInfo infos[] = {
    {"compile", "PROBLEM [--emit=STAGE] [-o FILE]",
     "turn a problem into a kernel, or show any stage on the way",
     "Compiles an attention problem and writes one stage of it: the problem as IR (attn), the\n"
     "program on tiles (tile), vector code (vector), LLVM IR (llvm), assembly (asm), or an object\n"
     "file (obj). For a GPU: attn, tile, the multiprocessor's program (sm), nvvm, llvm, ptx, "
     "cubin,\n"
     "sass, or without --emit a kernel image with all that launching it needs. Stages of IR, and\n"
     "ptx, can be edited and given back as FILE with --from.",
     R"(  # What becomes of a sliding window over head dimension 80?
  tilewright compile --head-dim 80 --mask 'k <= q && q - k < window' \
      --scalar window=256 --emit=tile

  # Edit the program on tiles, then go on from there.
  tilewright compile --head-dim 64 --preset causal --emit=tile -o causal.mlir
  tilewright compile causal.mlir --from=tile --emit=asm

  # The code for another processor.
  tilewright compile --head-dim 64 --cpu neoverse-v1 --emit=asm

  # A kernel for NVIDIA's Hopper, with a stage more than the compiler would take.
  tilewright compile --target sm_90a --head-dim 64 --dtype bf16 --preset causal \
      --schedule stages=3 -o causal.twk
)"},
    {"run", "PROBLEM (--q FILE --k FILE --v FILE | --random B,Hq,Hkv,Tq,Tk) [-o FILE] [--check]",
     "compile a problem and run it on tensors",
     "Compiles the problem, or reads a kernel image, runs the kernel on tensors, and reports its "
     "time\n"
     "and rate. --emulate runs a GPU's kernel on the CPU and looks for races. --check compares the "
     "result with a reference in f64 that shares nothing with the\n"
     "compiler but the parsed expressions; long problems are checked on 64 rows.",
     R"(  # Random inputs: batch 1, 8 heads, 2048 queries and keys.
  tilewright run --head-dim 64 --preset causal --random 1,8,8,2048,2048 --check

  # Tensors from files; the result goes to a file too.
  tilewright run --head-dim 32 --mask 'abs(q - k) < 5' --q qkv.safetensors:q \
      --k qkv.safetensors:k --v qkv.safetensors:v -o out.safetensors

  # A bias per head, read from a file.
  tilewright run --head-dim 64 --score 's + slope[h] * (k - q)' \
      --tensor slope=slopes.npy --random 2,8,2,100,300 --check

  # A kernel for a GPU without one, under 3 schedules.
  tilewright run --target sm_90a --head-dim 64 --dtype bf16 --preset causal \
      --random 1,2,2,150,150 --emulate=3 --check

  # An edited program on tiles, checked against the problem that it should compute.
  tilewright run causal.mlir --from=tile --head-dim 64 --preset causal \
      --random 1,8,8,512,512 --check
)"},
    {"bench", "PROBLEM (--q FILE --k FILE --v FILE | --random B,Hq,Hkv,Tq,Tk)", "time a kernel",
     "Runs the kernel for a second and reports the median time and the rate. On a GPU each run "
     "starts\n"
     "with nothing of the tensors in its caches, and clocks and power are reported.",
     R"(  tilewright bench --target sm_90a --head-dim 128 --dtype bf16 --random 1,16,16,4096,4096
)"},
    {"tune", "PROBLEM (--q FILE --k FILE --v FILE | --random B,Hq,Hkv,Tq,Tk) [--seconds S]",
     "find the fastest schedule on this machine, and keep it",
     "Makes kernels for the problem under schedules around the compiler's own choice, ordered by "
     "a\n"
     "model of the caches, compares their values with a reference in f64, times them against each\n"
     "other on the tensors, and writes the winner to a file where compile, run, bench and explain "
     "find\n"
     "it. A schedule serves all lengths, so give those that matter to you.",
     R"(  tilewright tune --head-dim 64 --preset causal --random 1,8,8,2048,2048

  # A short look, which leaves this user's file alone.
  tilewright tune --head-dim 80 --random 1,1,1,512,512 --candidates 4 --seconds 1 --tuning try.jsonl
)"},
    {"explain", "PROBLEM --lengths Tq,Tk [--batch B] [--heads Hq[,Hkv]]",
     "show what a kernel will do, without running it",
     "Draws which blocks of the score matrix the kernel visits, counts them, and states the\n"
     "operations, the bytes, the scratch memory, the schedule, and what the compiler decided and\n"
     "why; for a GPU the grid, shared memory, registers, and what limits occupancy.",
     R"(  tilewright explain --head-dim 64 --preset sliding-window=256 --lengths 2048,2048

  # What a kernel takes of a GPU, without one.
  tilewright explain causal.twk --lengths 4096,4096 --batch 4 --heads 16
)"},
    {"emulate", "FILE.ptx --launch FILE.json [--seeds N] [--break LINE]",
     "run a kernel of PTX on the CPU, and look for races and deadlocks",
     "Executes a kernel with no GPU: its values are computed, and every access to shared memory,\n"
     "barrier and asynchronous copy is checked. Each seed is another schedule. What is found is\n"
     "printed with both lines of PTX. The launch file says where outputs go; they are written if\n"
     "nothing was found and the debugger was not used.",
     R"(  # 8 schedules of a kernel for Hopper.
  tilewright emulate tests/emulator/kernels/attention_d64.ptx \
      --launch examples/emulate/launch.json --seeds 8

  # The barriers of each block whenever its warp 4 comes to line 1588.
  tilewright emulate kernel.ptx --launch launch.json --break 1588 --warp 4 --print barriers

  # Step through it; the commands are break, delete, warp, step, continue, where, print, quit.
  tilewright emulate kernel.ptx --launch launch.json --step
)"},
};

std::span<const SubcommandInfo> tool::subcommands() {
  return infos;
}

static constexpr std::string_view exitCodes = R"(EXIT CODES:
  0  success
  1  --check or tune found errors past the tolerance, or emulate found a fault
  2  wrong usage or input: an option, an expression, a shape, a file's content
  3  the system failed: a file cannot be read or written, memory ran out
  4  a fault of tilewright itself; please report it
)";

static std::string presetTable() {
  std::string table = "PRESETS:\n";
  for (const expression::Preset &preset : expression::presets()) {
    std::vector<std::string> needs;
    for (const expression::PresetScalar &scalar : preset.scalars)
      needs.push_back(std::string(scalar.name));
    for (const expression::PresetTensor &tensor : preset.tensors) {
      std::vector<std::string_view> extents;
      for (expression::Extent extent : tensor.extents)
        extents.push_back(nameOf(extent));
      needs.push_back(fmt::format("{}[{}]", tensor.name, fmt::join(extents, ",")));
    }
    table += fmt::format("  {:<27} {}\n  {:27} {} '{}'{}{}\n", preset.name, preset.doc, "",
                         preset.role == expression::Role::Mask ? "mask" : "score", preset.text,
                         needs.empty() ? "" : "; needs ", fmt::join(needs, ", "));
  }
  return table;
}

/// The options of a subcommand, group by group.
static std::string optionList(llvm::opt::Visibility visibility) {
  const llvm::opt::OptTable &table = optionTable();
  std::string text;
  for (unsigned group :
       {OPT_problem_group, OPT_compile_group, OPT_input_group, OPT_tuning_group, OPT_size_group,
        OPT_emulation_group, OPT_debugger_group, OPT_result_group, OPT_general_group}) {
    std::string lines;
    for (unsigned id = 1; id <= table.getNumOptions(); ++id) {
      const llvm::opt::Option option = table.getOption(id);
      const char *help = table.getOptionHelpText(id, visibility);
      if (!help || table.getOptionGroupID(id) != group || !option.hasVisibilityFlag(visibility))
        continue;
      std::string name = option.getPrefixedName().str();
      if (const char *value = table.getOptionMetaVar(id))
        name += fmt::format(" {}", value);
      lines += fmt::format("  {:<27} {}\n", name, help);
    }
    if (!lines.empty())
      text += fmt::format("{}:\n{}\n", table.getOptionHelpText(group), lines);
  }
  return text;
}

static std::string programHelp() {
  std::string text =
      "Tilewright generates exact attention kernels from a description of the problem: head\n"
      "dimensions, dtypes, and expressions for the mask and the score function.\n\n"
      "USAGE: tilewright SUBCOMMAND PROBLEM [options]\n"
      "       tilewright emulate FILE.ptx --launch FILE.json [options]\n\nSUBCOMMANDS:\n";
  for (const SubcommandInfo &info : infos)
    text += fmt::format("  {:<27} {}\n", info.name, info.summary);
  text += fmt::format("\nEach has its own help: tilewright run --help\n\n{}"
                      "EXAMPLE:\n"
                      "  tilewright run --head-dim 80 --mask 'k <= q && q - k < window' \\\n"
                      "      --scalar window=256 --random 1,8,8,1024,1024 --check\n\n",
                      optionList(visibilityOf(std::nullopt)));
  return text + std::string(exitCodes);
}

std::string tool::helpText(std::optional<Subcommand> subcommand) {
  if (!subcommand)
    return programHelp();
  const SubcommandInfo &info = infos[static_cast<size_t>(*subcommand)];
  const std::string presets = *subcommand == Subcommand::Emulate ? "" : presetTable() + "\n";
  return fmt::format("{}\n\nUSAGE: tilewright {} {}\n\n{}{}EXAMPLES:\n{}\n{}", info.description,
                     info.name, info.usage, optionList(visibilityOf(subcommand)), presets,
                     info.examples, exitCodes);
}
