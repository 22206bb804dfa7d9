//===- Kernel.cpp - The handle of a compiled kernel -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tilewright/runtime.h"

using namespace tilewright;

Result<size_t> Kernel::workspaceSize(const ProblemSizes &sizes) const {
  return implementation->workspaceSize(sizes);
}

Status Kernel::run(const Arguments &arguments, std::span<std::byte> workspace,
                   const Execution &execution) const {
  return implementation->run(arguments, workspace, execution);
}
