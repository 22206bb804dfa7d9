//===- ScoreFunctionsTest.cpp - Functions of scores in compiled code ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With a single key a row's log-sum-exp is its score, so kernels show the values
// of the functions that expressions may use.
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/CPU/CpuTarget.h"

#include <tilewright/compiler.h>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace tilewright;

/// function(x) for each x, computed by a kernel: x is a bias, one for each batch.
template <typename Real>
static std::vector<Real> compute(const std::string &function, std::vector<Real> xs,
                                 const std::string &cpu) {
  constexpr DType dtype = sizeof(Real) == 8 ? DType::F64 : DType::F32;
  Problem problem;
  problem.headDim = 1;
  problem.dtype = dtype;
  problem.scores = {function + "(x[b])"};
  problem.tensors = {{"x", dtype, 1}};
  const Result<Compilation> compilation =
      compile(problem, {.target = "cpu", .cpu = cpu, .schedule = "block_q=1,block_kv=1"});
  EXPECT_TRUE(compilation) << compilation.error().message();
  const Result<Kernel> kernel = compilation->kernel();
  EXPECT_TRUE(kernel) << kernel.error().message();

  const int64_t count = xs.size();
  std::vector<Real> zeros(count), out(count), lse(count, -7);
  Arguments arguments;
  arguments.query = arguments.key = arguments.value =
      TensorView(zeros.data(), dtype, {count, 1, 1, 1});
  arguments.out = TensorView(out.data(), dtype, {count, 1, 1, 1});
  arguments.lse = TensorView(lse.data(), dtype, {count, 1, 1});
  arguments.tensors["x"] = TensorView(xs.data(), dtype, {count});
  const Result<size_t> bytes = kernel->workspaceSize(
      {.batch = count, .heads = 1, .kvHeads = 1, .queryLength = 1, .keyLength = 1});
  EXPECT_TRUE(bytes) << bytes.error().message();
  std::vector<std::byte> workspace(bytes ? *bytes : 0);
  const Status status = kernel->run(arguments, workspace, {.threads = 1});
  EXPECT_TRUE(status) << status.error().message();
  return lse;
}

/// The distance of neighbouring numbers at x.
template <typename Real> static long double unitInLastPlace(long double x) {
  using Limits = std::numeric_limits<Real>;
  const int exponent = x == 0 ? Limits::min_exponent - 1 : std::ilogb(std::abs(x));
  return std::ldexp(1.0L, std::max(exponent, Limits::min_exponent - 1) - (Limits::digits - 1));
}

/// Values of all sizes, their negatives, and those at the ends of ranges.
template <typename Real> static std::vector<Real> samples() {
  using Limits = std::numeric_limits<Real>;
  std::vector<Real> xs = {0, 1, Limits::infinity(), Limits::quiet_NaN()};
  for (Real least = Limits::denorm_min(); least < Limits::min(); least *= 3)
    xs.push_back(least);
  for (Real x = Limits::min(); x < Limits::max() / 2; x *= Real(1.37))
    xs.push_back(x);
  for (Real x : {88.7,  88.8,  87.3,  103.2, 104.1, 127.99,  128.0,  126.0,  149.0,  150.0,
                 709.7, 709.8, 708.3, 744.4, 745.2, 1023.99, 1024.0, 1022.0, 1074.0, 1075.0})
    xs.push_back(x);
  for (int i = 0; i < 4000; ++i)
    xs.push_back(Real(i) * Real(0.2775)), xs.push_back(Real(i) * Real(1e-4));
  xs.push_back(Limits::min());
  xs.push_back(Limits::max());
  for (size_t i = 0, count = xs.size(); i < count; ++i)
    xs.push_back(-xs[i]);
  return xs;
}

/// A row whose score is +inf is NaN, by the rules of docs/semantics.md.
template <typename Real>
static void expectValuesOf(const std::string &function, long double (*exact)(long double),
                           long double maxUnits, const std::string &cpu) {
  const std::vector<Real> xs = samples<Real>(), values = compute(function, xs, cpu);
  size_t shown = 0;
  for (size_t i = 0; i < xs.size() && shown < 5; ++i) {
    const long double wanted = exact(xs[i]);
    const auto rounded = static_cast<Real>(wanted);
    bool isRight = false;
    if (std::isnan(rounded) || (std::isinf(rounded) && rounded > 0)) {
      isRight = std::isnan(values[i]);
    } else if (std::isinf(rounded)) {
      isRight = values[i] == rounded;
    } else {
      const long double units = std::abs(values[i] - wanted) / unitInLastPlace<Real>(wanted);
      isRight = units <= maxUnits;
    }
    EXPECT_TRUE(isRight) << function << "(" << xs[i] << ") = " << values[i] << " and not "
                         << rounded;
    shown += !isRight;
  }
}

/// On every width of vectors that this machine has.
static void expectValues(const std::string &function, long double (*exact)(long double),
                         long double maxUnits) {
  for (const char *cpu : {"x86-64", "haswell", "skylake-avx512", ""}) {
    const Result<CpuTarget> target = *cpu ? CpuTarget::named(cpu) : CpuTarget::host();
    ASSERT_TRUE(target) << target.error().message();
    if (!target->isHost)
      continue;
    SCOPED_TRACE(cpu);
    expectValuesOf<float>(function, exact, maxUnits, cpu);
    expectValuesOf<double>(function, exact, maxUnits, cpu);
  }
}

// The exact results have their own rounding to half a unit.
TEST(ScoreFunctions, Exp) {
  expectValues("exp", std::exp, 1.5);
}
TEST(ScoreFunctions, Exp2) {
  expectValues("exp2", std::exp2, 1.5);
}
TEST(ScoreFunctions, Log) {
  expectValues("log", std::log, 1.5);
}
TEST(ScoreFunctions, Log2) {
  expectValues("log2", std::log2, 2);
}
TEST(ScoreFunctions, Tanh) {
  expectValues("tanh", std::tanh, 2);
}
TEST(ScoreFunctions, Sqrt) {
  expectValues("sqrt", std::sqrt, 0.5);
}
TEST(ScoreFunctions, Floor) {
  expectValues("floor", std::floor, 0);
}
TEST(ScoreFunctions, Abs) {
  expectValues("abs", std::fabs, 0);
}
