//===- Cuda.h - What a host does with CUDA's driver -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tests are a host of their own: they open the driver, own the memory, make
// streams and capture graphs, and share nothing of that with Tilewright's runtime.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_TESTS_GPU_CUDA_H
#define TILEWRIGHT_TESTS_GPU_CUDA_H

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace tilewright::gpu {

/// A function of the driver by its name; null where there is none.
void *findFunction(const char *name);

/// Calls a function of the driver with arguments of the very types that it takes. A failure fails
/// the test with the driver's name for it.
template <typename... Arguments> void cuda(const char *name, Arguments... arguments) {
  auto *function = reinterpret_cast<int (*)(Arguments...)>(findFunction(name));
  ASSERT_NE(function, nullptr) << "the driver has no " << name;
  const int code = function(arguments...);
  const char *text = nullptr;
  if (code != 0)
    reinterpret_cast<int (*)(int, const char **)>(findFunction("cuGetErrorName"))(code, &text);
  ASSERT_EQ(code, 0) << name << ": " << (text ? text : "an unknown error");
}

/// Opens the driver once and makes the first GPU's primary context current to this thread. Why
/// kernels cannot be run here, or nothing.
std::optional<std::string> whyNoGpu();

/// Memory on the GPU.
class Memory {
public:
  explicit Memory(size_t size) : size(size) {
    cuda("cuMemAlloc_v2", &address, size > 0 ? size : size_t{1});
  }
  ~Memory() { cuda("cuMemFree_v2", address); }
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;

  std::byte *data() const { return reinterpret_cast<std::byte *>(address); }

  const size_t size;

private:
  uint64_t address = 0;
};

inline void upload(const std::byte *device, const void *host, size_t size) {
  cuda("cuMemcpyHtoD_v2", reinterpret_cast<uint64_t>(device), host, size);
}
inline void download(void *host, const std::byte *device, size_t size) {
  cuda("cuMemcpyDtoH_v2", host, reinterpret_cast<uint64_t>(device), size);
}
inline void fill(const std::byte *device, uint8_t value, size_t size) {
  cuda("cuMemsetD8_v2", reinterpret_cast<uint64_t>(device), value, size);
}
inline void synchronize() {
  cuda("cuCtxSynchronize");
}

/// A stream that does not wait for the default one.
class Stream {
public:
  Stream() { cuda("cuStreamCreate", &handle, 1u); }
  ~Stream() { cuda("cuStreamDestroy_v2", handle); }
  Stream(const Stream &) = delete;
  Stream &operator=(const Stream &) = delete;

  void synchronize() const { cuda("cuStreamSynchronize", handle); }

  void *handle = nullptr;
};

/// A test that needs a GPU; without one it says why and is skipped.
template <typename Base> class OnGpu : public Base {
protected:
  void SetUp() override {
    if (const std::optional<std::string> reason = whyNoGpu())
      GTEST_SKIP() << "no GPU: " << *reason;
  }
};

} // namespace tilewright::gpu

#endif // TILEWRIGHT_TESTS_GPU_CUDA_H
