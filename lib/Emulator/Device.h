//===- Device.h - Running a kernel under the emulator -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   Result<emulator::Module> module = emulator::loadModule(ptx, "attn");
//   Result<emulator::Outcome> outcome = emulator::run(*module, launch, {.seed = 3});
//   if (outcome && outcome->finding)
//     print(emulator::toText(*outcome->finding));
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_LIB_EMULATOR_DEVICE_H
#define TILEWRIGHT_LIB_EMULATOR_DEVICE_H

#include "lib/Emulator/Finding.h"
#include "lib/Emulator/Launch.h"
#include "lib/Emulator/Module.h"
#include "tilewright/result.h"

#include <optional>
#include <string>
#include <vector>

namespace tilewright::emulator {

struct Warp;

/// Sees every instruction before it is executed. A run with an observer uses one thread.
class Observer {
public:
  virtual ~Observer() = default;
  /// False ends the run.
  virtual bool before(Warp &warp, uint32_t op) = 0;
};

struct RunOptions {
  /// Chooses the schedule: when copies and matrix instructions finish, which warp runs, for how
  /// long. The same seed gives the same run, whatever the number of threads.
  uint64_t seed = 1;
  /// Blocks that run at the same time on threads of the host. Kernels whose blocks see each other
  /// through atomics or ordered accesses run on one thread, their blocks interleaved by the seed.
  uint32_t threads = 1;
  /// Warp instructions that all blocks together may execute; what goes on longer is a finding.
  uint64_t budget = 200'000'000;
  /// Blocks in flight at the same time where blocks are interleaved.
  uint32_t residentBlocks = 2;
  /// Keep vector clocks and the shadows of shared and global memory. With several threads it may
  /// depend on them which of several races between blocks is told, not whether one is.
  bool checkRaces = true;
  /// Accept matrix descriptors that start inside the 8-row pattern of their swizzle.
  bool allowUnalignedDescriptors = false;
  Observer *observer = nullptr;
};

struct Statistics {
  uint64_t warpInstructions = 0, threadInstructions = 0;
  uint64_t matrixInstructions = 0; ///< wgmma, counted per warp.
  uint64_t copies = 0;             ///< Bulk copies and stores.
};

struct Outcome {
  std::optional<Finding> finding;   ///< The first of the block with the lowest index.
  std::vector<std::string> remarks; ///< Odd, but harmless.
  Statistics statistics;
  std::vector<uint8_t> executed; ///< For every op of the module, whether some warp ran it.
  bool stopped = false;          ///< The observer ended the run.
};

/// Runs a grid to its end or to the first finding. An error means that the launch itself is not
/// possible; the buffers hold what the kernel had written when it stopped.
Result<Outcome> run(const Module &module, const Launch &launch, const RunOptions &options = {});

} // namespace tilewright::emulator

#endif // TILEWRIGHT_LIB_EMULATOR_DEVICE_H
