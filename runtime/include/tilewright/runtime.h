//===- runtime.h - Run compiled attention kernels ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A Kernel computes one attention problem on one target. It is made by the
// compiler (tilewright/compiler.h) or loaded from a kernel image, and run on the
// caller's tensors:
//
//   Arguments arguments;
//   arguments.query = TensorView(q, DType::F32, {2, 8, 1000, 64});
//   ...
//   arguments.scalars["window"] = 256;
//   Status done = kernel.run(arguments, workspace, Execution());
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_RUNTIME_H
#define TILEWRIGHT_RUNTIME_H

#include <tilewright/export.h>
#include <tilewright/result.h>
#include <tilewright/tensor.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace tilewright {

/// What one launch reads and writes.
///
/// | field | dtype          | shape                                     |
/// |-------|----------------|-------------------------------------------|
/// | query | the problem's  | [batch, heads, query_length, head_dim]    |
/// | key   | the problem's  | [batch, kv_heads, key_length, head_dim]   |
/// | value | the problem's  | [batch, kv_heads, key_length, value_dim]  |
/// | out   | the problem's  | [batch, heads, query_length, value_dim]   |
/// | lse   | f32 (f64: f64) | [batch, heads, query_length]              |
///
/// Any strides, 0 for expanded inputs, but the innermost one is 1 wherever its extent is above 1.
/// heads is a multiple of kv_heads; each extent is at most 2^30. The outputs overlap neither each
/// other nor an input, and no two of their elements share memory.
///
/// For a GPU kernel `data` is a device address, on the device of the stream. GPUs read and write in
/// larger pieces than an element, so there are more rules, which docs/runtime.md lists: query, key
/// and value begin at multiples of 16 bytes and have strides that are, `out` at multiples of two
/// elements.
struct Arguments {
  TensorView query, key, value, out;
  /// Present exactly if the problem asks for it.
  std::optional<TensorView> lse;
  /// 1 / sqrt(head_dim) if absent; finite, of any sign.
  std::optional<double> scale;
  /// A value for each scalar that the problem declares; integral and in range for an i32.
  std::map<std::string, double, std::less<>> scalars;
  /// A tensor for each that the problem declares, of its dtype and rank, with any strides.
  std::map<std::string, TensorView, std::less<>> tensors;
};

/// A host's own threads. Calls `work`, which throws nothing, on up to `count` threads at once, the
/// caller's among them if it likes, and returns when all these calls have; `work` returns once
/// there is nothing left to do. Each thread has at least 5 MiB of stack, of which a kernel's tiles
/// may take 4 (`tilewright explain` tells how much one takes).
using Executor = std::function<void(const std::function<void()> &work, unsigned count)>;

/// How a launch is executed.
struct Execution {
  /// Threads that a CPU kernel may use, the caller's among them; 0 means as many as the machine
  /// has. Launches from several threads share one pool, and each waits only for its own work.
  unsigned threads = 0;
  /// A CUstream (a cudaStream_t is one) that a GPU kernel is queued on, in whatever context it
  /// belongs to; the context that is current for the caller stays so. Null is the default stream of
  /// the current context. Other kernels ignore it.
  void *stream = nullptr;
  /// What a CPU kernel runs on in place of that pool; empty for the pool. It must not throw. A
  /// launch that it leaves unfinished is an error, and the outputs are then half-written.
  Executor executor = {};
};

/// The extents that a kernel's workspace depends on.
struct ProblemSizes {
  int64_t batch = 0;
  int64_t heads = 0;
  int64_t kvHeads = 0;
  int64_t queryLength = 0;
  int64_t keyLength = 0;
};

/// A compiled kernel, ready to run. Copies share it; all functions may be called from any thread.
class TILEWRIGHT_EXPORT Kernel {
public:
  /// How a target implements a kernel.
  class Implementation {
  public:
    virtual ~Implementation() = default;
    virtual Result<size_t> workspaceSize(const ProblemSizes &sizes) const = 0;
    virtual Status run(const Arguments &arguments, std::span<std::byte> workspace,
                       const Execution &execution) const = 0;
  };

  explicit Kernel(std::shared_ptr<const Implementation> implementation)
      : implementation(std::move(implementation)) {}

  /// Bytes that run() needs for these extents. They grow with the lengths at most linearly.
  Result<size_t> workspaceSize(const ProblemSizes &sizes) const;

  /// Computes attention. A wrong argument is refused by name, with the value seen and the limit,
  /// before anything is written. `workspace` has at least workspaceSize() bytes and belongs to this
  /// launch until it is done.
  ///
  /// Where the kernel runs on this processor, it is done when this returns. A GPU kernel is queued
  /// on the stream and this returns at once: the stream says when it is done, and what goes wrong
  /// in between is told by a later call of the driver. Such a launch allocates nothing, waits for
  /// nothing, and can be captured into a CUDA graph.
  Status run(const Arguments &arguments, std::span<std::byte> workspace = {},
             const Execution &execution = {}) const;

private:
  std::shared_ptr<const Implementation> implementation;
};

/// Loads the kernel of an image for the GPUs of this machine. `image` is the content of a .twk file
/// and is needed only until this returns. It is hostile until checked: a file that is none, is
/// truncated, altered or newer than this library is refused with the reason.
///
/// NVIDIA's driver is opened when it is first needed. Where there is none, or no device that can
/// run the kernel, loading succeeds and each run() says what is missing.
TILEWRIGHT_EXPORT Result<Kernel> loadKernel(std::span<const std::byte> image);

struct EmulationOptions {
  /// Runs with the schedules firstSeed, firstSeed + 1, ...; the outputs are those of the last one.
  uint64_t firstSeed = 1;
  uint64_t seeds = 1;
  /// Threads for the blocks of the kernel; 0 means as many as the machine has.
  unsigned threads = 0;
};

/// Loads the kernel of an image for an emulator of a GPU, which runs it on tensors in host memory.
/// It is some thousand times slower than a GPU and looks for races, deadlocks and accesses outside
/// of the tensors: what it finds is the error of run(), told as the first finding and the number of
/// the others. Rules for strides and alignment are those of the GPU.
TILEWRIGHT_EXPORT Result<Kernel> emulateKernel(std::span<const std::byte> image,
                                               const EmulationOptions &options = {});

} // namespace tilewright

#endif // TILEWRIGHT_RUNTIME_H
