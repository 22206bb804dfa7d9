//===- GpuHost.cpp - A program that makes and runs a kernel for its GPU ---===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Describes a mask, compiles a kernel for it, launches the kernel on this program's
// own stream and device memory, and checks one row by hand. On a machine without
// such a GPU the same image runs on the emulator.
//
//===----------------------------------------------------------------------===//

#include <tilewright/tilewright.h>

#include <dlfcn.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <span>
#include <vector>

using namespace tilewright;

// Heads 0 and 1 share the first key head, heads 2 and 3 the second.
constexpr int64_t heads = 4, keyHeads = 2, length = 150, headDim = 64;

// Each query sees the first keys, and a window of those before it.
constexpr int64_t sinks = 4, window = 32;
constexpr const char *mask = "k <= q && (q - k < window || k < sinks)";

/// The bits of bf16 numbers.
using Tensor = std::vector<uint16_t>;

static float toFloat(uint16_t bits) {
  return std::bit_cast<float>(uint32_t{bits} << 16);
}

/// Numbers in [-1, 1] that look random.
static Tensor fill(int64_t tensorHeads, float frequency) {
  Tensor values(tensorHeads * length * headDim);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = std::bit_cast<uint32_t>(std::sin(frequency * static_cast<float>(i))) >> 16;
  return values;
}

/// The largest difference between one row of the output and softmax(q k^T / sqrt(d)) v.
static double errorOfRow(int64_t head, int64_t query, const Tensor &q, const Tensor &k,
                         const Tensor &v, const Tensor &out) {
  const int64_t keyHead = head * keyHeads / heads, row = (head * length + query) * headDim;
  std::vector<double> sum(headDim);
  double total = 0;
  for (int64_t key = 0; key < length; ++key) {
    if (key > query || (query - key >= window && key >= sinks)) // the mask, in C++
      continue;
    const int64_t keyRow = (keyHead * length + key) * headDim;
    double score = 0;
    for (int64_t column = 0; column < headDim; ++column)
      score += double{toFloat(q[row + column])} * toFloat(k[keyRow + column]);
    const double weight = std::exp(score / std::sqrt(static_cast<double>(headDim)));
    total += weight;
    for (int64_t column = 0; column < headDim; ++column)
      sum[column] += weight * toFloat(v[keyRow + column]);
  }
  double error = 0;
  for (int64_t column = 0; column < headDim; ++column)
    error = std::max(error, std::abs(sum[column] / total - toFloat(out[row + column])));
  return error;
}

/// CUDA's driver, a context and a stream. A program that uses CUDA has them already; this one finds
/// them by name, so that it builds and runs where there are none.
class Gpu {
public:
  /// Whether there is a GPU that code for sm_90a runs on.
  bool open() {
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library)
      return false;
    const auto find = [&](auto &function, const char *name) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
      return function != nullptr;
    };
    constexpr int capabilityMajor = 75, capabilityMinor = 76; // CU_DEVICE_ATTRIBUTE_...
    int major = 0, minor = 0;
    void *context = nullptr;
    return find(init, "cuInit") && find(attribute, "cuDeviceGetAttribute") &&
           find(retainContext, "cuDevicePrimaryCtxRetain") && find(setContext, "cuCtxSetCurrent") &&
           find(createStream, "cuStreamCreate") && find(allocateMemory, "cuMemAlloc_v2") &&
           find(toDevice, "cuMemcpyHtoDAsync_v2") && find(toHost, "cuMemcpyDtoHAsync_v2") &&
           find(synchronize, "cuStreamSynchronize") && init(0) == 0 &&
           attribute(&major, capabilityMajor, 0) == 0 &&
           attribute(&minor, capabilityMinor, 0) == 0 && major == 9 && minor == 0 &&
           retainContext(&context, 0) == 0 && setContext(context) == 0 &&
           createStream(&stream, /*non-blocking*/ 1) == 0;
  }

  /// A copy of a tensor on the device, made in the order of the stream; null if that fails.
  void *upload(const Tensor &tensor) {
    uint64_t address = 0;
    if (allocateMemory(&address, bytes(tensor)) != 0 ||
        toDevice(address, tensor.data(), bytes(tensor), stream) != 0)
      return nullptr;
    return reinterpret_cast<void *>(address);
  }

  /// Waits for the stream.
  bool download(Tensor &tensor, void *from) {
    return toHost(tensor.data(), reinterpret_cast<uint64_t>(from), bytes(tensor), stream) == 0 &&
           synchronize(stream) == 0;
  }

  void *stream = nullptr;

