//===- CInterface.cpp - Compiling for the C interface ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/CInterface.h"

#include "lib/Support/MakeError.h"

#include <tilewright/compiler.h>

using namespace tilewright;

static Result<DType> toDType(tilewright_dtype dtype, std::string_view field) {
  if (static_cast<unsigned>(dtype) > TILEWRIGHT_BOOL)
    return invalidArgument("{} is {}; dtypes are 0 to {}", field, static_cast<int>(dtype),
                           static_cast<int>(TILEWRIGHT_BOOL));
  return static_cast<DType>(dtype);
}

/// Of a list in a problem: a count that is none is refused before memory is read.
constexpr size_t maxEntries = 4096;

/// Calls `take` with each of `count` entries and stops at the first error.
template <typename T, typename Take>
static Status forEach(const T *entries, size_t count, std::string_view field, Take take) {
  if (!entries && count != 0)
    return invalidArgument("{} is NULL, and there are said to be {} of them", field, count);
  if (count > maxEntries)
    return invalidArgument("{} has {} entries; the limit is {}", field, count, maxEntries);
  for (const T &entry : std::span(entries, count))
    if (Status taken = take(entry); !taken)
      return taken;
  return {};
}

static Result<std::string> toText(const char *text, std::string_view what) {
  if (!text)
    return invalidArgument("{} is NULL", what);
  return std::string(text);
}

static Status copyTexts(const char *const *from, size_t count, std::string_view field,
                        std::vector<std::string> &to) {
  return forEach(from, count, field, [&](const char *text) -> Status {
    Result<std::string> copied = toText(text, fmt::format("an entry of {}", field));
    if (!copied)
      return copied.error();
    to.push_back(*std::move(copied));
    return {};
  });
}

static Result<Problem> toProblem(const tilewright_problem &from) {
  Problem problem;
  problem.headDim = from.head_dim;
  problem.valueDim = from.value_dim;
  Result<DType> dtype = toDType(from.dtype, "dtype"), out = toDType(from.out_dtype, "out_dtype");
  for (const Result<DType> *each : {&dtype, &out})
    if (!*each)
      return each->error();
  problem.dtype = *dtype;
  problem.outDType = *out;
  problem.lse = from.lse;
  if (Status copied = copyTexts(from.scores, from.score_count, "scores", problem.scores); !copied)
    return copied.error();
  if (Status copied = copyTexts(from.masks, from.mask_count, "masks", problem.masks); !copied)
    return copied.error();
  const auto addScalar = [&](const tilewright_scalar_declaration &scalar) -> Status {
    Result<std::string> name = toText(scalar.name, "the name of a scalar");
    if (!name)
      return name.error();
    problem.scalars.push_back(
        {*std::move(name), scalar.is_real ? ScalarType::Real : ScalarType::I32});
    return {};
  };
  if (Status added = forEach(from.scalars, from.scalar_count, "scalars", addScalar); !added)
    return added.error();
  const auto addTensor = [&](const tilewright_tensor_declaration &tensor) -> Status {
    Result<std::string> name = toText(tensor.name, "the name of a tensor");
    if (!name)
      return name.error();
    Result<DType> dtype = toDType(tensor.dtype, fmt::format("the dtype of tensor '{}'", *name));
    if (!dtype)
      return dtype.error();
    problem.tensors.push_back({*std::move(name), *dtype, tensor.rank});
    return {};
  };
  if (Status added = forEach(from.tensors, from.tensor_count, "tensors", addTensor); !added)
    return added.error();
  return problem;
}

static Result<Kernel> compileKernel(const tilewright_problem &from,
                                    const tilewright_compile_options &choices) {
  Result<Problem> problem = toProblem(from);
  if (!problem)
    return problem.error();
  CompileOptions options;
  if (choices.target)
    options.target = choices.target;
  if (choices.cpu)
    options.cpu = choices.cpu;
  if (choices.schedule)
    options.schedule = choices.schedule;
  Result<Compilation> compilation = compile(*problem, options);
  if (!compilation)
    return compilation.error();
  return compilation->kernel();
}

extern "C" TILEWRIGHT_EXPORT void
tilewright_compile_for_c_1(const tilewright_problem *problem,
                           const tilewright_compile_options *options, Result<Kernel> *kernel) {
  *kernel = compileKernel(*problem, *options);
}
