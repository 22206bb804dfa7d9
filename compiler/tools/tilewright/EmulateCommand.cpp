//===- EmulateCommand.cpp - tilewright emulate ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Emulate/LaunchFile.h"
#include "compiler/tools/tilewright/Commands.h"
#include "compiler/tools/tilewright/Output.h"
#include "compiler/tools/tilewright/Progress.h"
#include "compiler/tools/tilewright/TextFile.h"
#include "lib/Emulator/Module.h"
#include "lib/Support/MakeError.h"

#include "llvm/Support/Path.h"

#include <algorithm>
#include <iostream>

using namespace tilewright;
using namespace tilewright::tool;

/// Of PTX and of launch files.
static constexpr uint64_t maxTextBytes = uint64_t{16} << 20;

static bool usesDebugger(const emulator::CommandOptions &emulation) {
  return emulation.step || !emulation.breaks.empty();
}

static Status checkOptions(const Options &options) {
  const emulator::CommandOptions &emulation = options.emulation;
  if (!options.ptx)
    return invalidArgument("there is nothing to emulate: name a file of PTX");
  if (!options.launch)
    return invalidArgument("--launch FILE is missing: a file of JSON with the grid, the block, the "
                           "tensors and the arguments");
  if (usesDebugger(emulation)) {
    if (emulation.seeds > 1)
      return invalidArgument("--seeds is for runs without the debugger, which looks at one; choose "
                             "it with --seed");
    if (emulation.json)
      return invalidArgument("--json is for runs without the debugger, whose answers are text");
    return {};
  }
  if (!emulation.prints.empty())
    return invalidArgument("--print needs a place to stop at: --break LINE or --step");
  if (emulation.warp)
    return invalidArgument("--warp needs a place to stop at: --break LINE or --step");
  return {};
}

/// A debugger that can never stop would look like a kernel that does not come there.
static Status checkStops(const emulator::CommandOptions &emulation, const emulator::Module &module,
                         const emulator::Launch &launch) {
  std::vector<uint32_t> lines;
  for (size_t i = 0; i + 1 < module.ops.size(); ++i) // the last op is the end of the kernel
    lines.push_back(module.ops[i].line);
  std::ranges::sort(lines);
  for (uint32_t line : emulation.breaks) {
    const auto next = std::ranges::lower_bound(lines, line);
    if (next == lines.end())
      return invalidArgument("--break is {}; the last instruction of kernel '{}' is on line {}",
                             line, module.kernel, lines.empty() ? 0 : lines.back());
    if (*next != line)
      return invalidArgument("--break is {}; kernel '{}' has no instruction on that line, the next "
                             "is on line {}",
                             line, module.kernel, *next);
  }
  uint64_t threads = 1;
  for (uint32_t extent : launch.block) // larger blocks are refused when they are launched
    threads *= std::min(extent, module.architecture->maxThreadsPerBlock);
  const uint64_t warps = threads / 32;
  if (emulation.warp && *emulation.warp >= warps)
    return invalidArgument("--warp is {}; a block has {} warps, counted from 0", *emulation.warp,
                           warps);
  return {};
}

static Result<emulator::Report> emulate(const emulator::Module &module,
                                        const emulator::Launch &launch,
                                        const emulator::CommandOptions &emulation) {
  std::optional<Progress> progress;
  if (!usesDebugger(emulation))
    progress.emplace("emulating");
  return emulator::runSeeds(module, launch, emulation, std::cin, std::cout);
}

Result<int> tool::runEmulate(const Options &options) {
  if (Status checked = checkOptions(options); !checked)
    return checked.error();
  const emulator::CommandOptions &emulation = options.emulation;
  Result<std::string> ptx = readTextFile(*options.ptx, maxTextBytes);
  if (!ptx)
    return ptx.error();
  Result<std::string> json = readTextFile(*options.launch, maxTextBytes);
  if (!json)
    return json.error();
  Result<LaunchFile> file =
      parseLaunchFile(*json, llvm::sys::path::parent_path(*options.launch).str());
  if (!file)
    return file.error().within(*options.launch);
  Result<emulator::Module> module = emulator::loadModule(*ptx, file->kernel);
  if (!module)
    return module.error().within(*options.ptx);
  if (Status checked = checkStops(emulation, *module, file->launch); !checked)
    return checked.error();

  Result<emulator::Report> report = emulate(*module, file->launch, emulation);
  if (!report)
    return report.error().within(*options.launch);
  // Behind a finding, and where the debugger may have ended the run, outputs are incomplete.
  if (report->findings.empty() && !usesDebugger(emulation))
    if (Status written = writeOutputs(*file); !written)
      return written.error().within(*options.launch);
  const std::string text =
      emulation.json ? emulator::toJson(*module, *report) : emulator::toText(*module, *report);
  if (Status written = writeStdout(text); !written)
    return written.error();
  return report->findings.empty() ? 0 : 1;
}
