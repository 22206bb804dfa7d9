//===- RunTensors.cpp - The tensors that a run reads and writes -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/tilewright/RunTensors.h"

#include "compiler/TensorFile/TensorFile.h"
#include "compiler/TensorFile/WriteTensors.h"
#include "compiler/tools/tilewright/RandomTensor.h"
#include "lib/Expression/Declarations.h"
#include "lib/Expression/Spelling.h"
#include "lib/Support/MakeError.h"

#include <cstring>

using namespace tilewright;
using namespace tilewright::tool;

static bool isNpy(const Options &options) {
  return options.output->ends_with(".npy");
}

Status tool::checkRunOptions(const Options &options) {
  const int files = options.query.has_value() + options.key.has_value() + options.value.has_value();
  if (options.random && files > 0)
    return invalidArgument("--random and files for --q, --k and --v exclude each other");
  if (!options.random && files == 0)
    return invalidArgument("there is nothing to run on: give --q, --k and --v, or --random "
                           "B,Hq,Hkv,Tq,Tk");
  if (!options.random && files < 3)
    return invalidArgument("{} is missing; --q, --k and --v are given together",
                           !options.query ? "--q"
                           : !options.key ? "--k"
                                          : "--v");
  if (options.output && !isNpy(options) && !options.output->ends_with(".safetensors"))
    return invalidArgument("-o is '{}'; the file's name must end in .safetensors or .npy",
                           expression::printable(*options.output, 80));
  return {};
}

/// The view as [b, h, t, d], whichever order the file has.
static TensorView inOrder(const TensorView &view, Layout layout) {
  return layout == Layout::BHTD ? view : view.transposed(1, 2);
}

static Result<TensorView> loadInput(const std::string &option, const std::string &file,
                                    Layout layout, RunTensors &tensors) {
  Result<OwnedTensor> tensor = loadTensor(file);
  if (!tensor)
    return tensor.error().within(option);
  const TensorView view = tensor->view();
  if (view.rank != 4)
    return invalidArgument("{} is {}; it must have rank 4: [{}]", option, view.describe(),
                           layout == Layout::BHTD ? "batch, heads, length, width"
                                                  : "batch, length, heads, width");
  if (view.shape[3] > 1 && view.strides[3] != 1) // which only this order of files can do
    return invalidArgument(
        "{} is in Fortran order, and kernels read rows of the width without gaps: "
        "save numpy.ascontiguousarray() of it",
        option);
  tensors.storage.push_back(*std::move(tensor));
  return inOrder(view, layout);
}

static Status loadInputs(const Options &options, RunTensors &tensors) {
  struct Input {
    const char *option;
    const std::string &file;
    TensorView &view;
  };
  for (const Input &input :
       {Input{"--q", *options.query, tensors.query}, Input{"--k", *options.key, tensors.key},
        Input{"--v", *options.value, tensors.value}}) {
    Result<TensorView> view = loadInput(input.option, input.file, options.layout, tensors);
    if (!view)
      return view.error();
    input.view = *view;
  }
  tensors.sizes = {.batch = tensors.query.shape[0],
                   .heads = tensors.query.shape[1],
                   .kvHeads = tensors.key.shape[1],
                   .queryLength = tensors.query.shape[2],
                   .keyLength = tensors.key.shape[2]};
  return {};
}

/// That all tensors together fit, before the first of them is filled: memory that was reserved but
/// not yet written counts as free.
static Status checkMemory(const ProblemSizes &s, const KernelFacts &facts) {
  const double queryRows = double(s.batch) * double(s.heads) * double(s.queryLength);
  const double keyRows = double(s.batch) * double(s.kvHeads) * double(s.keyLength);
  const double bytes =
      (queryRows + keyRows) * double(facts.headDim) * double(sizeOf(facts.dtype)) +
      keyRows * double(facts.valueDim) * double(sizeOf(facts.dtype)) +
      queryRows * (double(facts.valueDim) * double(sizeOf(facts.outDType)) + (facts.lse ? 8 : 0));
  if (bytes > 0x1p60)
    return systemError("the tensors take {:.3g} bytes", bytes);
  Result<OwnedTensor> all =
      OwnedTensor::allocate(TensorView(nullptr, DType::U8, {static_cast<int64_t>(bytes)}));
  return all ? Status() : all.error().within("all tensors together");
}

