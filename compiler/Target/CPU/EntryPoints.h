//===- EntryPoints.h - A kernel's functions with one calling convention -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TARGET_CPU_ENTRYPOINTS_H
#define TILEWRIGHT_COMPILER_TARGET_CPU_ENTRYPOINTS_H

#include "compiler/Target/CPU/Signature.h"

namespace llvm {
class Module;
} // namespace llvm

namespace tilewright {

/// Temporary tensors start at whole cache lines, wherever the caller's memory does.
constexpr int64_t workspaceAlignment = 64;

/// The names of a kernel's entry points. All take the arguments as one array of pointers, to
/// memrefs (MemRefs.h) and to scalars.
struct EntryPoints {
  struct Phase {
    /// (arguments) -> i64, and (arguments[, memref of the workspace], item).
    std::string countItems, runItem;
  };
  std::vector<Phase> phases;
  /// (arguments) -> i64; empty if there is no workspace.
  std::string workspaceBytes;
};

/// Makes them of the functions of a kernel's module, which keep their names. Refused: a function
/// that the module itself calls. After an error the module is of no use.
Result<EntryPoints> makeEntryPoints(llvm::Module &module, const Signature &signature);

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_TARGET_CPU_ENTRYPOINTS_H
