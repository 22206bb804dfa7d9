//===- ScoreFunctionsTest.cpp - Functions of scores in compiled code ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With a single key a row's log-sum-exp is its score, so kernels show the values
// of the functions that expressions may use.
//
//===----------------------------------------------------------------------===//

#include <tilewright/compiler.h>

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>

using namespace tilewright;

static constexpr float infinity = INFINITY, notANumber = NAN;

/// function(x) for each x, computed by a kernel: x is a bias, one for each batch.
static std::vector<float> compute(const std::string &function, std::vector<float> xs) {
  Problem problem;
  problem.headDim = 1;
  problem.scores = {function + "(x[b])"};
  problem.tensors = {{"x", DType::F32, 1}};
  const Result<Compilation> compilation =
      compile(problem, {.target = "cpu", .cpu = "", .schedule = "block_q=1,block_kv=1"});
  EXPECT_TRUE(compilation) << compilation.error().message();
  const Result<Kernel> kernel = compilation->kernel();
  EXPECT_TRUE(kernel) << kernel.error().message();

  const int64_t count = xs.size();
  std::vector<float> zeros(count), out(count), lse(count, -7);
  Arguments arguments;
  arguments.query = arguments.key = arguments.value =
      TensorView(zeros.data(), DType::F32, {count, 1, 1, 1});
  arguments.out = TensorView(out.data(), DType::F32, {count, 1, 1, 1});
  arguments.lse = TensorView(lse.data(), DType::F32, {count, 1, 1});
  arguments.tensors["x"] = TensorView(xs.data(), DType::F32, {count});
  const Result<size_t> bytes = kernel->workspaceSize(
      {.batch = count, .heads = 1, .kvHeads = 1, .queryLength = 1, .keyLength = 1});
  EXPECT_TRUE(bytes) << bytes.error().message();
  std::vector<std::byte> workspace(bytes ? *bytes : 0);
  const Status status = kernel->run(arguments, workspace, {.threads = 1});
  EXPECT_TRUE(status) << status.error().message();
  return lse;
}

/// A row whose score is +inf is NaN, by the rules of docs/semantics.md.
static void expectValues(const std::string &function, double (*exact)(double),
                         std::vector<float> xs, double relativeError) {
  const std::vector<float> values = compute(function, xs);
  for (size_t i = 0; i < xs.size(); ++i) {
    const auto rounded = static_cast<float>(exact(xs[i]));
    if (std::isnan(rounded) || rounded == infinity)
      EXPECT_TRUE(std::isnan(values[i])) << function << "(" << xs[i] << ") = " << values[i];
    else if (std::isinf(rounded))
      EXPECT_EQ(values[i], rounded) << function << "(" << xs[i] << ")";
    else
      EXPECT_NEAR(values[i], rounded, std::max(relativeError * std::abs(rounded), 1e-44))
          << function << "(" << xs[i] << ")";
  }
}

/// Values of all sizes, their negatives, and those at the ends of ranges.
static std::vector<float> samples() {
  std::vector<float> xs = {0.0f,     -0.0f,   infinity, -infinity, notANumber, FLT_MIN, FLT_MAX,
                           -FLT_MAX, 1e-40f,  -1e-40f,  1.0f,      88.7f,      88.8f,   -87.3f,
                           -103.0f,  -104.0f, 127.99f,  128.0f,    -126.0f,    -149.0f, -150.0f};
  for (float x = 1e-6f; x < 1e6f; x *= 1.37f) {
    xs.push_back(x);
    xs.push_back(-x);
  }
  return xs;
}

TEST(ScoreFunctions, Exp) {
  expectValues("exp", std::exp, samples(), 4e-7);
}
TEST(ScoreFunctions, Exp2) {
  expectValues("exp2", std::exp2, samples(), 4e-7);
}
TEST(ScoreFunctions, Log) {
  expectValues("log", std::log, samples(), 4e-7);
}
TEST(ScoreFunctions, Log2) {
  expectValues("log2", std::log2, samples(), 4e-7);
}
TEST(ScoreFunctions, Tanh) {
  expectValues("tanh", std::tanh, samples(), 4e-7);
}
TEST(ScoreFunctions, Sqrt) {
  expectValues("sqrt", std::sqrt, samples(), 0);
}
TEST(ScoreFunctions, Floor) {
  expectValues("floor", std::floor, samples(), 0);
}
TEST(ScoreFunctions, Abs) {
  expectValues("abs", std::fabs, samples(), 0);
}