static Status makeInputs(const Options &options, const KernelFacts &facts, RunTensors &tensors) {
  const ProblemSizes &s = tensors.sizes = *options.random;
  if (Status checked =
          expression::checkSizes({s.batch, s.heads, s.kvHeads, s.queryLength, s.keyLength});
      !checked)
    return checked.error().within("--random");
  if (Status checked = checkMemory(s, facts); !checked)
    return checked.error().within("--random");
  struct Input {
    std::array<int64_t, 4> shape;
    TensorView &view;
  };
  uint64_t stream = 0;
  for (const Input &input :
       {Input{{s.batch, s.heads, s.queryLength, facts.headDim}, tensors.query},
        Input{{s.batch, s.kvHeads, s.keyLength, facts.headDim}, tensors.key},
        Input{{s.batch, s.kvHeads, s.keyLength, facts.valueDim}, tensors.value}}) {
    Result<OwnedTensor> tensor = randomTensor(facts.dtype, input.shape, options.seed, stream++);
    if (!tensor)
      return tensor.error().within("--random");
    input.view = tensor->view();
    tensors.storage.push_back(*std::move(tensor));
  }
  return {};
}

/// All bits set are a NaN in every floating type. The view has no gaps.
static void fillWithNaN(const TensorView &view) {
  int64_t count = 1;
  for (size_t i = 0; i < view.rank; ++i)
    count *= view.shape[i];
  if (count > 0)
    std::memset(view.data, 0xff, static_cast<size_t>(count) * sizeOf(view.dtype));
}

static Result<TensorView> allocateOutput(DType dtype, std::span<const int64_t> shape,
                                         RunTensors &tensors) {
  Result<OwnedTensor> tensor = OwnedTensor::allocate(TensorView(nullptr, dtype, shape));
  if (!tensor)
    return tensor.error().within("the output");
  const TensorView view = tensor->view();
  fillWithNaN(view);
  tensors.storage.push_back(*std::move(tensor));
  return view;
}

Result<RunTensors> tool::makeRunTensors(const Options &options, const KernelFacts &facts) {
  if (options.output && isNpy(options) && facts.outDType == DType::BF16)
    return unsupported("-o: .npy cannot hold bf16; write .safetensors, or choose --out-dtype f32");
  RunTensors tensors;
  Status made = options.random ? makeInputs(options, facts, tensors) : loadInputs(options, tensors);
  if (!made)
    return made.error();
  const ProblemSizes &s = tensors.sizes;
  std::array<int64_t, 4> shape = {s.batch, s.heads, s.queryLength, facts.valueDim};
  if (options.layout == Layout::BTHD)
    std::swap(shape[1], shape[2]);
  Result<TensorView> out = allocateOutput(facts.outDType, shape, tensors);
  if (!out)
    return out.error();
  tensors.out = inOrder(*out, options.layout);
  if (!facts.lse)
    return tensors;
  const std::array<int64_t, 3> rows = {s.batch, s.heads, s.queryLength};
  Result<TensorView> lse =
      allocateOutput(facts.dtype == DType::F64 ? DType::F64 : DType::F32, rows, tensors);
  if (!lse)
    return lse.error();
  tensors.lse = *lse;
  return tensors;
}

void tool::clearOutputs(const RunTensors &tensors) {
  fillWithNaN(tensors.out);
  if (tensors.lse)
    fillWithNaN(*tensors.lse);
}

Status tool::writeOutputs(const Options &options, const RunTensors &tensors) {
  const TensorView o = inOrder(tensors.out, options.layout);
  if (isNpy(options))
    return writeNpy(*options.output, o);
  std::vector<NamedTensor> named = {{"o", o}};
  if (tensors.lse)
    named.push_back({"lse", *tensors.lse});
  return writeSafetensors(*options.output, named);
}
