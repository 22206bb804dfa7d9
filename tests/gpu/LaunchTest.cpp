//===- LaunchTest.cpp - Streams, graphs, contexts, refusals ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/gpu/GpuAttention.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>

using namespace tilewright;
using namespace tilewright::gpu;
using reference::Case;
using reference::noise;
using testing::HasSubstr;

namespace {
class OnGpuLaunch : public OnGpu<testing::Test> {};

Case makeCase(uint32_t seed = 1) {
  Case aCase({.queries = 300,
              .keys = 300,
              .d = 128,
              .dv = 128,
              .batch = 2,
              .heads = 4,
              .kvHeads = 2,
              .dtype = DType::BF16},
             noise(seed), noise(seed + 1), noise(seed + 2));
  aCase.preset("causal");
  return aCase;
}

Written written(const DeviceProblem &device) {
  return {device.o.read(), device.lse.read()};
}

/// Holds a stream back until it is opened.
class Gate {
public:
  explicit Gate(const Stream &stream) : stream(stream) {
    void (*wait)(void *) = [](void *gate) {
      while (!static_cast<Gate *>(gate)->isOpen)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    };
    cuda("cuLaunchHostFunc", stream.handle, wait, static_cast<void *>(this));
  }
  ~Gate() { open(); }

  /// Returns when all is done that waited behind it.
  void open() {
    isOpen = true;
    stream.synchronize();
  }

private:
  const Stream &stream;
  std::atomic<bool> isOpen = false;
};
} // namespace

TEST_F(OnGpuLaunch, TenLaunchesGiveTheSameBits) {
  for (const char *mask : {"causal", "dense-bias"}) {
    Case aCase({.queries = 1000,
                .keys = 1000,
                .d = 128,
                .dv = 128,
                .heads = 16,
                .kvHeads = 4,
                .dtype = DType::BF16},
               noise(1), noise(2), noise(3));
    if (std::string_view(mask) == "dense-bias")
      aCase.tensor("bias", reference::makeArray(DType::F32, {1, 1, 1, 1000}, noise(9)))
          .score("s + bias[0, 0, 0, k]");
    else
      aCase.preset(mask);
    Result<Kernel> kernel = compileKernel(aCase.problem);
    ASSERT_TRUE(kernel) << kernel.error().message();
    const Written first = launch(*kernel, aCase.problem);
    for (int i = 1; i < 10; ++i)
      expectSameBits(first, launch(*kernel, aCase.problem));
  }
}

TEST_F(OnGpuLaunch, ASecondCompilationGivesTheSameBits) {
  const Case aCase = makeCase();
  Result<Kernel> first = compileKernel(aCase.problem), second = compileKernel(aCase.problem);
  ASSERT_TRUE(first && second);
  expectSameBits(launch(*first, aCase.problem), launch(*second, aCase.problem));
}

TEST_F(OnGpuLaunch, ALaunchIsQueuedBehindPendingWork) {
  const Case before = makeCase(1), after = makeCase(4);
  Result<Kernel> kernel = compileKernel(before.problem);
  ASSERT_TRUE(kernel) << kernel.error().message();
  DeviceProblem device(before.problem);
  const DeviceProblem arriving(after.problem);
  ASSERT_TRUE(device.launch(*kernel)); // loads the kernel, which may wait for everything
  synchronize();
  const Written right = launch(*kernel, after.problem);

  // New inputs arrive on a stream that is held back: the launch returns at once and sees them.
  const Stream stream;
  Gate gate(stream);
  for (const auto &[to, from] :
       {std::pair{&device.q, &arriving.q}, {&device.k, &arriving.k}, {&device.v, &arriving.v}})
    cuda("cuMemcpyDtoDAsync_v2", reinterpret_cast<uint64_t>(to->view.data),
         reinterpret_cast<uint64_t>(from->view.data),
         static_cast<size_t>(*to->view.elementCount()) * sizeOf(to->view.dtype), stream.handle);
  Status done = device.launch(*kernel, stream.handle);
  ASSERT_TRUE(done) << done.error().message();
  constexpr int notReady = 600;
  EXPECT_EQ(reinterpret_cast<int (*)(void *)>(findFunction("cuStreamQuery"))(stream.handle),
            notReady);
  gate.open();
  expectSameBits(written(device), right);
}

