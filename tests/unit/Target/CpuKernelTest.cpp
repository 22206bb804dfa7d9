//===- CpuKernelTest.cpp - Launches, threads, the host's surroundings -----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VectorKernel.h"
#include "compiler/Target/CPU/WorkerPool.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <atomic>
#include <limits>
#include <thread>

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

using namespace tilewright;
using testing::Each;
using testing::HasSubstr;

namespace {
constexpr const char *strided = "strided<[?, ?, ?, 1], offset: ?>";

/// out[b, h, i, c] = scale * query[b, h, i, c], one row an item, with `body` before the row's loop.
std::string scaleRows(const std::string &body = "") {
  const std::string type = fmt::format("memref<?x?x?x4xf32, {}>", strided);
  const std::string arguments = fmt::format(
      R"(%query: {0} {{attn.name = "query"}}, %out: {0} {{attn.name = "out"}},
         %scale: f32 {{attn.name = "scale"}})",
      type);
  return fmt::format(R"(
    func.func @scale_rows_items({0}) -> index {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %b = memref.dim %query, %c0 : {1}
      %h = memref.dim %query, %c1 : {1}
      %t = memref.dim %query, %c2 : {1}
      %bh = arith.muli %b, %h : index
      %n = arith.muli %bh, %t : index
      return %n : index
    }}
    func.func @scale_rows({0}, %item: index) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %h = memref.dim %query, %c1 : {1}
      %t = memref.dim %query, %c2 : {1}
      %bh = arith.divui %item, %t : index
      %i = arith.remui %item, %t : index
      %bi = arith.divui %bh, %h : index
      %hi = arith.remui %bh, %h : index
      {2}
      %x = vector.load %query[%bi, %hi, %i, %c0] : {1}, vector<4xf32>
      %s = vector.broadcast %scale : f32 to vector<4xf32>
      %y = arith.mulf %x, %s : vector<4xf32>
      vector.store %y, %out[%bi, %hi, %i, %c0] : {1}, vector<4xf32>
      return
    }})",
                     arguments, type, body);
}

Kernel scaleKernel(const std::string &body = "") {
  Result<Kernel> kernel = test::makeKernel(scaleRows(body));
  EXPECT_TRUE(kernel) << kernel.error().message();
  return *kernel;
}

/// query and out of [2, 3, rows, 4], with guard words behind out.
struct Buffers {
  static constexpr float guard = -77.0f;
  int64_t rows;
  std::vector<float> query, out;
  Arguments arguments;

  explicit Buffers(int64_t rows) : rows(rows), query(24 * rows), out(24 * rows + 16, guard) {
    for (size_t i = 0; i < query.size(); ++i)
      query[i] = static_cast<float>(i);
    arguments.query = TensorView(query.data(), DType::F32, {2, 3, rows, 4});
    arguments.out = TensorView(out.data(), DType::F32, {2, 3, rows, 4});
  }

  void expectScaled(float scale) const {
    for (size_t i = 0; i < query.size(); ++i)
      ASSERT_EQ(out[i], query[i] * scale) << i;
    EXPECT_THAT(std::span(out).subspan(query.size()), Each(guard));
  }
};
} // namespace

TEST(CpuKernel, ComputesEveryItemWithAnyNumberOfThreads) {
  Kernel kernel = scaleKernel();
  for (unsigned threads : {0u, 1u, 2u, 5u, 64u}) {
    Buffers buffers(37);
    buffers.arguments.scale = 3.0;
    Status done = kernel.run(buffers.arguments, {}, {threads});
    ASSERT_TRUE(done) << done.error().message();
    buffers.expectScaled(3.0f);
  }
}

TEST(CpuKernel, RunsOnTheHostsOwnThreads) {
  Kernel kernel = scaleKernel();
  unsigned asked = 0;
  Execution execution{.threads = 3};
  execution.executor = [&](const std::function<void()> &work, unsigned count) {
    asked = count;
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < count; ++i)
      threads.emplace_back(work);
    for (std::thread &thread : threads)
      thread.join();
  };
  Buffers buffers(37);
  Status done = kernel.run(buffers.arguments, {}, execution);
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_EQ(asked, 3u);
  buffers.expectScaled(0.5f);
}

