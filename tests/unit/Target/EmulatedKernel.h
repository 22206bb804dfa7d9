//===- EmulatedKernel.h - Generated kernels on the emulator -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_TESTS_UNIT_TARGET_EMULATEDKERNEL_H
#define TILEWRIGHT_TESTS_UNIT_TARGET_EMULATEDKERNEL_H

#include "compiler/Driver/CompilationAccess.h"
#include "compiler/Target/PTX/Assembler.h"
#include "lib/Reference/Compare.h"
#include "runtime/EmulatedKernel.h"
#include "tests/unit/SourceFile.h"
#include "tests/unit/Target/Attention.h"

#include <fstream>
#include <iostream>
#include <sstream>

namespace tilewright {

/// Where there is ptxas the kernel is assembled: nothing may be lost on the way. A failure fails
/// the test and gives an empty image.
inline KernelImage imageOf(const Result<Compilation> &compilation) {
  EXPECT_TRUE(compilation) << compilation.error().message();
  if (!compilation)
    return {};
  const bool hasPtxas = static_cast<bool>(ptx::findPtxas(""));
  Result<KernelImage> image = CompilationAccess::image(*compilation, hasPtxas);
  EXPECT_TRUE(image) << image.error().message();
  return image ? *std::move(image) : KernelImage();
}

inline KernelImage imageOf(const reference::Case &c, const test::Options &options = {}) {
  return imageOf(compile(test::describe(c.problem, options),
                         {.target = "sm_90a", .schedule = options.schedule}));
}

/// Of a program on the sm stage in tests/lit/SM/Inputs.
inline KernelImage imageOfFile(const std::string &name) {
  std::ifstream file(test::sourceFile("tests/lit/SM/Inputs/" + name));
  std::stringstream text;
  text << file.rdbuf();
  return imageOf(compileText(text.str(), Stage::SM, {.target = "sm_90a"}));
}

/// Runs the kernel under seeds 1 to `seeds` and compares each result with the reference.
inline void expectRight(const KernelImage &image, const reference::Case &c, uint64_t seeds) {
  if (image.launches.empty())
    return; // which has failed already
  Result<EmulatedKernel> kernel = EmulatedKernel::make(image);
  ASSERT_TRUE(kernel) << kernel.error().message();
  const reference::Problem &problem = c.problem;
  const int64_t batch = problem.q.shape[0], heads = problem.q.shape[1], rows = problem.q.shape[2];
  const DType outType = std::ranges::find(image.arguments, "out", &KernelArgument::name)->dtype;
  const reference::Output right = c.run(2);
  reference::Array out = reference::makeArray(outType, {batch, heads, rows, problem.v.shape[3]},
                                              reference::constant(NAN));
  reference::Array lse =
      reference::makeArray(DType::F32, {batch, heads, rows}, reference::constant(NAN));
  Arguments arguments = test::captured(problem);
  arguments.query = problem.q;
  arguments.key = problem.k;
  arguments.value = problem.v;
  arguments.out = out.view;
  arguments.lse = lse.view;
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    emulator::CommandOptions options;
    options.firstSeed = seed;
    Result<emulator::Report> report = kernel->run(arguments, options, std::cin, std::cout);
    ASSERT_TRUE(report) << report.error().message();
    ASSERT_TRUE(report->findings.empty()) << emulator::toText(report->findings.front());
    Result<reference::Comparison> comparison =
        reference::compare(problem, right, out.view, lse.view, 2);
    ASSERT_TRUE(comparison) << comparison.error().message();
    ASSERT_TRUE(comparison->passed) << "seed " << seed << ": " << comparison->describe();
  }
}

} // namespace tilewright

#endif // TILEWRIGHT_TESTS_UNIT_TARGET_EMULATEDKERNEL_H
