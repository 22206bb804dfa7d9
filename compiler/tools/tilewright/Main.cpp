//===- Main.cpp - The tilewright program ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Driver/BuildId.h"
#include "compiler/tools/tilewright/Commands.h"
#include "compiler/tools/tilewright/Output.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/Support/ErrorHandling.h"

#include <fmt/format.h>

#include <new>
#include <unistd.h>

using namespace tilewright;
using namespace tilewright::tool;

static Result<int> dispatch(const Options &options) {
  switch (*options.subcommand) {
  case Subcommand::Compile:
    return runCompile(options);
  case Subcommand::Run:
    return runRun(options);
  case Subcommand::Bench:
    return runBench(options);
  case Subcommand::Tune:
    return runTune(options);
  case Subcommand::Explain:
    return runExplain(options);
  case Subcommand::Emulate:
    return runEmulate(options);
  }
  return 0;
}

static Result<int> tilewrightMain(std::span<const char *const> arguments) {
  Result<Options> options = parseOptions(arguments);
  if (!options)
    return options.error();
  if (options->help || options->version) {
    const std::string text = options->help
                                 ? helpText(options->subcommand)
                                 : fmt::format("Tilewright {}\nLLVM {}\nbuild id {}\n",
                                               TILEWRIGHT_VERSION, LLVM_VERSION_STRING, buildId());
    if (Status written = writeStdout(text); !written)
      return written.error();
    return 0;
  }
  return dispatch(*options);
}

/// There is no memory for a message of our own either.
[[noreturn]] static void memoryRanOut() {
  constexpr std::string_view message = "tilewright: error: memory ran out\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, message.data(), message.size());
  _exit(3);
}

int tool::programMain(int argc, char **argv) {
  std::set_new_handler([] { memoryRanOut(); });
  llvm::install_bad_alloc_error_handler([](void *, const char *, bool) { memoryRanOut(); });
  Result<int> exitCode = tilewrightMain({argv + 1, argv + (argc > 0 ? argc : 1)});
  if (exitCode)
    return *exitCode;
  printError(exitCode.error());
  return exitCodeOf(exitCode.error());
}
