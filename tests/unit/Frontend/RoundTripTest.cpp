//===- RoundTripTest.cpp - Expressions through IR and back ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random expressions become IR and are read back, also after canonicalization;
// what is read must have the values of what was written.
//
//===----------------------------------------------------------------------===//

#include "tests/unit/Frontend/Testing.h"

#include "compiler/Pipelines/CpuPipeline.h"
#include "lib/Expression/Evaluate.h"
#include "lib/Support/MakeError.h"

#include <cmath>
#include <random>

using namespace tilewright;

namespace {

/// Writes well-typed expressions of small depth.
class Writer {
public:
  explicit Writer(uint32_t seed) : random(seed) {}

  std::string condition(int depth) {
    if (depth == 0)
      return pick({"k <= q", "flag[k]", "bits[k] != 0", "true", "q < window"});
    switch (random() % 7) {
    case 0:
      return fmt::format("({} {} {})", integer(depth - 1), comparison(), integer(depth - 1));
    case 1:
      return fmt::format("({} {} {})", real(depth - 1), comparison(), real(depth - 1));
    case 2:
      return fmt::format("({} && {})", condition(depth - 1), condition(depth - 1));
    case 3:
      return fmt::format("({} || {})", condition(depth - 1), condition(depth - 1));
    case 4:
      return fmt::format("!({})", condition(depth - 1));
    case 5:
      return fmt::format("(long[k] {} {})", comparison(), integer(depth - 1));
    default:
      return fmt::format("({} ? {} : {})", condition(depth - 1), condition(depth - 1),
                         condition(depth - 1));
    }
  }

  std::string integer(int depth) {
    if (depth == 0)
      return pick({"q", "k", "b", "h", "hkv", "q_len", "kv_len", "window", "bits[k]", "3", "-7",
                   "0", "2147483647"});
    switch (random() % 8) {
    case 0:
      return fmt::format("({} + {})", integer(depth - 1), integer(depth - 1));
    case 1:
      return fmt::format("({} - {})", integer(depth - 1), integer(depth - 1));
    case 2:
      return fmt::format("({} * {})", integer(depth - 1), integer(depth - 1));
    case 3:
      return fmt::format("({} // {})", integer(depth - 1), integer(depth - 1));
    case 4:
      return fmt::format("({} % {})", integer(depth - 1), integer(depth - 1));
    case 5:
      return fmt::format("{}({}, {})", pick({"min", "max"}), integer(depth - 1),
                         integer(depth - 1));
    case 6:
      return fmt::format("{}({})", pick({"abs", "-"}), integer(depth - 1));
    default:
      return fmt::format("({} ? {} : {})", condition(depth - 1), integer(depth - 1),
                         integer(depth - 1));
    }
  }

  std::string real(int depth) {
    if (depth == 0)
      return pick(
          {isScore ? "s" : "cap", "cap", "half[k]", "double[q]", "0.1", "-2.5", "0.0", "inf"});
    switch (random() % 8) {
    case 0:
      return fmt::format("({} + {})", real(depth - 1), real(depth - 1));
    case 1:
      return fmt::format("({} - {})", real(depth - 1), integer(depth - 1));
    case 2:
      return fmt::format("({} * {})", real(depth - 1), real(depth - 1));
    case 3:
      return fmt::format("({} / {})", real(depth - 1), real(depth - 1));
    case 4:
      return fmt::format("{}({}, {})", pick({"min", "max"}), real(depth - 1), real(depth - 1));
    case 5:
      return fmt::format("{}({})", pick({"exp", "log", "tanh", "sqrt", "floor", "abs", "-"}),
                         real(depth - 1));
    case 6:
      return fmt::format("real({})", integer(depth - 1));
    default:
      return fmt::format("({} ? {} : {})", condition(depth - 1), real(depth - 1), real(depth - 1));
    }
  }

  bool isScore = false;

private:
  std::string comparison() { return pick({"==", "!=", "<", "<=", ">", ">="}); }
  std::string pick(std::initializer_list<const char *> choices) {
    return choices.begin()[random() % choices.size()];
  }

  std::mt19937 random;
};

class RoundTrip : public FrontendTest {
protected:
  static constexpr int64_t length = 8;
  const expression::Sizes sizes = {
      .batch = 2, .heads = 4, .kvHeads = 2, .queryLength = length, .keyLength = length};

  Problem problem() {
    Problem problem;
    problem.dtype = DType::F64; // constants and arithmetic are then those of the evaluator
    problem.scalars = {{"window", ScalarType::I32}, {"cap", ScalarType::Real}};
    problem.tensors = {{"flag", DType::Bool, 1},
                       {"bits", DType::U8, 1},
                       {"long", DType::I64, 1},
                       {"half", DType::F16, 1},
                       {"double", DType::F64, 1}};
    return problem;
  }