TEST_F(OnGpuLaunch, TwoStreamsWithTwoWorkspaces) {
  const Case a = makeCase(1), b = makeCase(4);
  Result<Kernel> kernel = compileKernel(a.problem);
  ASSERT_TRUE(kernel) << kernel.error().message();
  const Written rightA = launch(*kernel, a.problem), rightB = launch(*kernel, b.problem);
  DeviceProblem deviceA(a.problem), deviceB(b.problem);
  Stream streamA, streamB;
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(deviceA.launch(*kernel, streamA.handle));
    ASSERT_TRUE(deviceB.launch(*kernel, streamB.handle));
  }
  streamA.synchronize();
  streamB.synchronize();
  expectSameBits(written(deviceA), rightA);
  expectSameBits(written(deviceB), rightB);
}

TEST_F(OnGpuLaunch, SeveralThreadsLaunchOneKernel) {
  const Case aCase = makeCase();
  Result<Kernel> kernel = compileKernel(aCase.problem);
  ASSERT_TRUE(kernel) << kernel.error().message();
  const Written right = launch(*kernel, aCase.problem);
  void *context = nullptr;
  cuda("cuCtxGetCurrent", &context);
  std::vector<std::optional<Written>> results(4);
  std::vector<std::thread> hosts;
  for (std::optional<Written> &result : results)
    hosts.emplace_back([&] {
      cuda("cuCtxSetCurrent", context);
      DeviceProblem device(aCase.problem);
      Stream stream;
      for (int i = 0; i < 20; ++i)
        EXPECT_TRUE(device.launch(*kernel, stream.handle));
      stream.synchronize();
      result = written(device);
    });
  for (std::thread &host : hosts)
    host.join();
  for (const std::optional<Written> &result : results)
    expectSameBits(*result, right);
}

TEST_F(OnGpuLaunch, ACapturedGraphReadsNewData) {
  const Case aCase = makeCase();
  Result<Kernel> kernel = compileKernel(aCase.problem);
  ASSERT_TRUE(kernel) << kernel.error().message();
  DeviceProblem device(aCase.problem);
  ASSERT_TRUE(device.launch(*kernel)); // loads the kernel
  synchronize();

  Stream stream;
  void *graph = nullptr, *executable = nullptr;
  cuda("cuStreamBeginCapture_v2", stream.handle, 0);
  Status done = device.launch(*kernel, stream.handle);
  cuda("cuStreamEndCapture", stream.handle, &graph);
  ASSERT_TRUE(done) << done.error().message();
  cuda("cuGraphInstantiateWithFlags", &executable, graph, uint64_t{0});
  constexpr size_t sets = 5;
  std::deque<Case> cases; // which are not copied: their views stay valid
  std::vector<Written> right;
  for (uint32_t i = 0; i < sets; ++i) {
    cases.push_back(makeCase(10 * i));
    right.push_back(launch(*kernel, cases.back().problem));
  }
  for (size_t replay = 0; replay < 100; ++replay) {
    const reference::Problem &problem = cases[replay % sets].problem;
    device.q.write(problem.q);
    device.k.write(problem.k);
    device.v.write(problem.v);
    synchronize(); // copies from pageable memory may be under way, and the stream does not wait
    cuda("cuGraphLaunch", executable, stream.handle);
    stream.synchronize();
    expectSameBits(written(device), right[replay % sets]);
  }
  cuda("cuGraphExecDestroy", executable);
  cuda("cuGraphDestroy", graph);
}

// Dao-AILab/flash-attention#54
TEST_F(OnGpuLaunch, TheCurrentContextStaysWhatItWas) {
  const Case aCase = makeCase();
  Result<Kernel> kernel = compileKernel(aCase.problem);
  ASSERT_TRUE(kernel) << kernel.error().message();
  DeviceProblem device(aCase.problem);
  void *before = nullptr, *after = nullptr;
  cuda("cuCtxGetCurrent", &before);
  ASSERT_NE(before, nullptr);
  ASSERT_TRUE(device.launch(*kernel));
  cuda("cuCtxGetCurrent", &after);
  EXPECT_EQ(after, before);
  // Another thread has no current context, and has none after a launch.
  Stream stream;
  std::thread([&] {
    Status done = device.launch(*kernel, stream.handle);
    EXPECT_TRUE(done) << done.error().message();
    void *current = nullptr;
    cuda("cuCtxGetCurrent", &current);
    EXPECT_EQ(current, nullptr);
  }).join();
  synchronize();
  expectRight(aCase.problem, written(device));
}

