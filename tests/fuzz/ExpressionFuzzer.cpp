//===- ExpressionFuzzer.cpp - Any text is an expression or an error -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What parses must print to text that parses to the same print, keep its integers
// within the intervals that bounds give them, and read no element out of bounds.
//
//===----------------------------------------------------------------------===//

#include "lib/Expression/Bounds.h"
#include "lib/Expression/Evaluate.h"
#include "lib/Expression/Parse.h"

#include <array>
#include <cstdlib>

using namespace tilewright;
using namespace tilewright::expression;

static constexpr int64_t extent = 6;
static constexpr Sizes sizes = {
    .batch = 1, .heads = 2, .kvHeads = 1, .queryLength = 4, .keyLength = extent};

static void require(bool condition) {
  if (!condition)
    abort();
}

/// Names of one character, so that the fuzzer finds them.
static const Declarations &declarations() {
  static const Declarations names = [] {
    Declarations declared;
    bool good = true;
    for (auto [name, dtype] :
         {std::pair("f", DType::F32), std::pair("g", DType::BF16), std::pair("i", DType::I32),
          std::pair("j", DType::I64), std::pair("u", DType::U8), std::pair("t", DType::Bool)})
      good &= static_cast<bool>(declared.addTensor(name, dtype, 1));
    good &= static_cast<bool>(declared.addTensor("m", DType::I32, 2));
    good &= static_cast<bool>(declared.addScalar("w", Type::I32));
    good &= static_cast<bool>(declared.addScalar("x", Type::Real));
    require(good);
    return declared;
  }();
  return names;
}

/// Each tensor is a heap block of exactly its elements, so that one element past the end is seen.
static const Bindings &bindings() {
  static std::vector<std::vector<uint8_t>> blocks;
  static const Bindings bound = [] {
    Bindings values;
    for (const Tensor &tensor : declarations().tensors()) {
      const std::array<int64_t, 2> shape = {extent, 3};
      TensorView view(nullptr, tensor.dtype, std::span(shape).first(tensor.rank));
      const size_t count = static_cast<size_t>(*view.elementCount());
      std::vector<uint8_t> &block = blocks.emplace_back(count * sizeOf(tensor.dtype));
      for (size_t i = 0; i < block.size(); ++i)
        block[i] = static_cast<uint8_t>(tensor.dtype == DType::Bool ? i % 2 : i * 37);
      view.data = block.data();
      values.tensors.push_back(view);
    }
    values.scalars = {-3, 0.5};
    return values;
  }();
  return bound;
}

static void checkRoundTrip(const Expression &expression, Role role) {
  const std::string text = toString(expression, declarations());
  // Conversions that are spelled out make text longer and deeper.
  if (text.size() >= maxTextLength)
    return;
  Result<Expression> again = parse(text, declarations(), role);
  if (!again && again.error().message().find("nested deeper") != std::string::npos)
    return;
  require(static_cast<bool>(again));
  require(toString(*again, declarations()) == text);
  require(again->nodes().size() == expression.nodes().size());
}

/// The result, and an i32 that was converted to the result, are within their intervals.
static void checkValues(const Expression &expression, Role role, const Bounds &bounds) {
  Evaluator evaluator(expression, sizes, bindings());
  for (int64_t q = 0; q < sizes.queryLength; ++q) {
    std::array<double, extent> scores = {0, 1, -2, 3.5, 1e30, -0.0};
    std::array<uint8_t, extent> visible = {1, 1, 1, 1, 1, 1};
    if (role == Role::Score)
      evaluator.score({0, 1, q}, 0, scores);
    else
      evaluator.mask({0, 1, q}, 0, visible);
    for (size_t k = 0; k < extent && role == Role::Mask; ++k) {
      const Interval interval = bounds.intervals[expression.root()];
      require(interval.low <= visible[k] && visible[k] <= interval.high);
    }
    const Node &root = expression[expression.root()];
    for (size_t k = 0; k < extent && root.kind == Kind::ToReal; ++k) {
      const Interval interval = bounds.intervals[expression.operands(root)[0]];
      require(static_cast<double>(interval.low) <= scores[k] &&
              scores[k] <= static_cast<double>(interval.high));
    }
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string_view text(reinterpret_cast<const char *>(data), size);
  for (Role role : {Role::Mask, Role::Score}) {
    Result<Expression> expression = parse(text, declarations(), role);
    if (!expression) {
      require(expression.error().message().size() < 1000);
      continue;
    }
    checkRoundTrip(*expression, role);
    Result<Bounds> bounds = checkBounds(*expression, declarations(), sizes, bindings());
    if (bounds)
      checkValues(*expression, role, *bounds);
    else
      require(bounds.error().message().size() < 1000);
  }
  return 0;
}
