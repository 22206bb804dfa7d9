//===- Assembler.cpp - Cubins from PTX, by NVIDIA's ptxas -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/PTX/Assembler.h"
#include "compiler/Target/PTX/ToolkitProgram.h"
#include "lib/Support/MakeError.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"

using namespace tilewright;
using namespace tilewright::ptx;

Result<std::string> ptx::findPtxas(std::string_view chosen) {
  return ToolkitProgram{"ptxas", "nvidia-cuda-nvcc"}.find(chosen);
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
    if (llvm::StringRef rest = line.split("Compiling entry function '").second; !rest.empty())
      resources.kernel = rest.split('\'').first.str();
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

Status ptx::checkResources(const Resources &resources) {
  const std::string &kernel = resources.kernel;
  if (resources.stackBytes != 0)
    return unsupported("kernel {} needs a stack frame of {} bytes; a schedule with a smaller "
                       "block_kv takes fewer registers",
                       kernel, resources.stackBytes);
  if (resources.spillBytes != 0)
    return unsupported("kernel {} spills {} bytes of registers; a schedule with a smaller block_kv "
                       "takes fewer",
                       kernel, resources.spillBytes);
  if (!resources.remarks.empty())
    return unsupported("kernel {}: ptxas put products one behind the other: {}", kernel,
                       resources.remarks);
  return {};
}

static std::string firstLine(llvm::StringRef text) {
  return text.split('\n').first.trim().str();
}

Result<Assembled> ptx::assemble(std::string_view ptx, const std::string &ptxas) {
  TemporaryFile input, output;
  for (auto [file, suffix] : {std::pair{&input, "ptx"}, std::pair{&output, "cubin"}})
    if (Status created = file->create(suffix); !created)
      return created.error();
  if (Status written = input.write(ptx); !written)
    return written.error();
  llvm::SmallVector<llvm::StringRef> arguments(std::begin(ptxasFlags), std::end(ptxasFlags));
  arguments.append({"-o", output.path(), input.path()});
  Result<ProgramResult> ran = runProgram(ptxas, arguments);
  if (!ran)
    return ran.error();
  const std::string log = ran->standardOutput + ran->standardError;
  if (ran->exitCode != 0)
    return invalidArgument("ptxas: {}", firstLine(log));
  Assembled assembled{.cubin = output.read(), .resources = parseResources(log)};
  if (assembled.cubin.empty())
    return systemError("ptxas wrote no cubin");
  return assembled;
}

Result<std::string> ptx::versionOf(const std::string &ptxas) {
  Result<ProgramResult> ran = runProgram(ptxas, {"--version"});
  if (!ran)
    return ran.error();
  for (llvm::StringRef line : llvm::split(ran->standardOutput, '\n'))
    if (const size_t at = line.find(", V"); at != llvm::StringRef::npos)
      return "ptxas " + line.drop_front(at + 3).trim().str();
  return systemError("{} --version does not tell its version", ptxas);
}

std::string ptx::fingerprintOf(const std::string &ptxas) {
  llvm::sys::fs::file_status facts;
  if (llvm::sys::fs::status(ptxas, facts))
    return ptxas; // which cannot be started either
  return fmt::format("{}, {} bytes, {} ns", ptxas, facts.getSize(),
                     facts.getLastModificationTime().time_since_epoch().count());
}

Result<std::string> ptx::disassemble(std::string_view cubin) {
  Result<std::string> nvdisasm = ToolkitProgram{"nvdisasm", "nvidia-cuda-nvdisasm"}.find("");
  if (!nvdisasm)
    return nvdisasm.error();
  TemporaryFile input;
  if (Status created = input.create("cubin"); !created)
    return created.error();
  if (Status written = input.write(cubin); !written)
    return written.error();
  Result<ProgramResult> ran = runProgram(*nvdisasm, {"-c", input.path()});
  if (!ran)
    return ran.error();
  if (ran->exitCode != 0)
    return internalError("nvdisasm: {}", firstLine(ran->standardError));
  return ran->standardOutput;
}
