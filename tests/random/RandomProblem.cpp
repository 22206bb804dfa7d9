//===- RandomProblem.cpp - A problem with everything drawn ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/random/RandomProblem.h"

#include "lib/Expression/Parse.h"
#include "lib/Reference/Compare.h"
#include "lib/Reference/Reference.h"
#include "lib/Support/Half.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>

using namespace tilewright;
using namespace tilewright::random_test;

namespace {

constexpr std::byte guard{0xab};
constexpr size_t guardBytes = 64;

/// A strided tensor in memory of its own, with guard bytes at both ends.
struct Buffer {
  std::vector<std::byte> bytes;
  TensorView view;

  /// [b, h, t, d] with `padding` elements behind each row.
  static Buffer make(DType dtype, int64_t b, int64_t h, int64_t t, int64_t d,
                     const RandomProblem &problem) {
    const int64_t row = d + problem.padding;
    const int64_t strideH = problem.positionsFirst ? row : row * t;
    const int64_t strideT = problem.positionsFirst ? row * h : row;
    Buffer buffer;
    const size_t count = static_cast<size_t>(b * h * t * row);
    buffer.bytes.assign(count * sizeOf(dtype) + 2 * guardBytes, guard);
    const int64_t shape[] = {b, h, t, d}, strides[] = {h * t * row, strideH, strideT, 1};
    buffer.view = TensorView(buffer.bytes.data() + guardBytes, dtype, shape, strides);
    return buffer;
  }

  /// Bytes that belong to no element are as they were.
  bool guardsAreIntact() const {
    std::vector<bool> owned(bytes.size());
    const size_t size = sizeOf(view.dtype);
    forEach([&](int64_t offset) {
      for (size_t i = 0; i < size; ++i)
        owned[guardBytes + static_cast<size_t>(offset) * size + i] = true;
    });
    for (size_t i = 0; i < bytes.size(); ++i)
      if (!owned[i] && bytes[i] != guard)
        return false;
    return true;
  }

  template <typename Visit> void forEach(Visit visit) const {
    const auto &s = view.strides;
    for (int64_t b = 0; b < view.shape[0]; ++b)
      for (int64_t h = 0; h < view.shape[1]; ++h)
        for (int64_t t = 0; t < view.shape[2]; ++t)
          for (int64_t d = 0; d < view.shape[3]; ++d)
            visit(b * s[0] + h * s[1] + t * s[2] + d * s[3]);
  }

  void fill(std::mt19937_64 &random) {
    std::normal_distribution<double> normal;
    forEach(
        [&](int64_t offset) { storeFromDouble(view.data, view.dtype, offset, normal(random)); });
  }

  void poison() {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    forEach([&](int64_t offset) { storeFromDouble(view.data, view.dtype, offset, nan); });
  }
};

template <typename T> T choose(std::mt19937_64 &random, std::initializer_list<T> values) {
  return values.begin()[random() % values.size()];
}

} // namespace

RandomProblem RandomProblem::draw(std::mt19937_64 &random) {
  RandomProblem p;
  p.seed = random();
  auto upTo = [&](int64_t limit) { return 1 + static_cast<int64_t>(random() % limit); };
  p.batch = upTo(2);
  p.kvHeads = upTo(3);
  p.group = upTo(3);
  p.queryLength = choose<int64_t>(random, {1, 2, 7, 24, 25, 48, upTo(40), upTo(120)});
  p.keyLength = choose<int64_t>(random, {0, 1, 5, p.queryLength, 96, 97, upTo(60), upTo(250)});
  p.headDim = choose<int64_t>(random, {1, 8, 11, 16, 24, 32, 40, 64, upTo(72)});
  p.valueDim = choose<int64_t>(random, {p.headDim, p.headDim, 1, 5, 13, 32, upTo(72)});
  p.dtype =
      choose(random, {DType::F32, DType::F32, DType::F32, DType::F64, DType::BF16, DType::F16});
  p.wideOutput = random() % 4 == 0;
  if (random() % 2) {
    p.blockQ = choose<int64_t>(random, {1, 3, 7, 8, 16, 24, 32, 40, upTo(70)});
    p.blockKV = choose<int64_t>(random, {1, 4, 13, 32, 64, 96, upTo(130)});
  }
  p.positionsFirst = random() % 3 == 0;
  p.expandKeys = random() % 6 == 0;
  p.padding = choose<int64_t>(random, {0, 0, 1, 3, 8});
  p.scale = choose(random, {1 / std::sqrt(static_cast<double>(p.headDim)), 1.0, 0.0, -0.25, 0.1});
  p.scalarX = static_cast<double>(random() % 2001) / 1000 - 1;
  p.scalarN = upTo(40);
  p.threads = choose(random, {1u, 1u, 2u, 3u});
  if (random() % 4)
    p.mask = randomMask(random, static_cast<int>(random() % 4));
  if (random() % 2)
    p.score = randomScore(random, static_cast<int>(random() % 4));
  return p;
}

