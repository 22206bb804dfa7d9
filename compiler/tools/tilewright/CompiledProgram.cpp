//===- CompiledProgram.cpp - What a command works on ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/tilewright/CompiledProgram.h"

#include "compiler/tools/tilewright/TextFile.h"
#include "lib/Support/MakeError.h"
#include "runtime/GpuKernel.h"

#include <algorithm>

using namespace tilewright;
using namespace tilewright::tool;

/// Larger files are no kernel images.
static constexpr uint64_t maxImageBytes = uint64_t{1} << 30;

static bool isImage(const ProblemOptions &options) {
  return options.file && options.file->ends_with(".twk");
}

/// An image is compiled already, so that what the compiler is told comes too late.
static Status checkOptionsOfImage(const Options &options) {
  const ProblemOptions &problem = options.problem;
  const std::pair<bool, std::string_view> late[] = {
      {problem.from.has_value(), "--from"},
      {problem.headDim.has_value(), "--head-dim"},
      {problem.dtype.has_value(), "--dtype"},
      {problem.outDType.has_value(), "--out-dtype"},
      {!problem.functions.empty(), "--mask, --score or --preset"},
      {options.target.has_value(), "--target"},
      {!options.compile.cpu.empty(), "--cpu"},
      {!options.compile.schedule.empty(), "--schedule"},
      {!options.compile.tuning.empty(), "--tuning"},
      {!options.compile.ptxas.empty(), "--ptxas"}};
  for (const auto &[given, name] : late)
    if (given)
      return invalidArgument("the kernel is compiled already; leave out {}", name);
  return {};
}

static Result<KernelImage> readImage(const std::string &path) {
  Result<std::string> bytes = readTextFile(path, maxImageBytes);
  if (!bytes)
    return bytes.error();
  Result<KernelImage> image = decodeImage(std::as_bytes(std::span(*bytes)));
  if (!image)
    return image.error().within(path);
  return image;
}

/// The compilation that an image came from, begun anew.
static Result<Compilation> recompile(const KernelImage &image) {
  const std::optional<Stage> stage = parseStage(image.stage);
  if (!stage)
    return invalidArgument("the image began at the unknown stage '{}'", image.stage);
  return compileText(image.source, *stage, {.target = image.target, .schedule = image.schedule});
}

/// That the kernel takes what options give values to.
static Status checkTaken(const ProblemOptions &options,
                         const std::vector<KernelArgument> &arguments) {
  const auto takes = [&arguments](std::string_view name, bool isTensor) {
    const auto found = std::ranges::find(arguments, name, &KernelArgument::name);
    return found != arguments.end() && (found->kind == KernelArgument::Kind::Tensor) == isTensor;
  };
  for (const NamedOption &scalar : options.scalars)
    if (!takes(scalar.name, false))
      return invalidArgument("--scalar {}: the kernel takes no such scalar", scalar.name);
  for (const NamedOption &tensor : options.tensors)
    if (!takes(tensor.name, true))
      return invalidArgument("--tensor {}: the kernel takes no such tensor", tensor.name);
  return {};
}

Result<CompiledProgram> CompiledProgram::load(const Options &options) {
  std::optional<KernelImage> image;
  if (isImage(options.problem)) {
    if (Status checked = checkOptionsOfImage(options); !checked)
      return checked.error().within(*options.problem.file);
    Result<KernelImage> read = readImage(*options.problem.file);
    if (!read)
      return read.error();
    image = *std::move(read);
  }
  Result<ProblemInput> input = readProblem(options.problem);
  if (!input)
    return input.error();
  Result<Compilation> compilation = image ? recompile(*image) : compileInput(options, *input);
  if (!compilation)
    return image ? compilation.error().within(*options.problem.file) : compilation.error();

  CompiledProgram program(*std::move(compilation));
  program.given = *std::move(input);
  program.file = options.problem.file.value_or("");
  program.targetName = image ? image->target : options.compile.target;
  program.first = image ? *parseStage(image->stage) : options.problem.from.value_or(Stage::Attn);
  Result<Signature> signature =
      image ? Signature{.function = image->launches.front().kernel, .arguments = image->arguments}
            : CompilationAccess::signature(program.compilation);
  if (!signature)
    return program.located(signature.error());
  Result<KernelFacts> facts = readKernelFacts(*signature);
  if (!facts)
    return program.located(facts.error());
  if (Status checked = checkTaken(options.problem, signature->arguments); !checked)
    return program.located(checked.error());
  program.known = *facts;
  program.loaded = std::move(image);
  return program;
}

Error CompiledProgram::located(const Error &error) const {
  return file.empty() ? error : error.within(file);
}

Result<std::string> CompiledProgram::text(Stage stage) const {
  Result<std::string> text = compilation.text(stage);
  if (!text)
    return located(text.error());
  return text;
}

const ParsedProblem *CompiledProgram::compiledProblem() const {
  return CompilationAccess::problem(compilation);
}

std::optional<TuningSubject> CompiledProgram::tuningSubject() const {
  return CompilationAccess::tuningSubject(compilation);
}

Result<ParsedProblem> CompiledProgram::problem() const {
  if (const ParsedProblem *compiled = compiledProblem())
    return *compiled;
  if (!given.problem)
    return invalidArgument("--check below attn needs the problem too, since a program does not say "
                           "what it is to compute: add --head-dim, --mask and so on");
  Result<ParsedProblem> stated = parseProblem(*given.problem);
  if (!stated)
    return stated;
  if (stated->headDim != known.headDim || stated->valueDim != known.valueDim)
    return invalidArgument("--head-dim is {},{}, but the program's are {},{}", stated->headDim,
                           stated->valueDim, known.headDim, known.valueDim);
  if (stated->dtype != known.dtype || stated->outDType != known.outDType)
    return invalidArgument("--dtype is {} and --out-dtype {}, but the program has {} and {}",
                           nameOf(stated->dtype), nameOf(stated->outDType), nameOf(known.dtype),
                           nameOf(known.outDType));
  return stated;
}

Result<KernelImage> CompiledProgram::image(bool assembled) const {
  if (loaded)
    return *loaded;
  Result<KernelImage> image = CompilationAccess::image(compilation, assembled);
  if (!image)
    return located(image.error());
  return image;
}

Result<Kernel> CompiledProgram::kernel() const {
  if (loaded)
    return makeGpuKernel(*loaded);
  Result<Kernel> kernel = compilation.kernel();
  if (!kernel)
    return located(kernel.error());
  return kernel;
}