private:
  static size_t bytes(const Tensor &tensor) { return tensor.size() * sizeof tensor[0]; }

  int (*init)(unsigned flags) = nullptr;
  int (*attribute)(int *value, int attribute, int device) = nullptr;
  int (*retainContext)(void **context, int device) = nullptr;
  int (*setContext)(void *context) = nullptr;
  int (*createStream)(void **stream, unsigned flags) = nullptr;
  int (*allocateMemory)(uint64_t *address, size_t bytes) = nullptr;
  int (*toDevice)(uint64_t to, const void *from, size_t bytes, void *stream) = nullptr;
  int (*toHost)(void *to, uint64_t from, size_t bytes, void *stream) = nullptr;
  int (*synchronize)(void *stream) = nullptr;
};

static Arguments describe(void *q, void *k, void *v, void *out) {
  Arguments arguments;
  arguments.query = TensorView(q, DType::BF16, {1, heads, length, headDim});
  arguments.key = TensorView(k, DType::BF16, {1, keyHeads, length, headDim});
  arguments.value = TensorView(v, DType::BF16, {1, keyHeads, length, headDim});
  arguments.out = TensorView(out, DType::BF16, {1, heads, length, headDim});
  arguments.scalars = {{"window", window}, {"sinks", sinks}};
  return arguments;
}

static Status runOnGpu(Gpu &gpu, std::span<const std::byte> image, const Tensor &q, const Tensor &k,
                       const Tensor &v, Tensor &out) {
  Result<Kernel> kernel = loadKernel(image);
  if (!kernel)
    return kernel.error();
  const Arguments arguments =
      describe(gpu.upload(q), gpu.upload(k), gpu.upload(v), gpu.upload(out));
  Execution execution;
  execution.stream = gpu.stream;
  // The launch comes after the copies in the order of the stream, so nothing waits for them here.
  if (Status launched = kernel->run(arguments, {}, execution); !launched)
    return launched;
  if (!gpu.download(out, arguments.out.data))
    return Error(ErrorKind::System, "the kernel or a copy failed");
  return {};
}

static Status runOnEmulator(std::span<const std::byte> image, Tensor &q, Tensor &k, Tensor &v,
                            Tensor &out) {
  Result<Kernel> kernel = emulateKernel(image);
  if (!kernel)
    return kernel.error();
  return kernel->run(describe(q.data(), k.data(), v.data(), out.data()));
}

/// What this program does with errors. A larger one would hand them on.
static int fail(const Error &error) {
  std::cerr << "error: " << error.message() << '\n';
  return EXIT_FAILURE;
}

int main() {
  Problem problem;
  problem.headDim = headDim;
  problem.dtype = DType::BF16;
  problem.lse = false;
  problem.masks = {mask};
  problem.scalars = {{"window", ScalarType::I32}, {"sinks", ScalarType::I32}};
  CompileOptions options;
  options.target = "sm_90a";
  Result<Compilation> compilation = compile(problem, options);
  if (!compilation)
    return fail(compilation.error());
  Result<std::string> image = compilation->image();
  if (!image)
    return fail(image.error());
  const auto bytes = std::as_bytes(std::span(*image));

  Tensor q = fill(heads, 0.37f), k = fill(keyHeads, 0.73f), v = fill(keyHeads, 1.1f);
  Tensor out(q.size());
  Gpu gpu;
  const bool hasGpu = gpu.open();
  Status done = hasGpu ? runOnGpu(gpu, bytes, q, k, v, out) : runOnEmulator(bytes, q, k, v, out);
  if (!done)
    return fail(done.error());

  const double error = errorOfRow(3, 77, q, k, v, out);
  std::cout << (hasGpu ? "on the GPU" : "no GPU for sm_90a, on the emulator")
            << ", error of row 77 of head 3: " << error << '\n';
  return error < 0.002 ? EXIT_SUCCESS : EXIT_FAILURE; // some roundings to bf16
}
