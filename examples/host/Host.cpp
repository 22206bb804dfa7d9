//===- Host.cpp - A program that makes and runs an attention kernel -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Describes a mask, compiles a kernel for it, runs the kernel on this program's own tensors and
// checks one row by hand.
//
//   host           runs the kernel
//   host STAGE     prints a stage of the compilation: attn, tile, vector, llvm, asm
//
//===----------------------------------------------------------------------===//

#include <tilewright/tilewright.h>

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <numeric>

using namespace tilewright;

// Heads 0 and 1 share the first key head, heads 2 and 3 the second.
constexpr int64_t heads = 4, keyHeads = 2, length = 100, headDim = 40;

/// Numbers in [-1, 1] that look random.
static std::vector<float> fill(int64_t tensorHeads, float frequency) {
  std::vector<float> values(tensorHeads * length * headDim);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = std::sin(frequency * static_cast<float>(i));
  return values;
}

/// The largest difference between one row of the output and softmax(q k^T / sqrt(d)) v.
static double errorOfRow(int64_t head, int64_t query, const float *q, const float *k,
                         const float *v, const float *out) {
  const int64_t keyHead = head * keyHeads / heads;
  const float *queryRow = q + (head * length + query) * headDim;
  std::vector<double> sum(headDim);
  double total = 0;
  for (int64_t key = 0; key < length; ++key) {
    if (key > query || (query - key >= 16 && key % 8 != 0)) // the mask, in C++
      continue;
    const int64_t row = (keyHead * length + key) * headDim;
    const double weight = std::exp(std::inner_product(queryRow, queryRow + headDim, k + row, 0.0) /
                                   std::sqrt(static_cast<double>(headDim)));
    total += weight;
    for (int64_t column = 0; column < headDim; ++column)
      sum[column] += weight * v[row + column];
  }
  double error = 0;
  for (int64_t column = 0; column < headDim; ++column)
    error = std::max(
        error, std::abs(sum[column] / total - out[(head * length + query) * headDim + column]));
  return error;
}

/// What this program does with errors. A larger one would hand them on.
static int fail(const Error &error) {
  std::cerr << "error: " << error.message() << '\n';
  return EXIT_FAILURE;
}

int main(int argc, char **argv) {
  // A causal window, and every stride-th key before it.
  Problem problem;
  problem.headDim = headDim;
  problem.lse = false;
  problem.masks = {"k <= q && (q - k < window || k % stride == 0)"};
  problem.scalars = {{"window", ScalarType::I32}, {"stride", ScalarType::I32}};

  Result<Compilation> compilation = compile(problem);
  if (!compilation)
    return fail(compilation.error());

  if (argc > 1) {
    const std::optional<Stage> stage = parseStage(argv[1]);
    if (!stage)
      return fail(Error(ErrorKind::InvalidArgument, "no such stage: " + std::string(argv[1])));
    Result<std::string> text = compilation->text(*stage);
    if (!text)
      return fail(text.error());
    std::cout << *text;
    return EXIT_SUCCESS;
  }

  Result<Kernel> kernel = compilation->kernel();
  if (!kernel)
    return fail(kernel.error());

  std::vector<float> q = fill(heads, 0.37f), k = fill(keyHeads, 0.73f), v = fill(keyHeads, 1.1f);
  std::vector<float> out(q.size());
  Arguments arguments;
  arguments.query = TensorView(q.data(), DType::F32, {1, heads, length, headDim});
  arguments.key = TensorView(k.data(), DType::F32, {1, keyHeads, length, headDim});
  arguments.value = TensorView(v.data(), DType::F32, {1, keyHeads, length, headDim});
  arguments.out = TensorView(out.data(), DType::F32, {1, heads, length, headDim});
  arguments.scalars = {{"window", 16}, {"stride", 8}};

  Result<size_t> bytes = kernel->workspaceSize({1, heads, keyHeads, length, length});
  if (!bytes)
    return fail(bytes.error());
  std::vector<std::byte> workspace(*bytes);
  if (Status done = kernel->run(arguments, workspace); !done)
    return fail(done.error());

  const double error = errorOfRow(3, 77, q.data(), k.data(), v.data(), out.data());
  std::cout << "schedule " << compilation->schedule() << ", error of row 77 of head 3: " << error
            << '\n';
  return error < 1e-5 ? EXIT_SUCCESS : EXIT_FAILURE;
}
