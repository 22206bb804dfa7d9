//===- ToolkitProgram.cpp - NVIDIA's programs -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/PTX/ToolkitProgram.h"
#include "lib/Support/MakeError.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>

using namespace tilewright;
using namespace tilewright::ptx;

Status TemporaryFile::create(llvm::StringRef suffix) {
  if (std::error_code code = llvm::sys::fs::createTemporaryFile("tilewright", suffix, name))
    return systemError("temporary file: {}", code.message());
  remover.setFile(name);
  return {};
}

Status TemporaryFile::write(std::string_view bytes) const {
  std::error_code code;
  llvm::raw_fd_ostream stream(name, code);
  if (code)
    return systemError("{}: {}", path().str(), code.message());
  stream << bytes;
  stream.close();
  if (!stream.has_error())
    return {};
  stream.clear_error();
  return systemError("{}: could not be written", path().str());
}

std::string TemporaryFile::read() const {
  auto buffer = llvm::MemoryBuffer::getFile(name);
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

Result<std::string> ToolkitProgram::find(std::string_view chosen) const {
  if (!chosen.empty()) {
    if (!llvm::sys::fs::can_execute(chosen))
      return invalidArgument("{}: {} is no program", name, chosen);
    return std::string(chosen);
  }
  const auto inFolder = [this](llvm::StringRef folder) {
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, "bin", name);
    return std::string(path);
  };
  if (const char *home = std::getenv("CUDA_HOME"))
    if (std::string path = inFolder(home); llvm::sys::fs::can_execute(path))
      return path;
  if (llvm::ErrorOr<std::string> found = llvm::sys::findProgramByName(name))
    return *found;
  if (std::string path = inFolder("/usr/local/cuda"); llvm::sys::fs::can_execute(path))
    return path;
  return unsupported("{} is neither in $CUDA_HOME/bin nor on PATH nor in /usr/local/cuda/bin; it "
                     "comes with the CUDA Toolkit and with the Python package {}",
                     name, package);
}

Result<ProgramResult> ptx::runProgram(const std::string &path,
                                      llvm::ArrayRef<llvm::StringRef> arguments) {
  TemporaryFile output, errors;
  for (TemporaryFile *file : {&output, &errors})
    if (Status created = file->create("log"); !created)
      return created.error();
  llvm::SmallVector<llvm::StringRef> all = {path};
  all.append(arguments.begin(), arguments.end());
  const std::optional<llvm::StringRef> streams[] = {llvm::StringRef(), output.path(),
                                                    errors.path()};
  std::string problem;
  const int code = llvm::sys::ExecuteAndWait(path, all, std::nullopt, streams,
                                             /*SecondsToWait=*/300, /*MemoryLimit=*/0, &problem);
  if (code < 0)
    return systemError("{}: {}", path, problem);
  return ProgramResult{code, output.read(), errors.read()};
}