TEST(CpuKernel, AnExecutorMayUseFewerThreadsThanItIsAskedFor) {
  Execution execution{.threads = 5};
  execution.executor = [](const std::function<void()> &work, unsigned) { work(); };
  Buffers buffers(37);
  ASSERT_TRUE(scaleKernel().run(buffers.arguments, {}, execution));
  buffers.expectScaled(0.5f);
}

TEST(CpuKernel, AnExecutorThatDoesNotWorkIsAnError) {
  Execution execution{.threads = 2};
  execution.executor = [](const std::function<void()> &, unsigned) {};
  Buffers buffers(37);
  Status done = scaleKernel().run(buffers.arguments, {}, execution);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message(),
              testing::AllOf(HasSubstr("executor"), HasSubstr("222 of 222 pieces")));
}

TEST(CpuKernel, ScaleDefaultsToOneOverTheRootOfTheHeadDim) {
  Buffers buffers(3);
  ASSERT_TRUE(scaleKernel().run(buffers.arguments));
  buffers.expectScaled(0.5f);
}

TEST(CpuKernel, LaunchesFromSeveralThreadsShareThePool) {
  Kernel kernel = scaleKernel();
  std::vector<std::thread> hosts;
  std::atomic<int> right = 0;
  for (int host = 0; host < 8; ++host)
    hosts.emplace_back([&, host] {
      for (int round = 0; round < 20; ++round) {
        Buffers buffers(5 + host);
        buffers.arguments.scale = host + 1;
        if (!kernel.run(buffers.arguments, {}, {static_cast<unsigned>(1 + (host + round) % 4)}))
          return;
        for (size_t i = 0; i < buffers.query.size(); ++i)
          if (buffers.out[i] != buffers.query[i] * static_cast<float>(host + 1))
            return;
      }
      ++right;
    });
  for (std::thread &host : hosts)
    host.join();
  EXPECT_EQ(right, 8);
}

TEST(CpuKernel, OutlivesTheCompilerAndItsCopies) {
  std::optional<Kernel> first = scaleKernel();
  Kernel copy = *first;
  first.reset();
  Buffers buffers(2);
  ASSERT_TRUE(copy.run(buffers.arguments));
  buffers.expectScaled(0.5f);
}

#if defined(__x86_64__)
TEST(CpuKernel, HostsFloatingEnvironmentChangesNothingAndIsRestored) {
  Kernel kernel = scaleKernel();
  const float subnormal = std::numeric_limits<float>::denorm_min();
  for (unsigned threads : {1u, 3u}) {
    Buffers buffers(50);
    std::ranges::fill(buffers.query, 3 * subnormal);
    buffers.arguments.scale = 0.5;
    const unsigned before = _mm_getcsr();
    // Flush to zero, denormals are zero, round toward zero, sticky flags set.
    const unsigned hostile = before | 0x8040 | 0x6000 | 0x3f;
    _mm_setcsr(hostile);
    Status done = kernel.run(buffers.arguments, {}, {threads});
    const unsigned after = _mm_getcsr();
    _mm_setcsr(before);
    ASSERT_TRUE(done) << done.error().message();
    EXPECT_EQ(after, hostile);
    EXPECT_THAT(std::span(buffers.out).first(buffers.query.size()), Each(2 * subnormal));
  }
}
#endif

TEST(CpuKernel, LargeScratchDoesNotTouchTheCallersStack) {
  // 3 MiB of it, written from end to end by each item, on a host thread that has 256 KiB.
  Kernel kernel = scaleKernel(R"(
      %scratch = memref.alloca() : memref<786432xf32>
      %n = arith.constant 786432 : index
      %page = arith.constant 512 : index
      scf.for %j = %c0 to %n step %page {
        memref.store %scale, %scratch[%j] : memref<786432xf32>
      })");
  struct Host {
    Kernel &kernel;
    bool right = false;
  } host{kernel};
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, 256 << 10), 0);
  pthread_t thread;
  auto run = [](void *argument) -> void * {
    Host &host = *static_cast<Host *>(argument);
    host.right = true;
    for (unsigned threads : {1u, 2u}) {
      Buffers buffers(4);
      host.right =
          host.right && host.kernel.run(buffers.arguments, {}, {threads}) && buffers.out[5] == 2.5f;
    }
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, &host), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  EXPECT_TRUE(host.right);
}

