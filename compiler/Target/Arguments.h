//===- Arguments.h - What a kernel takes, from its types --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TARGET_ARGUMENTS_H
#define TILEWRIGHT_COMPILER_TARGET_ARGUMENTS_H

#include "lib/Image/KernelArgument.h"

#include <tilewright/result.h>

#include "mlir/IR/BuiltinTypes.h"

namespace tilewright {

/// The arguments of @`function` with these types and names, of which there are equally many.
/// Refused: an argument without a name or with one used twice, types that no host tensor or scalar
/// has.
Result<std::vector<KernelArgument>> kernelArguments(llvm::StringRef function,
                                                    llvm::ArrayRef<mlir::Type> types,
                                                    llvm::ArrayRef<llvm::StringRef> names);

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_TARGET_ARGUMENTS_H
