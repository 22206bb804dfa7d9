//===- Attention.h - Compiled attention beside the reference ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each case of the reference's tests can be compiled and run. Inputs end at a page
// that cannot be read, gaps between strided rows hold NaN, outputs are NaN before
// the launch and have guard words behind them.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_TESTS_UNIT_TARGET_ATTENTION_H
#define TILEWRIGHT_TESTS_UNIT_TARGET_ATTENTION_H

#include "lib/Reference/Compare.h"
#include "tests/unit/Reference/Testing.h"

#include <tilewright/compiler.h>

#include <cstring>
#include <map>
#include <memory>
#include <regex>

#include <sys/mman.h>

namespace tilewright::test {

/// Zeroed memory of which the byte behind the last is not accessible.
class GuardedBytes {
public:
  explicit GuardedBytes(size_t size) {
    constexpr size_t page = 4096;
    const size_t used = (size + page - 1) / page * page;
    length = used + page;
    base = static_cast<std::byte *>(
        mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    EXPECT_NE(base, MAP_FAILED);
    EXPECT_EQ(mprotect(base + used, page, PROT_NONE), 0);
    first = base + used - size;
  }
  ~GuardedBytes() { munmap(base, length); }
  GuardedBytes(const GuardedBytes &) = delete;
  GuardedBytes &operator=(const GuardedBytes &) = delete;

  std::byte *data() const { return first; }

private:
  std::byte *base = nullptr, *first = nullptr;
  size_t length = 0;
};

/// How tensors lie in memory.
enum class Layout {
  Dense, // [b, h, t, d]
  BTHD,  // [b, t, h, d]
  Gaps,  // three elements of NaN between rows
};

/// `view` with the strides of a layout and no data; LSE, of rank 3, is always dense.
inline TensorView laidOut(TensorView view, Layout layout) {
  view.data = nullptr;
  TensorView result(nullptr, view.dtype, view.sizes());
  if (view.rank != 4)
    return result;
  if (layout == Layout::BTHD) {
    std::swap(view.shape[1], view.shape[2]);
    result = TensorView(nullptr, view.dtype, view.sizes()).transposed(1, 2);
  } else if (layout == Layout::Gaps) {
    view.shape[3] += 3;
    result.strides = TensorView(nullptr, view.dtype, view.sizes()).strides;
  }
  return result;
}

/// The number of elements from the first to the last.
inline size_t extentInMemory(const TensorView &view) {
  size_t extent = 1;
  for (size_t i = 0; i < view.rank; ++i) {
    if (view.shape[i] == 0)
      return 0;
    extent += static_cast<size_t>((view.shape[i] - 1) * view.strides[i]);
  }
  return extent;
}

/// Calls `visit(index)` with the offset in elements of each element in row-major order.
template <typename Visit> void forEachOffset(const TensorView &view, const Visit &visit) {
  std::array<int64_t, TensorView::maxRank> index{};
  const int64_t count = *view.elementCount();
  for (int64_t i = 0; i < count; ++i) {
    int64_t offset = 0;
    for (size_t d = 0; d < view.rank; ++d)
      offset += index[d] * view.strides[d];
    visit(offset);
    for (size_t d = view.rank; d-- > 0;) {
      if (++index[d] < view.shape[d])
        break;
      index[d] = 0;
    }
  }
}

inline std::vector<double> valuesOf(const TensorView &view) {
  std::vector<double> values;
  forEachOffset(
      view, [&](int64_t offset) { values.push_back(loadAsDouble(view.data, view.dtype, offset)); });
  return values;
}

/// A copy of a tensor in another layout, NaN in its gaps.
class GuardedTensor {
public:
  GuardedTensor(const TensorView &source, Layout layout)
      : view(laidOut(source, layout)),
        bytes(std::make_unique<GuardedBytes>(extentInMemory(view) * sizeOf(view.dtype))) {
    view.data = bytes->data();
    if (isFloat(view.dtype))
      for (size_t i = 0; i < extentInMemory(view); ++i)
        storeFromDouble(view.data, view.dtype, static_cast<int64_t>(i), NAN);
    const std::vector<double> values = valuesOf(source);
    size_t next = 0;
    forEachOffset(view, [&](int64_t offset) {
      if (isFloat(view.dtype))
        storeFromDouble(view.data, view.dtype, offset, values[next++]);
      else if (sizeOf(view.dtype) == 1)
        static_cast<uint8_t *>(view.data)[offset] = static_cast<uint8_t>(values[next++]);
      else
        static_cast<int32_t *>(view.data)[offset] = static_cast<int32_t>(values[next++]);
    });
  }

