//===- ToolkitProgram.h - NVIDIA's programs ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ptxas and nvdisasm are programs of their own, from the CUDA Toolkit or from
// NVIDIA's Python packages. They are started without a shell, on temporary files.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TARGET_PTX_TOOLKITPROGRAM_H
#define TILEWRIGHT_COMPILER_TARGET_PTX_TOOLKITPROGRAM_H

#include <tilewright/result.h>

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileUtilities.h"

#include <string>

namespace tilewright::ptx {

/// A file of ours that is gone when its name goes out of scope.
class TemporaryFile {
public:
  Status create(llvm::StringRef suffix);
  Status write(std::string_view bytes) const;
  std::string read() const;
  llvm::StringRef path() const { return name; }

private:
  llvm::SmallString<128> name;
  llvm::FileRemover remover;
};

struct ToolkitProgram {
  std::string name;
  /// The Python package that has it.
  std::string package;

  /// Its path: `chosen` if not empty, else in $CUDA_HOME/bin, else the first one on PATH, else in
  /// /usr/local/cuda/bin. Refused: none found; the message says where it was looked for.
  Result<std::string> find(std::string_view chosen) const;
};

struct ProgramResult {
  int exitCode = 0;
  std::string standardOutput, standardError;
};

/// Runs the program at `path` to its end, for five minutes at most.
Result<ProgramResult> runProgram(const std::string &path,
                                 llvm::ArrayRef<llvm::StringRef> arguments);

} // namespace tilewright::ptx

#endif // TILEWRIGHT_COMPILER_TARGET_PTX_TOOLKITPROGRAM_H