std::vector<RandomProblem> RandomProblem::simpler() const {
  std::vector<RandomProblem> result;
  auto with = [&](auto change) {
    RandomProblem candidate = *this;
    change(candidate);
    if (candidate.describe() != describe())
      result.push_back(std::move(candidate));
  };
  with([](RandomProblem &p) { p.mask.reset(); });
  with([](RandomProblem &p) { p.score.reset(); });
  with([](RandomProblem &p) { p.batch = 1; });
  with([](RandomProblem &p) { p.group = 1; });
  with([](RandomProblem &p) { p.kvHeads = 1; });
  with([](RandomProblem &p) { p.threads = 1; });
  with([](RandomProblem &p) { p.padding = 0; });
  with([](RandomProblem &p) { p.positionsFirst = p.expandKeys = p.wideOutput = false; });
  with([](RandomProblem &p) { p.blockQ = p.blockKV = 0; });
  with([](RandomProblem &p) { p.scale = 1; });
  with([](RandomProblem &p) { p.dtype = DType::F32; });
  for (int64_t RandomProblem::*extent : {&RandomProblem::queryLength, &RandomProblem::keyLength,
                                         &RandomProblem::headDim, &RandomProblem::valueDim}) {
    with([&](RandomProblem &p) { p.*extent = (p.*extent + 1) / 2; });
    with([&](RandomProblem &p) { p.*extent = std::max<int64_t>(1, p.*extent - 1); });
  }
  for (std::optional<RandomExpression> RandomProblem::*part :
       {&RandomProblem::mask, &RandomProblem::score})
    if (const std::optional<RandomExpression> &expression = this->*part)
      for (RandomExpression &candidate : expression->simpler())
        with([&](RandomProblem &p) { p.*part = std::move(candidate); });
  return result;
}

std::string RandomProblem::describe() const {
  std::string text = fmt::format(
      "seed {} {} b={} hq={} hkv={} tq={} tk={} d={} dv={} block_q={} block_kv={} scale={} x={} "
      "n={} threads={} padding={}{}{}{}",
      seed, nameOf(dtype), batch, kvHeads * group, kvHeads, queryLength, keyLength, headDim,
      valueDim, blockQ, blockKV, scale, scalarX, scalarN, threads, padding,
      positionsFirst ? " bthd" : "", expandKeys ? " expanded" : "", wideOutput ? " f32-out" : "");
  if (mask)
    text += "\n  mask  " + mask->text();
  if (score)
    text += "\n  score " + score->text();
  return text;
}