  TensorView view;

private:
  std::unique_ptr<GuardedBytes> bytes;
};

/// An output full of NaN with guard words behind it.
class Output {
public:
  Output(DType dtype, std::vector<int64_t> shape, Layout layout)
      : view(laidOut(TensorView(nullptr, dtype, shape), layout)),
        used(extentInMemory(view) * sizeOf(dtype)), bytes(used + guards) {
    std::memset(bytes.data(), 0xFF, used); // NaN in every dtype
    std::memset(bytes.data() + used, 0x5A, guards);
    view.data = bytes.data();
  }

  void expectGuardsIntact() const {
    for (size_t i = used; i < bytes.size(); ++i)
      ASSERT_EQ(bytes[i], 0x5A) << "byte " << i - used << " behind the output";
  }

  TensorView view;

private:
  static constexpr size_t guards = 256;
  size_t used;
  std::vector<uint8_t> bytes;
};

/// What a run of a kernel gave.
struct Ran {
  std::vector<double> o, lse;
};

struct Options {
  std::string schedule = {};
  std::string cpu = {};
  std::optional<DType> outDType = {};
  unsigned threads = 2;
  Layout layout = Layout::Dense;
};

inline tilewright::Problem describe(const reference::Problem &problem, const Options &options) {
  tilewright::Problem described;
  described.headDim = problem.q.shape[3];
  described.valueDim = problem.v.shape[3];
  described.dtype = problem.q.dtype;
  described.outDType = options.outDType;
  for (const expression::Expression &score : problem.scores)
    described.scores.push_back(score.text());
  for (const expression::Expression &mask : problem.masks)
    described.masks.push_back(mask.text());
  for (const expression::Scalar &scalar : problem.declarations.scalars())
    described.scalars.push_back(
        {scalar.name, scalar.type == expression::Type::I32 ? ScalarType::I32 : ScalarType::Real});
  for (const expression::Tensor &tensor : problem.declarations.tensors())
    described.tensors.push_back({tensor.name, tensor.dtype, tensor.rank});
  return described;
}

inline Result<Kernel> compileKernel(const reference::Problem &problem,
                                    const Options &options = {}) {
  Result<Compilation> compilation =
      compile(describe(problem, options), {"cpu", options.cpu, options.schedule});
  if (!compilation)
    return compilation.error();
  return compilation->kernel();
}

/// The arguments of a launch but for its tensors of rank 4 and 3.
inline Arguments captured(const reference::Problem &problem) {
  Arguments arguments;
  arguments.scale = problem.scale;
  for (size_t i = 0; i < problem.bindings.scalars.size(); ++i)
    arguments.scalars[problem.declarations.scalars()[i].name] = problem.bindings.scalars[i];
  for (size_t i = 0; i < problem.bindings.tensors.size(); ++i)
    arguments.tensors[problem.declarations.tensors()[i].name] = problem.bindings.tensors[i];
  return arguments;
}

/// Runs a kernel on a problem's tensors, copied into `options.layout`.
inline Ran launch(const Kernel &kernel, const reference::Problem &problem,
                  const Options &options = {}) {
  const GuardedTensor q(problem.q, options.layout), k(problem.k, options.layout),
      v(problem.v, options.layout);
  const int64_t batch = problem.q.shape[0], heads = problem.q.shape[1],
                queries = problem.q.shape[2];
  Output o(options.outDType.value_or(problem.q.dtype), {batch, heads, queries, problem.v.shape[3]},
           options.layout);
  Output lse(problem.q.dtype == DType::F64 ? DType::F64 : DType::F32, {batch, heads, queries},
             options.layout);
  Arguments arguments = captured(problem);
  arguments.query = q.view;
  arguments.key = k.view;
  arguments.value = v.view;
  arguments.out = o.view;
  arguments.lse = lse.view;
  const Result<size_t> workspaceSize =
      kernel.workspaceSize({batch, heads, problem.k.shape[1], queries, problem.k.shape[2]});
  EXPECT_TRUE(workspaceSize) << workspaceSize.error().message();
  // Whatever a launch finds there and in the bytes behind stays out of its results.
  std::vector<std::byte> workspace(*workspaceSize + 64, std::byte{0xFF});
  Status done =
      kernel.run(arguments, std::span(workspace).first(*workspaceSize), {options.threads});
  for (size_t i = *workspaceSize; i < workspace.size(); ++i)
    EXPECT_EQ(workspace[i], std::byte{0xFF}) << "byte " << i << " of the workspace and behind";
  EXPECT_TRUE(done) << done.error().message();
  o.expectGuardsIntact();
  lse.expectGuardsIntact();
  return {valuesOf(o.view), valuesOf(lse.view)};
}

inline Ran run(const reference::Case &aCase, const Options &options = {}) {
  Result<Kernel> kernel = compileKernel(aCase.problem, options);
  if (!kernel) {
    ADD_FAILURE() << kernel.error().message();
    return {};
  }
  return launch(*kernel, aCase.problem, options);
}

/// A tile program that says twice the output: the accumulator is doubled behind softmax_finalize.
inline std::string withDoubledOutput(const std::string &tileProgram) {
  static const std::regex finalize(
      R"((%\w+)(, %\w+ = tile\.softmax_finalize .* : (tensor<[0-9x]+f[0-9]+>)))");
  EXPECT_TRUE(std::regex_search(tileProgram, finalize)) << tileProgram;
  return std::regex_replace(tileProgram, finalize, "%half$2\n$1 = arith.addf %half, %half : $3");
}

inline void expectSameBits(const Ran &a, const Ran &b) {
  const auto same = [](const std::vector<double> &x, const std::vector<double> &y) {
    return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(double)) == 0;
  };
  EXPECT_TRUE(same(a.o, b.o));
  EXPECT_TRUE(same(a.lse, b.lse));
}

/// Holds a result of the dtype that `options` ask for against the reference, within the limits of
/// Compare.h.
inline void expectRight(const reference::Case &aCase, const Ran &ran, const Options &options,
                        std::vector<int64_t> rows) {
  const reference::Problem &problem = aCase.problem;
  const int64_t batch = problem.q.shape[0], heads = problem.q.shape[1],
                queries = problem.q.shape[2];
  const auto valuesIn = [](const std::vector<double> &values) {
    return [&values](int64_t i) { return values.at(static_cast<size_t>(i)); };
  };
  const reference::Array o =
      reference::makeArray(options.outDType.value_or(problem.q.dtype),
                           {batch, heads, queries, problem.v.shape[3]}, valuesIn(ran.o));
  const reference::Array lse =
      reference::makeArray(DType::F64, {batch, heads, queries}, valuesIn(ran.lse));
  Result<reference::Output> right = reference::forward(problem, std::move(rows), 2);
  ASSERT_TRUE(right) << right.error().message();
  Result<reference::Comparison> comparison =
      reference::compare(problem, *right, o.view, lse.view, 2);
  ASSERT_TRUE(comparison) << comparison.error().message();
  EXPECT_TRUE(comparison->passed) << comparison->describe();
}

/// Every layout and number of threads gives the same bits, and they are right.
inline Ran expectRight(const Result<Kernel> &kernel, const reference::Case &aCase,
                       const Options &options = {}) {
  if (!kernel) {
    ADD_FAILURE() << kernel.error().message();
    return {};
  }
  Options variant = options;
  variant.threads = 1;
  const Ran ran = launch(*kernel, aCase.problem, variant);
  variant.threads = 5;
  for (const Layout layout : {Layout::BTHD, Layout::Gaps}) {
    variant.layout = layout;
    expectSameBits(ran, launch(*kernel, aCase.problem, variant));
  }
  expectRight(aCase, ran, options, reference::rowsToCheck(aCase.problem.q.shape[2]));
  return ran;
}

/// Of a kernel compiled for the case.
inline Ran expectRight(const reference::Case &aCase, const Options &options = {}) {
  return expectRight(compileKernel(aCase.problem, options), aCase, options);
}

} // namespace tilewright::test

#endif // TILEWRIGHT_TESTS_UNIT_TARGET_ATTENTION_H