TEST(CpuKernel, RunsInAForkedChild) {
  Kernel kernel = scaleKernel();
  Buffers buffers(9);
  ASSERT_TRUE(kernel.run(buffers.arguments, {}, {3}));
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    std::function<void()> nothing = [] {};
    _exit(kernel.run(buffers.arguments, {}, {3}) && WorkerPool::shared().runOnWorkers(nothing, 2)
              ? 0
              : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(CpuKernel, NothingIsRunWithoutQueries) {
  Kernel kernel = scaleKernel();
  Buffers buffers(3);
  for (std::array<int64_t, 3> sizes :
       {std::array<int64_t, 3>{0, 3, 3}, std::array<int64_t, 3>{2, 0, 3},
        std::array<int64_t, 3>{2, 3, 0}}) {
    Arguments arguments;
    arguments.query = TensorView(nullptr, DType::F32, {sizes[0], sizes[1], sizes[2], 4});
    arguments.out = TensorView(buffers.out.data(), DType::F32, {sizes[0], sizes[1], sizes[2], 4});
    Status done = kernel.run(arguments);
    EXPECT_TRUE(done) << done.error().message();
  }
  EXPECT_THAT(buffers.out, Each(Buffers::guard));
}

TEST(CpuKernel, NeedsNoWorkspace) {
  Kernel kernel = scaleKernel();
  EXPECT_EQ(*kernel.workspaceSize({1, 8, 2, 1000, 1000}), 0u);
  EXPECT_FALSE(kernel.workspaceSize({1, 8, 3, 1000, 1000}));
}

TEST(CpuKernel, RefusedLaunchWritesNothing) {
  Kernel kernel = scaleKernel();
  Buffers buffers(3);
  buffers.arguments.scale = std::numeric_limits<double>::infinity();
  Status done = kernel.run(buffers.arguments);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message(), HasSubstr("scale is inf"));
  EXPECT_THAT(buffers.out, Each(Buffers::guard));
}

TEST(CpuKernel, RefusesCodeForAnotherProcessor) {
  test::VectorModule module(scaleRows());
  Result<Signature> signature = extractSignature(*module);
  ASSERT_TRUE(signature);
  Result<CpuTarget> other = CpuTarget::named("neoverse-v1");
  other->isHost = false;
  Result<Kernel> kernel = makeCpuKernel(module.lower(), *other, *signature);
  ASSERT_FALSE(kernel);
  EXPECT_EQ(kernel.error().kind(), ErrorKind::Unsupported);
  EXPECT_THAT(kernel.error().message(), HasSubstr("neoverse-v1 cannot run on this machine"));
}

TEST(CpuKernel, NamesAFunctionThatIsNotThere) {
  Result<Kernel> kernel = test::makeKernel(R"(
    func.func private @missing()
    func.func @f_items() -> index {
      %c1 = arith.constant 1 : index
      return %c1 : index
    }
    func.func @f(%item: index) {
      call @missing() : () -> ()
      return
    })");
  ASSERT_FALSE(kernel);
  EXPECT_THAT(kernel.error().message(), HasSubstr("missing"));
}

TEST(CpuKernel, RefusesAFunctionThatCallsItself) {
  Result<Kernel> kernel = test::makeKernel(R"(
    func.func @f_items() -> index {
      %c1 = arith.constant 1 : index
      return %c1 : index
    }
    func.func @f(%item: index) {
      call @f(%item) : (index) -> ()
      return
    })");
  ASSERT_FALSE(kernel);
  EXPECT_THAT(kernel.error().message(), HasSubstr("@f is called by the code itself"));
}
