//===- ConcurrentTest.cpp - Compiling and launching from many threads -----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Built with -DTILEWRIGHT_SANITIZE=thread these tests look for data races; without
// it they look at values.
//
//===----------------------------------------------------------------------===//

#include "tests/unit/Target/Attention.h"

#include <latch>
#include <thread>

using namespace tilewright;
using namespace tilewright::test;
using reference::Case;
using reference::noise;

namespace {
constexpr size_t threadCount = 16;

/// Runs `body(i)` for 0 to 15 in a thread each, all of them let go at the same time.
template <typename Body> void inManyThreads(const Body &body) {
  std::latch start(threadCount);
  std::vector<std::jthread> threads;
  for (size_t i = 0; i < threadCount; ++i)
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      body(i);
    });
}

/// Attention with a mask of its own for each of five numbers, on data of its own for each seed.
Case problemOf(size_t number, uint32_t seed = 1) {
  constexpr const char *masks[] = {"true", "k <= q", "q - k < 9 && k <= q", "k % 2 == q % 2",
                                   "k <= q || k < 5"};
  Case result({.queries = 21, .keys = 37, .d = 16, .dv = 24, .heads = 4, .kvHeads = 2},
              noise(3 * seed), noise(3 * seed + 1), noise(3 * seed + 2));
  result.mask(masks[number]);
  return result;
}
} // namespace

TEST(Concurrent, CompilationsOfEqualAndDifferentProblemsAreRight) {
  inManyThreads([](size_t i) {
    const Case problem = problemOf(i % 5);
    const Options options = {.threads = 2};
    expectRight(problem, run(problem, options), options, reference::allRows(21));
  });
}

TEST(Concurrent, OneCompilationIsAskedByAllThreads) {
  const Case problem = problemOf(1);
  const Result<Compilation> compilation = compile(describe(problem.problem, {}));
  ASSERT_TRUE(compilation) << compilation.error().message();
  std::array<std::string, threadCount> texts;
  std::array<Ran, threadCount> results;
  inManyThreads([&](size_t i) {
    constexpr Stage stages[] = {Stage::LLVM, Stage::Tile};
    const Result<std::string> text = compilation->text(stages[i % 2]);
    ASSERT_TRUE(text) << text.error().message();
    texts[i] = *text;
    EXPECT_FALSE(compilation->schedule().empty());
    const Result<Kernel> kernel = compilation->kernel();
    ASSERT_TRUE(kernel) << kernel.error().message();
    results[i] = launch(*kernel, problem.problem);
  });
  for (size_t i = 0; i < threadCount; ++i) {
    EXPECT_EQ(texts[i], texts[i % 2]) << i;
    expectSameBits(results[i], results[0]);
  }
  expectRight(problem, results[0], {}, reference::allRows(21));
}

TEST(Concurrent, LaunchesOfSharedKernelsAreRight) {
  std::vector<Result<Kernel>> kernels;
  for (size_t number = 0; number < 5; ++number)
    kernels.push_back(compileKernel(problemOf(number).problem));
  for (const Result<Kernel> &kernel : kernels)
    ASSERT_TRUE(kernel) << kernel.error().message();
  inManyThreads([&](size_t i) {
    for (size_t round = 0; round < 10; ++round) {
      const size_t number = (i + round) % 5;
      const Case problem = problemOf(number, static_cast<uint32_t>(i + 1));
      const Options options = {.threads = static_cast<unsigned>(1 + round % 4)};
      expectRight(problem, launch(*kernels[number], problem.problem, options), options,
                  reference::allRows(21));
    }
  });
}

TEST(Concurrent, CompilingDoesNotDisturbLaunches) {
  const Result<Kernel> shared = compileKernel(problemOf(2).problem);
  ASSERT_TRUE(shared) << shared.error().message();
  inManyThreads([&](size_t i) {
    const Case problem = i % 2 ? problemOf(i % 5) : problemOf(2, static_cast<uint32_t>(i + 1));
    const Ran ran = i % 2 ? run(problem) : launch(*shared, problem.problem);
    expectRight(problem, ran, {}, reference::allRows(21));
  });
}
