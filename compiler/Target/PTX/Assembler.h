//===- Assembler.h - Cubins from PTX, by NVIDIA's ptxas ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What ptxas assembles is accepted only if nothing was lost on the way: no stack
// frame, no spilled registers, and none of its remarks C7500 to C7599, which say
// that products were put one behind the other.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TARGET_PTX_ASSEMBLER_H
#define TILEWRIGHT_COMPILER_TARGET_PTX_ASSEMBLER_H

#include <tilewright/result.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace tilewright::ptx {

/// As ToolkitProgram::find().
Result<std::string> findPtxas(std::string_view chosen);

/// What one kernel uses, as ptxas tells it.
struct Resources {
  std::string kernel;
  int64_t registers = 0; // a thread's at launch
  int64_t stackBytes = 0;
  int64_t spillBytes = 0; // stores and loads
  std::string remarks;    // its lines with C75xx
};

struct Assembled {
  std::string cubin;
  Resources resources;
};

/// What it is given besides files.
inline constexpr std::string_view ptxasFlags[] = {"-arch=sm_90a", "-O3", "-v"};

/// Assembles one kernel for sm_90a. Refused: PTX that ptxas rejects, with its first message.
Result<Assembled> assemble(std::string_view ptx, const std::string &ptxas);

/// "ptxas 13.0.88".
Result<std::string> versionOf(const std::string &ptxas);

/// Tells one ptxas from another by path, size and time of change: starting it to ask for its
/// version takes longer than reading a kernel that is compiled already.
std::string fingerprintOf(const std::string &ptxas);

/// SASS as nvdisasm shows it. Refused: it is not found.
Result<std::string> disassemble(std::string_view cubin);

/// The gate that every generated kernel passes; the error names the kernel and what was lost.
Status checkResources(const Resources &resources);

/// Reads what `ptxas -v` prints.
Resources parseResources(std::string_view log);

} // namespace tilewright::ptx

#endif // TILEWRIGHT_COMPILER_TARGET_PTX_ASSEMBLER_H
