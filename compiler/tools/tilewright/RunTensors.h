//===- RunTensors.h - The tensors that a run reads and writes ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_RUNTENSORS_H
#define TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_RUNTENSORS_H

#include "compiler/TensorFile/OwnedTensor.h"
#include "compiler/tools/tilewright/KernelFacts.h"
#include "compiler/tools/tilewright/Options.h"

#include <vector>

namespace tilewright::tool {

/// Views are [b, h, t, d] whatever the layout of the files.
struct RunTensors {
  TensorView query, key, value, out;
  std::optional<TensorView> lse;
  ProblemSizes sizes;
  std::vector<OwnedTensor> storage;
};

/// That inputs and the output file are named in a way that can work, before anything is compiled.
Status checkRunOptions(const Options &options);

/// Loads or makes the inputs and allocates the outputs, which are filled with NaN.
Result<RunTensors> makeRunTensors(const Options &options, const KernelFacts &facts);

/// Fills the outputs with NaN again.
void clearOutputs(const RunTensors &tensors);

/// Writes o, in the layout of the options, and for safetensors lse.
Status writeOutputs(const Options &options, const RunTensors &tensors);

} // namespace tilewright::tool

#endif // TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_RUNTENSORS_H
