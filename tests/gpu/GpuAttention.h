//===- GpuAttention.h - Attention on a GPU beside the reference -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Problems of the reference's tests compiled for sm_90a and run on the GPU. Before a
// launch, outputs and the gaps between strided rows are NaN, and guard words lie
// before and behind every tensor.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_TESTS_GPU_GPUATTENTION_H
#define TILEWRIGHT_TESTS_GPU_GPUATTENTION_H

#include "tests/gpu/Cuda.h"
#include "tests/unit/Target/Attention.h"

#include <thread>

namespace tilewright::gpu {

using test::Ran;

/// How tensors lie in memory.
enum class Layout {
  Dense, // [b, h, t, d]
  BTHD,  // [b, t, h, d]
  Gaps,  // eight elements of NaN between rows: 16 bytes, the least that the copy engine takes
};

/// `view` with the strides of a layout and no data; LSE, of rank 3, is always dense.
inline TensorView laidOut(const TensorView &view, Layout layout) {
  TensorView result(nullptr, view.dtype, view.sizes());
  if (view.rank == 4 && layout == Layout::BTHD)
    result = test::laidOut(view, test::Layout::BTHD);
  if (view.rank == 4 && layout == Layout::Gaps) {
    TensorView wider = view;
    wider.shape[3] += 8;
    result.strides = TensorView(nullptr, view.dtype, wider.sizes()).strides;
  }
  return result;
}

/// A tensor on the GPU.
class DeviceTensor {
public:
  /// Full of NaN, with the strides of `layout`.
  explicit DeviceTensor(const TensorView &layout)
      : view(layout), used(test::extentInMemory(layout) * sizeOf(layout.dtype)),
        memory(std::make_unique<Memory>(used + 2 * guard)) {
    fill(memory->data(), guardByte, guard);
    fill(memory->data() + guard, 0xFF, used);
    fill(memory->data() + guard + used, guardByte, guard);
    view.data = memory->data() + guard;
  }

  /// A copy of a tensor of this machine.
  DeviceTensor(const TensorView &host, const TensorView &layout) : DeviceTensor(layout) {
    write(host);
  }

  /// Takes over the elements of a tensor of this shape.
  void write(const TensorView &host) {
    forEachRow(host,
               [](std::byte *device, std::byte *row, size_t size) { upload(device, row, size); });
  }

  /// All elements, dense.
  reference::Array read() const {
    reference::Array host;
    host.view = TensorView(nullptr, view.dtype, view.sizes());
    host.storage.resize(static_cast<size_t>(*view.elementCount()) * sizeOf(view.dtype) / 8 + 1);
    host.view.data = host.storage.data();
    forEachRow(host.view,
               [](std::byte *device, std::byte *row, size_t size) { download(row, device, size); });
    return host;
  }

  void expectGuardsIntact() const {
    std::vector<uint8_t> bytes(2 * guard);
    download(bytes.data(), memory->data(), guard);
    download(bytes.data() + guard, memory->data() + guard + used, guard);
    for (size_t i = 0; i < bytes.size(); ++i)
      ASSERT_EQ(bytes[i], guardByte)
          << (i < guard ? "before" : "behind") << " a tensor, byte " << i % guard;
  }

  TensorView view;

private:
  static constexpr size_t guard = 256; // what allocations are aligned to
  static constexpr uint8_t guardByte = 0x5A;

  /// Calls `copy(device, host, size)` for each row, or once where they lie alike.
  template <typename Copy> void forEachRow(const TensorView &host, const Copy &copy) const {
    const size_t element = sizeOf(view.dtype);
    if (used == 0)
      return;
    const auto at = [element](const TensorView &tensor, int64_t offset) {
      return static_cast<std::byte *>(tensor.data) + offset * static_cast<int64_t>(element);
    };
    if (view.strides == host.strides) {
      copy(at(view, 0), at(host, 0), used);
      return;
    }
    TensorView deviceRows = view, hostRows = host;
    deviceRows.shape[view.rank - 1] = hostRows.shape[view.rank - 1] = 1;
    std::vector<int64_t> offsets;
    test::forEachOffset(deviceRows, [&](int64_t offset) { offsets.push_back(offset); });
    size_t row = 0;
    test::forEachOffset(hostRows, [&](int64_t offset) {
      copy(at(view, offsets[row++]), at(host, offset),
           static_cast<size_t>(view.shape[view.rank - 1]) * element);
    });
  }