  /// Values for the declarations of `problem()`. Read back, bool is u8.
  expression::Bindings bindings(bool isReadBack) {
    return {.scalars = {5, -0.75},
            .tensors = {TensorView(flags, isReadBack ? DType::U8 : DType::Bool, {length}),
                        TensorView(bits, DType::U8, {length}),
                        TensorView(longs, DType::I64, {length}),
                        TensorView(halves, DType::F16, {length}),
                        TensorView(doubles, DType::F64, {length})}};
  }

  std::vector<double> scores(const expression::Expression &expression, bool isReadBack) {
    const expression::Bindings bound = bindings(isReadBack);
    expression::Evaluator evaluator(expression, sizes, bound);
    std::vector<double> values;
    for (int64_t q = 0; q < length; ++q) {
      std::vector<double> row = {0.5, -3, 0, INFINITY, -INFINITY, NAN, 1e300, -1e-300};
      evaluator.score({.b = 1, .h = 3, .q = q}, 0, row);
      values.insert(values.end(), row.begin(), row.end());
    }
    return values;
  }

  std::vector<double> visible(const expression::Expression &expression, bool isReadBack) {
    const expression::Bindings bound = bindings(isReadBack);
    expression::Evaluator evaluator(expression, sizes, bound);
    std::vector<double> values;
    for (int64_t q = 0; q < length; ++q) {
      std::vector<uint8_t> row(length, 1);
      evaluator.mask({.b = 1, .h = 3, .q = q}, 0, row);
      values.insert(values.end(), row.begin(), row.end());
    }
    return values;
  }

  static void expectSame(const std::vector<double> &a, const std::vector<double> &b) {
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i)
      EXPECT_TRUE(a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])) ||
                  std::abs(a[i] - b[i]) <= 1e-13 * std::abs(a[i]))
          << "at " << i << ": " << a[i] << " and " << b[i];
  }

  /// Through text and back, as it is and after the passes that every problem goes through.
  void check(const Problem &problem, const std::string &passes) {
    const Result<ParsedProblem> before = parseProblem(problem);
    ASSERT_TRUE(before) << before.error().message();
    const auto module = parseModule(printModule(*buildProblem(*before, context)), context);
    ASSERT_TRUE(module) << module.error().message();
    const Status status = runPipeline(**module, passes);
    ASSERT_TRUE(status) << status.error().message();
    const Result<ParsedProblem> after = readProblem(**module);
    ASSERT_TRUE(after) << after.error().message();
    if (before->scores.empty()) {
      // A mask that keeps all is dropped.
      const std::vector<double> all(length * length, 1);
      expectSame(visible(before->masks.front(), false),
                 after->masks.empty() ? all : visible(after->masks.front(), true));
    } else if (!after->scores.empty()) {
      expectSame(scores(before->scores.front(), false), scores(after->scores.front(), true));
    }
  }

  uint8_t flags[length] = {0, 1, 1, 0, 1, 0, 0, 1};
  uint8_t bits[length] = {0, 1, 2, 127, 128, 200, 255, 0};
  int64_t longs[length] = {0, 1, -1, 5, int64_t{1} << 40, -(int64_t{1} << 40), 3, 7};
  uint16_t halves[length] = {0x3c00, 0xbc00, 0, 0x8000, 0x7c00, 0xfc00, 0x7e00, 0x0001};
  double doubles[length] = {0.1, -0.1, 1e300, 1e-300, 0, 3, -7, 2};
};
} // namespace

TEST_F(RoundTrip, MasksKeepTheirValues) {
  for (uint32_t seed = 0; seed < 300 && !HasFailure(); ++seed) {
    Problem p = problem();
    p.masks = {Writer(seed).condition(3)};
    SCOPED_TRACE(p.masks.front());
    check(p, "cse");
    check(p, "canonicalize,cse");
  }
}

TEST_F(RoundTrip, ScoresKeepTheirValues) {
  for (uint32_t seed = 0; seed < 300 && !HasFailure(); ++seed) {
    Problem p = problem();
    Writer writer(seed);
    writer.isScore = true;
    p.scores = {writer.real(3)};
    SCOPED_TRACE(p.scores.front());
    check(p, "cse");
    check(p, "canonicalize,cse");
  }
}

TEST_F(RoundTrip, WhatIsReadBuildsTheSameIR) {
  Problem p = problem();
  p.scores = {"cap * tanh(s / cap) + half[k] - abs(q - k)"};
  p.masks = {"k <= q && q - k < window && (bits[k] // 3 == 1 || long[k] == long[q])"};
  const std::string text = build(p);
  const auto module = parseModule(text, context);
  ASSERT_TRUE(module) << module.error().message();
  const Result<ParsedProblem> read = readProblem(**module);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(printModule(*buildProblem(*read, context)), text);
}
