//===- EmulatedKernel.h - Kernels that run on an emulated GPU ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_RUNTIME_EMULATEDKERNEL_H
#define TILEWRIGHT_RUNTIME_EMULATEDKERNEL_H

#include "lib/Emulator/Command.h"
#include "runtime/KernelInterface.h"

#include <tilewright/runtime.h>

namespace tilewright {

/// The PTX of an image on the emulator, with all that it has to say.
class EmulatedKernel {
public:
  /// Refused: an image that checkImage() refuses, PTX that the emulator does not know.
  static Result<EmulatedKernel> make(const KernelImage &image);

  /// Runs on tensors in host memory, once for every seed. `options.run.budget` is that of one block
  /// here. The debugger, where options ask for it, reads `commands` and writes `answers`.
  Result<emulator::Report> run(const Arguments &arguments, emulator::CommandOptions options,
                               std::istream &commands, std::ostream &answers) const;

  /// To print a report with.
  const emulator::Module &module() const { return ptx; }

private:
  EmulatedKernel(const KernelImage &image, emulator::Module ptx);

  KernelInterface interface;
  KernelLaunch launch;
  emulator::Module ptx;
};

/// emulateKernel() for an image in memory.
Result<Kernel> makeEmulatedKernel(const KernelImage &image, const EmulationOptions &options);

} // namespace tilewright

#endif // TILEWRIGHT_RUNTIME_EMULATEDKERNEL_H