  size_t used;
  std::unique_ptr<Memory> memory;
};

struct Options {
  std::string schedule = {};
  std::optional<DType> outDType = {};
  Layout layout = Layout::Dense;
  void *stream = nullptr;
};

inline CompileOptions forGpu(std::string schedule = "") {
  CompileOptions options;
  options.target = "sm_90a";
  options.schedule = std::move(schedule);
  return options;
}

inline Result<Kernel> compileKernel(const reference::Problem &problem,
                                    const Options &options = {}) {
  Result<Compilation> compilation =
      compile(test::describe(problem, {.outDType = options.outDType}), forGpu(options.schedule));
  if (!compilation)
    return compilation.error();
  return compilation->kernel();
}

/// A problem's tensors on the GPU, and what a launch needs beside them.
class DeviceProblem {
public:
  explicit DeviceProblem(const reference::Problem &problem, const Options &options = {})
      : q(problem.q, laidOut(problem.q, options.layout)),
        k(problem.k, laidOut(problem.k, options.layout)),
        v(problem.v, laidOut(problem.v, options.layout)),
        o(laidOut(outputLike(problem, options), options.layout)),
        lse(TensorView(nullptr, DType::F32, problem.q.sizes().first(3))) {
    arguments = test::captured(problem);
    arguments.query = q.view;
    arguments.key = k.view;
    arguments.value = v.view;
    arguments.out = o.view;
    arguments.lse = lse.view;
    for (auto &[name, tensor] : arguments.tensors) {
      captured.emplace_back(tensor, tensor);
      tensor = captured.back().view;
    }
    sizes = {problem.q.shape[0], problem.q.shape[1], problem.k.shape[1], problem.q.shape[2],
             problem.k.shape[2]};
  }

  /// Starts a launch with a workspace of this problem's own.
  Status launch(const Kernel &kernel, void *stream = nullptr) {
    if (!workspace) {
      Result<size_t> bytes = kernel.workspaceSize(sizes);
      if (!bytes)
        return bytes.error();
      workspace = std::make_unique<Memory>(*bytes);
      fill(workspace->data(), 0xFF, *bytes);
    }
    return kernel.run(arguments, {workspace->data(), workspace->size}, {.stream = stream});
  }

  void expectGuardsIntact() const {
    for (const DeviceTensor *tensor : {&q, &k, &v, &o, &lse})
      tensor->expectGuardsIntact();
  }

  DeviceTensor q, k, v, o, lse;
  std::deque<DeviceTensor> captured;
  Arguments arguments;
  ProblemSizes sizes;

private:
  static TensorView outputLike(const reference::Problem &problem, const Options &options) {
    TensorView out = problem.q;
    out.dtype = options.outDType.value_or(problem.q.dtype);
    out.shape[3] = problem.v.shape[3];
    return out;
  }

  std::unique_ptr<Memory> workspace;
};

/// What a launch wrote, as bytes and as numbers.
struct Written {
  reference::Array o, lse;
  Ran ran() const { return {test::valuesOf(o.view), test::valuesOf(lse.view)}; }
};

/// Runs a kernel on a copy of a problem's tensors and waits for it.
inline Written launch(const Kernel &kernel, const reference::Problem &problem,
                      const Options &options = {}) {
  DeviceProblem device(problem, options);
  Status done = device.launch(kernel, options.stream);
  EXPECT_TRUE(done) << done.error().message();
  synchronize();
  device.expectGuardsIntact();
  return {device.o.read(), device.lse.read()};
}

/// Compiles and runs; a failure fails the test, and everything written is then NaN.
inline Written write(const reference::Case &aCase, const Options &options = {}) {
  Result<Kernel> kernel = compileKernel(aCase.problem, options);
  if (!kernel) {
    ADD_FAILURE() << kernel.error().message();
    DeviceProblem device(aCase.problem, options);
    return {device.o.read(), device.lse.read()};
  }
  return launch(*kernel, aCase.problem, options);
}

inline Ran run(const reference::Case &aCase, const Options &options = {}) {
  return write(aCase, options).ran();
}

inline void expectSameBits(const Written &a, const Written &b) {
  EXPECT_TRUE(a.o.storage.size() == b.o.storage.size() &&
              std::memcmp(a.o.storage.data(), b.o.storage.data(), a.o.storage.size() * 8) == 0)
      << "the outputs differ";
  EXPECT_TRUE(a.lse.storage.size() == b.lse.storage.size() &&
              std::memcmp(a.lse.storage.data(), b.lse.storage.data(), a.lse.storage.size() * 8) ==
                  0)
      << "the LSEs differ";
}

/// Holds what a launch wrote against the reference, within the limits of Compare.h.
inline void expectRight(const reference::Problem &problem, const Written &written) {
  const unsigned threads = std::max(1u, std::thread::hardware_concurrency() / 2);
  Result<reference::Output> right =
      reference::forward(problem, reference::rowsToCheck(problem.q.shape[2]), threads);
  ASSERT_TRUE(right) << right.error().message();
  Result<reference::Comparison> comparison =
      reference::compare(problem, *right, written.o.view, written.lse.view, threads);
  ASSERT_TRUE(comparison) << comparison.error().message();
  EXPECT_TRUE(comparison->passed) << comparison->describe();
}

/// Compiles once; every layout gives the same bits, and they are right.
inline Ran expectRight(const reference::Case &aCase, const Options &options = {}) {
  Result<Kernel> kernel = compileKernel(aCase.problem, options);
  if (!kernel) {
    ADD_FAILURE() << kernel.error().message();
    return {};
  }
  const Written written = launch(*kernel, aCase.problem, options);
  Options variant = options;
  for (const Layout layout : {Layout::BTHD, Layout::Gaps}) {
    variant.layout = layout;
    expectSameBits(written, launch(*kernel, aCase.problem, variant));
  }
  expectRight(aCase.problem, written);
  return written.ran();
}

} // namespace tilewright::gpu

#endif // TILEWRIGHT_TESTS_GPU_GPUATTENTION_H
