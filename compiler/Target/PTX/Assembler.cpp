//===- Assembler.cpp - Cubins from PTX, by NVIDIA's ptxas -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/PTX/Assembler.h"
#include "lib/Support/MakeError.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>

using namespace tilewright;
using namespace tilewright::ptx;

Result<std::string> ptx::findPtxas(std::string_view chosen) {
  if (!chosen.empty()) {
    if (!llvm::sys::fs::can_execute(chosen))
      return invalidArgument("ptxas: {} is no program", chosen);
    return std::string(chosen);
  }
  if (const char *home = std::getenv("CUDA_HOME")) {
    llvm::SmallString<128> path(home);
    llvm::sys::path::append(path, "bin", "ptxas");
    if (llvm::sys::fs::can_execute(path))
      return std::string(path);
  }
  if (llvm::ErrorOr<std::string> found = llvm::sys::findProgramByName("ptxas"))
    return *found;
  static constexpr const char *usual = "/usr/local/cuda/bin/ptxas";
  if (llvm::sys::fs::can_execute(usual))
    return std::string(usual);
  return unsupported("ptxas is neither in $CUDA_HOME/bin nor on PATH nor in /usr/local/cuda/bin; "
                     "it comes with the CUDA Toolkit and with the Python package "
                     "nvidia-cuda-nvcc");
}

/// The number in front of ` what` in `line`, or 0.
static int64_t numberBefore(llvm::StringRef line, llvm::StringRef what) {
  const size_t at = line.find(what);
  if (at == llvm::StringRef::npos)
    return 0;
  llvm::StringRef front = line.take_front(at).rtrim();
  llvm::StringRef digits =
      front.take_back(front.size() - (front.find_last_not_of("0123456789") + 1));
  int64_t value = 0;
  return digits.getAsInteger(10, value) ? 0 : value;
}

Resources ptx::parseResources(std::string_view log) {
  Resources resources;
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(log).split(lines, '\n');
  for (llvm::StringRef line : lines) {
    resources.stackBytes += numberBefore(line, "bytes stack frame");
    resources.spillBytes +=
        numberBefore(line, "bytes spill stores") + numberBefore(line, "bytes spill loads");
    if (line.contains("Used "))
      resources.registers = std::max(resources.registers, numberBefore(line, "registers"));
    if (line.contains("(C75"))
      resources.remarks += line.trim().str() + "\n";
  }
  return resources;
}

Status ptx::checkResources(std::string_view kernel, const Resources &resources) {
  if (resources.stackBytes != 0)
    return unsupported("kernel {} needs a stack frame of {} bytes", kernel, resources.stackBytes);
  if (resources.spillBytes != 0)
    return unsupported("kernel {} spills {} bytes of registers", kernel, resources.spillBytes);
  if (!resources.remarks.empty())
    return unsupported("kernel {}: ptxas put products one behind the other: {}", kernel,
                       resources.remarks);
  return {};
}

namespace {
/// A file of ours that is gone when its name goes out of scope.
struct TemporaryFile {
  llvm::SmallString<128> path;
  llvm::FileRemover remover;

  std::error_code create(llvm::StringRef suffix) {
    std::error_code code = llvm::sys::fs::createTemporaryFile("tilewright", suffix, path);
    if (!code)
      remover.setFile(path);
    return code;
  }

  std::string read() const {
    auto buffer = llvm::MemoryBuffer::getFile(path);
    return buffer ? (*buffer)->getBuffer().str() : std::string();
  }
};
} // namespace

Result<Assembled> ptx::assemble(std::string_view ptx, const std::string &ptxas) {
  TemporaryFile input, output, log;
  for (auto [file, suffix] :
       {std::pair{&input, "ptx"}, std::pair{&output, "cubin"}, std::pair{&log, "log"}})
    if (std::error_code code = file->create(suffix))
      return systemError("temporary file for ptxas: {}", code.message());
  {
    std::error_code code;
    llvm::raw_fd_ostream stream(input.path, code);
    stream << ptx;
    stream.close();
    if (code || stream.has_error())
      return systemError("{}: could not be written", input.path.str().str());
  }
  const llvm::StringRef arguments[] = {ptxas, "-arch=sm_90a", "-O3",     "-v",
                                       "-o",  output.path,    input.path};
  std::optional<llvm::StringRef> streams[] = {llvm::StringRef(), llvm::StringRef(log.path),
                                              llvm::StringRef(log.path)};
  std::string problem;
  const int status = llvm::sys::ExecuteAndWait(ptxas, arguments, std::nullopt, streams,
                                               /*SecondsToWait=*/300, /*MemoryLimit=*/0, &problem);
  const std::string text = log.read();
  if (status < 0)
    return systemError("{}: {}", ptxas, problem);
  if (status != 0)
    return internalError("ptxas: {}", llvm::StringRef(text).split('\n').first.trim().str());
  Assembled assembled{.cubin = output.read(), .resources = parseResources(text)};
  if (assembled.cubin.empty())
    return systemError("ptxas wrote no cubin");
  return assembled;
}
