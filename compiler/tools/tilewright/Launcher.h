//===- Launcher.h - Where a kernel runs -------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_LAUNCHER_H
#define TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_LAUNCHER_H

#include "compiler/tools/tilewright/LaunchInput.h"
#include "compiler/tools/tilewright/Timing.h"

namespace tilewright::tool {

/// Runs the kernel of a LaunchInput again and again, on this machine's processor or on its GPU.
class Launcher {
public:
  virtual ~Launcher() = default;

  /// Runs it once and returns the seconds that it took. `cold`: with nothing of the tensors in the
  /// caches, as far as the device lets us.
  virtual Result<double> run(bool cold) = 0;
  /// Brings the outputs to where the input's tensors are.
  virtual Status finish() { return {}; }
  /// What ran it: "cpu, 8 threads", "NVIDIA H200", and its clocks and power where it tells them.
  virtual std::string device() const = 0;
};

/// Refused: no device. The kernel is the input's, or another one for the same problem; the input
/// lives as long as the launcher.
Result<std::unique_ptr<Launcher>> makeLauncher(const LaunchInput &input, Kernel kernel,
                                               unsigned threads);

/// The same on the first GPU.
Result<std::unique_ptr<Launcher>> makeGpuLauncher(const LaunchInput &input, Kernel kernel);

} // namespace tilewright::tool

#endif // TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_LAUNCHER_H