/// Launches on a stream and tensors of `context` while another one is current.
static void serveFromOutside(void *context) {
  const Case aCase = makeCase();
  Result<Kernel> kernel = compileKernel(aCase.problem);
  ASSERT_TRUE(kernel) << kernel.error().message();
  void *own = nullptr, *current = nullptr;
  cuda("cuCtxGetCurrent", &own);
  cuda("cuCtxSetCurrent", context);
  {
    DeviceProblem device(aCase.problem);
    Stream stream;
    cuda("cuCtxSetCurrent", own);
    const Status done = device.launch(*kernel, stream.handle);
    EXPECT_TRUE(done) << done.error().message();
    cuda("cuCtxGetCurrent", &current);
    EXPECT_EQ(current, own);
    cuda("cuCtxSetCurrent", context);
    stream.synchronize();
    expectRight(aCase.problem, written(device));
  }
  cuda("cuCtxSetCurrent", own);
}

TEST_F(OnGpuLaunch, AnotherContextOfTheDeviceIsServed) {
  void *own = nullptr, *context = nullptr;
  cuda("cuCtxGetCurrent", &own);
  cuda("cuCtxCreate_v2", &context, 0u, 0);
  cuda("cuCtxSetCurrent", own);
  serveFromOutside(context);
  cuda("cuCtxDestroy_v2", context);
}

TEST_F(OnGpuLaunch, AnotherDeviceIsServed) {
  int count = 0;
  cuda("cuDeviceGetCount", &count);
  if (count < 2)
    GTEST_SKIP() << "no second GPU";
  void *own = nullptr, *context = nullptr;
  cuda("cuCtxGetCurrent", &own);
  cuda("cuDevicePrimaryCtxRetain", &context, 1);
  serveFromOutside(context);

  // What lies on the first device is not taken for a stream of the second.
  const Case aCase = makeCase();
  Result<Kernel> kernel = compileKernel(aCase.problem);
  ASSERT_TRUE(kernel) << kernel.error().message();
  DeviceProblem device(aCase.problem);
  cuda("cuCtxSetCurrent", context);
  {
    Stream stream;
    cuda("cuCtxSetCurrent", own);
    const Status done = device.launch(*kernel, stream.handle);
    ASSERT_FALSE(done);
    EXPECT_THAT(done.error().message(), HasSubstr("query"));
    EXPECT_THAT(done.error().message(), HasSubstr("device 0"));
  }
  cuda("cuDevicePrimaryCtxRelease_v2", 1);
}

TEST_F(OnGpuLaunch, TensorsThatDoNotFitAreRefusedByName) {
  const Case aCase = makeCase();
  Result<Kernel> kernel = compileKernel(aCase.problem);
  ASSERT_TRUE(kernel) << kernel.error().message();
  const auto errorOf = [&](const std::function<void(Arguments &)> &spoil) {
    DeviceProblem device(aCase.problem);
    spoil(device.arguments);
    Status done = device.launch(*kernel);
    synchronize();
    EXPECT_THAT(written(device).ran().o, testing::Each(testing::IsNan()));
    return done ? "" : done.error().message();
  };
  EXPECT_THAT(errorOf([&](Arguments &a) { a.key.data = aCase.problem.k.data; }), HasSubstr("key"));
  EXPECT_THAT(errorOf([](Arguments &a) { a.query.dtype = DType::F16; }), HasSubstr("query"));
  EXPECT_THAT(errorOf([](Arguments &a) { a.value.shape[2] = 299; }),
              HasSubstr("key_length is 300 in key and 299 in value"));
  EXPECT_THAT(errorOf([](Arguments &a) { a.key.shape[3] = 64; }), HasSubstr("key"));
  EXPECT_THAT(errorOf([](Arguments &a) { a.query.data = a.out.data; }),
              HasSubstr("out overlaps query"));
}
