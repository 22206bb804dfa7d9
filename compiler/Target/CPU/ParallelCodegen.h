//===- ParallelCodegen.h - Functions generated side by side -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TARGET_CPU_PARALLELCODEGEN_H
#define TILEWRIGHT_COMPILER_TARGET_CPU_PARALLELCODEGEN_H

#include "compiler/Target/CPU/CpuTarget.h"

#include "llvm/ADT/ArrayRef.h"

#include <tilewright/result.h>

namespace llvm {
class Module;
} // namespace llvm

namespace tilewright {

/// The code of `module` as objects, one for each of the functions named in `apart` and one for the
/// rest, generated on as many threads as there are processors. What a function uses is in its
/// object, so that none needs another. Refused: what emitObject refuses (Codegen.h).
Result<std::vector<std::string>> emitObjectsInParallel(const llvm::Module &module,
                                                       llvm::ArrayRef<std::string> apart,
                                                       const CpuTarget &target);

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_TARGET_CPU_PARALLELCODEGEN_H
