//===- ThreadCopy.h - A warp copies what the copy engine cannot -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_CONVERSION_SMTONVVM_THREADCOPY_H
#define TILEWRIGHT_COMPILER_CONVERSION_SMTONVVM_THREADCOPY_H

#include "compiler/Conversion/SMToNVVM/Instructions.h"
#include "compiler/Conversion/SMToNVVM/Parameters.h"
#include "dialect/SM/SM.h"

namespace tilewright::sm90 {

/// Fills a tile at `address` with consecutive rows of an argument of the function, element by
/// element, so from any address and with any strides; rows and columns outside of the tensor become
/// zero. For all lanes of one warp. `indices`: the leading ones, then the first row, i64.
void copyByThreads(LocBuilder &b, Parameters &parameters, Value tensor, ValueRange indices,
                   sm::SharedType tile, Value address, Value lane);

} // namespace tilewright::sm90

#endif // TILEWRIGHT_COMPILER_CONVERSION_SMTONVVM_THREADCOPY_H