RandomProblem::Outcome RandomProblem::check(std::string &why) const {
  std::mt19937_64 random(seed);
  const int64_t heads = kvHeads * group;
  const DType outDType = wideOutput && sizeOf(dtype) == 2 ? DType::F32 : dtype;
  const DType real = dtype == DType::F64 ? DType::F64 : DType::F32;

  Buffer q = Buffer::make(dtype, batch, heads, queryLength, headDim, *this);
  Buffer k = Buffer::make(dtype, batch, kvHeads, keyLength, headDim, *this);
  Buffer v = Buffer::make(dtype, batch, kvHeads, keyLength, valueDim, *this);
  Buffer o = Buffer::make(outDType, batch, heads, queryLength, valueDim, *this);
  Buffer lse = Buffer::make(real, batch, heads, queryLength, 1, RandomProblem());
  for (Buffer *input : {&q, &k, &v})
    input->fill(random);
  o.poison();
  lse.poison();
  if (expandKeys)
    k.view.strides[1] = v.view.strides[1] = 0;
  TensorView lseRows = lse.view;
  lseRows.rank = 3;

  std::vector<float> slope(heads), table(64);
  std::vector<uint8_t> keep(std::max<int64_t>(1, queryLength * keyLength));
  std::vector<int32_t> ids(std::max<int64_t>(1, keyLength));
  for (float &value : slope)
    value = static_cast<float>(random() % 1000) / 1000;
  for (float &value : table)
    value = static_cast<float>(random() % 4000) / 1000 - 2;
  for (uint8_t &value : keep)
    value = random() % 4 != 0;
  for (int32_t &value : ids)
    value = static_cast<int32_t>(random() % 3);
  const std::vector<std::pair<std::string, TensorView>> tensors = {
      {"slope", TensorView(slope.data(), DType::F32, {heads})},
      {"table", TensorView(table.data(), DType::F32, {64})},
      {"keep", TensorView(keep.data(), DType::Bool, {queryLength, keyLength})},
      {"ids", TensorView(ids.data(), DType::I32, {keyLength})}};

  Problem problem;
  problem.headDim = headDim;
  problem.valueDim = valueDim;
  problem.dtype = dtype;
  problem.outDType = outDType;
  problem.scalars = {{"n", ScalarType::I32}, {"x", ScalarType::Real}};
  if (mask)
    problem.masks = {mask->text()};
  if (score)
    problem.scores = {score->text()};
  reference::Problem right;
  right.q = q.view;
  right.k = k.view;
  right.v = v.view;
  auto failed = [&](const Error &error) {
    why = error.message();
    return Outcome::Fails;
  };
  for (const auto &[name, type] :
       {std::pair{"n", expression::Type::I32}, {"x", expression::Type::Real}})
    (void)right.declarations.addScalar(name, type);
  // A scalar of an f32 problem is an f32.
  const double x = real == DType::F64 ? scalarX : static_cast<float>(scalarX);
  right.scale = real == DType::F64 ? scale : static_cast<float>(scale);
  right.bindings.scalars = {static_cast<double>(scalarN), x};
  Arguments arguments;
  arguments.query = q.view;
  arguments.key = k.view;
  arguments.value = v.view;
  arguments.out = o.view;
  arguments.lse = lseRows;
  arguments.scale = scale;
  arguments.scalars = {{"n", static_cast<double>(scalarN)}, {"x", scalarX}};
  for (const auto &[name, view] : tensors) {
    problem.tensors.push_back({name, view.dtype, view.rank});
    (void)right.declarations.addTensor(name, view.dtype, view.rank);
    right.bindings.tensors.push_back(view);
    arguments.tensors[name] = view;
  }
  for (const auto &[text, role, list] :
       {std::tuple{&problem.masks, expression::Role::Mask, &right.masks},
        std::tuple{&problem.scores, expression::Role::Score, &right.scores}})
    for (const std::string &source : *text) {
      Result<expression::Expression> parsed = expression::parse(source, right.declarations, role);
      if (!parsed)
        return failed(parsed.error());
      list->push_back(std::move(*parsed));
    }

  CompileOptions options;
  if (blockQ)
    options.schedule = fmt::format("block_q={},block_kv={}", blockQ, blockKV);
  Result<Compilation> compilation = compile(problem, options);
  if (!compilation)
    return failed(compilation.error());
  Result<Kernel> kernel = compilation->kernel();
  if (!kernel)
    return failed(kernel.error());
  const Result<size_t> workspaceSize =
      kernel->workspaceSize({batch, heads, kvHeads, queryLength, keyLength});
  if (!workspaceSize)
    return failed(workspaceSize.error());
  std::vector<std::byte> workspace(*workspaceSize, std::byte{0xFF});
  const Status done = kernel->run(arguments, workspace, {.threads = threads});
  Result<reference::Output> expected =
      reference::forward(right, reference::allRows(queryLength), 1);
  if (!done || !expected) {
    if (!done && !expected && done.error().kind() == ErrorKind::InvalidArgument)
      return Outcome::Refused;
    return failed(!done ? done.error() : expected.error());
  }
  Result<reference::Comparison> comparison =
      reference::compare(right, *expected, o.view, lseRows, 1);
  if (!comparison)
    return failed(comparison.error());
  // The limits of a comparison are for problems large enough that errors average out; a tiny one
  // is a single draw.
  const bool isClose = comparison->o.misplaced == 0 && comparison->lse.misplaced == 0 &&
                       comparison->o.maxAbs <= 8 * comparison->maxAbsLimit &&
                       comparison->lseExcess <= 1;
  if (!isClose) {
    why = comparison->describe();
    return Outcome::Fails;
  }
  for (const auto &[name, buffer] : {std::pair<const char *, const Buffer *>{"query", &q},
                                     {"key", &k},
                                     {"value", &v},
                                     {"out", &o},
                                     {"lse", &lse}}) {
    if (!expandKeys && !buffer->guardsAreIntact()) {
      why = fmt::format("bytes beside the elements of {} were written", name);
      return Outcome::Fails;
    }
  }
  return Outcome::Agrees;
}
