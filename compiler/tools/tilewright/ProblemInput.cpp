//===- ProblemInput.cpp - From options to a problem and its values --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/tilewright/ProblemInput.h"

#include "compiler/Driver/CompilationAccess.h"
#include "compiler/TensorFile/TensorFile.h"
#include "compiler/tools/tilewright/TextFile.h"
#include "lib/Expression/Parse.h"
#include "lib/Expression/Spelling.h"
#include "lib/Support/MakeError.h"

#include <algorithm>

using namespace tilewright;
using namespace tilewright::tool;

namespace {

/// Collects the declarations and values of all options, in the order that needs no look ahead:
/// what the user declares, then presets and what they need, then expressions.
class Reader {
public:
  explicit Reader(const ProblemOptions &options) : options(options) {}

  Result<ProblemInput> read();

private:
  Status readDimensions();
  Status readPresets();
  Status readScalars();
  Status readTensors();
  Status readFunctions();

  Status addScalar(std::string_view name, expression::Number number, const std::string &option);
  Status addTensor(const std::string &name, DType dtype, size_t rank, const std::string &option);

  const ProblemOptions &options;
  ProblemInput input;
  Problem problem;
  expression::Declarations declarations;
  /// The preset of each --preset, in their order.
  std::vector<const expression::Preset *> presets;
  /// The types that presets want their scalars to have.
  std::map<std::string_view, const expression::PresetScalar *> presetScalars;
};

} // namespace

/// "--scalar window", for messages.
static std::string spell(std::string_view option, const NamedOption &named) {
  return fmt::format("{} {}", option, expression::printable(named.name, 40));
}

/// The dtype and rank of a declaration "f32[?,?]"; nothing if `text` is the name of a file, which
/// does not end in a bracket. Refused: brackets with anything else in them.
static Result<std::optional<TensorDeclaration>> parseDeclaration(std::string_view text) {
  const size_t bracket = text.find('[');
  if (bracket == std::string_view::npos || !text.ends_with("]") ||
      text.find('/') != std::string_view::npos)
    return std::optional<TensorDeclaration>();
  const std::string_view name = text.substr(0, bracket);
  const std::optional<DType> dtype = parseDType(name);
  if (!dtype)
    return invalidArgument("'{}' is no dtype; a declaration is f32[?,?], and a file of that name "
                           "./{}",
                           expression::printable(name, 40), expression::printable(text, 40));
  const std::string_view dims = text.substr(bracket + 1, text.size() - bracket - 2);
  // "?" and then ",?" for each further dimension.
  bool wellFormed = dims.size() % 2 == 1;
  for (size_t i = 0; i < dims.size() && wellFormed; ++i)
    wellFormed = dims[i] == (i % 2 == 0 ? '?' : ',');
  if (!wellFormed)
    return invalidArgument("'{}' is no rank; a declaration has a question mark for each dimension: "
                           "{}[?,?]",
                           expression::printable(dims, 40), nameOf(*dtype));
  return std::optional(TensorDeclaration{"", *dtype, (dims.size() + 1) / 2});
}

Status Reader::addScalar(std::string_view name, expression::Number number,
                         const std::string &option) {
  if (auto wanted = presetScalars.find(name); wanted != presetScalars.end()) {
    if (wanted->second->type == expression::Type::I32 && number.type != expression::Type::I32)
      return invalidArgument("{}: '{}' is an i32, so it must be a number without a decimal point",
                             option, name);
    number.type = wanted->second->type;
  }
  if (Result<uint32_t> added = declarations.addScalar(name, number.type); !added)
    return added.error().within(option);
  const bool isInteger = number.type == expression::Type::I32;
  problem.scalars.push_back({std::string(name), isInteger ? ScalarType::I32 : ScalarType::Real});
  input.scalars.emplace(name, number.value);
  return {};
}

Status Reader::addTensor(const std::string &name, DType dtype, size_t rank,
                         const std::string &option) {
  if (Result<uint32_t> added = declarations.addTensor(name, dtype, rank); !added)
    return added.error().within(option);
  problem.tensors.push_back({name, dtype, rank});
  return {};
}

Status Reader::readDimensions() {
  if (!options.headDim)
    return invalidArgument("--head-dim is missing: a problem is a file of IR, or --head-dim D with "
                           "expressions");
  problem.headDim = *options.headDim;
  problem.valueDim = options.valueDim;
  problem.dtype = options.dtype.value_or(DType::F32);
  problem.outDType = options.outDType;
  const DType real = problem.dtype == DType::F64 ? DType::F64 : DType::F32;
  if (problem.outDType && *problem.outDType != problem.dtype && *problem.outDType != real)
    return invalidArgument("--out-dtype is {}; with --dtype {} it must be {}",
                           nameOf(*problem.outDType), nameOf(problem.dtype),
                           problem.dtype == real
                               ? std::string(nameOf(real))
                               : fmt::format("{} or {}", nameOf(problem.dtype), nameOf(real)));
  return {};
}

Status Reader::readPresets() {
  for (const FunctionOption &function : options.functions) {
    if (function.source != FunctionOption::Preset)
      continue;
    const size_t equals = function.text.find('=');
    Result<const expression::Preset *> preset =
        expression::findPreset(std::string_view(function.text).substr(0, equals));
    if (!preset)
      return preset.error().within("--preset");
    const std::string option = fmt::format("--preset {}", (*preset)->name);
    presets.push_back(*preset);
    for (const expression::PresetScalar &scalar : (*preset)->scalars)
      presetScalars.emplace(scalar.name, &scalar);
    for (const expression::PresetTensor &tensor : (*preset)->tensors)
      input.presetTensors.emplace(tensor.name, &tensor);
    if (equals == std::string::npos)
      continue;
    if ((*preset)->scalars.empty())
      return invalidArgument("{} takes no value", option);
    Result<expression::Number> number =
        expression::parseNumber(std::string_view(function.text).substr(equals + 1));
    if (!number)
      return number.error().within(option);
    if (Status added = addScalar((*preset)->scalars.front().name, *number, option); !added)
      return added;
  }
  return {};
}

Status Reader::readScalars() {
  for (const NamedOption &named : options.scalars) {
    Result<expression::Number> number = expression::parseNumber(named.value);
    if (!number)
      return number.error().within(spell("--scalar", named));
    if (Status added = addScalar(named.name, *number, spell("--scalar", named)); !added)
      return added;
  }
  for (const expression::Preset *preset : presets)
    for (const expression::PresetScalar &scalar : preset->scalars)
      if (!declarations.findScalar(scalar.name))
        return invalidArgument(
            "--preset {} needs a value for '{}' ({}): write --preset {}=VALUE or "
            "--scalar {}=VALUE",
            preset->name, scalar.name, scalar.doc, preset->name, scalar.name);
  return {};
}

Status Reader::readTensors() {
  for (const NamedOption &named : options.tensors) {
    const std::string option = spell("--tensor", named);
    Result<std::optional<TensorDeclaration>> declared = parseDeclaration(named.value);
    if (!declared)
      return declared.error().within(option);
    if (*declared) {
      if (Status added = addTensor(named.name, (*declared)->dtype, (*declared)->rank, option);
          !added)
        return added;
      continue;
    }
    Result<OwnedTensor> loaded = loadTensor(named.value);
    if (!loaded)
      return loaded.error().within(option);
    const TensorView &view = loaded->view();
    if (Status added = addTensor(named.name, view.dtype, view.rank, option); !added)
      return added;
    input.tensors.emplace(named.name, *std::move(loaded));
  }
  for (const expression::Preset *preset : presets)
    for (const expression::PresetTensor &tensor : preset->tensors) {
      const std::optional<uint32_t> index = declarations.findTensor(tensor.name);
      if (!index)
        return invalidArgument("--preset {0} reads the tensor '{1}', which is not given: write "
                               "--tensor {1}=FILE, or --tensor {1}=TYPE[{2}] to declare it without "
                               "values",
                               preset->name, tensor.name,
                               fmt::join(std::vector(tensor.extents.size(), '?'), ","));
      const expression::Tensor &declared = declarations.tensors()[*index];
      if (declared.rank != tensor.extents.size() ||
          std::ranges::count(tensor.dtypes, declared.dtype) == 0) {
        std::vector<std::string_view> dtypes;
        for (DType dtype : tensor.dtypes)
          dtypes.push_back(nameOf(dtype));
        return invalidArgument(
            "--tensor {} is {} of rank {}; --preset {} wants rank {} and one of {}", tensor.name,
            nameOf(declared.dtype), declared.rank, preset->name, tensor.extents.size(),
            fmt::join(dtypes, ", "));
      }
    }
  return {};
}

Status Reader::readFunctions() {
  size_t nextPreset = 0;
  for (const FunctionOption &function : options.functions) {
    expression::Role role = expression::Role::Mask;
    std::string_view text = function.text;
    std::string_view option = "--mask";
    if (function.source == FunctionOption::Preset) {
      const expression::Preset &preset = *presets[nextPreset++];
      role = preset.role;
      text = preset.text;
      option = "--preset";
    } else if (function.source == FunctionOption::Score) {
      role = expression::Role::Score;
      option = "--score";
    }
    if (auto parsed = expression::parse(text, declarations, role); !parsed) {
      const Error error = parsed.error().within(option);
      if (!parsed.error().message().starts_with("unknown "))
        return error;
      return invalidArgument("{}\nNames are declared by --scalar NAME=VALUE and by --tensor "
                             "NAME=FILE.",
                             error.message());
    }
    (role == expression::Role::Mask ? problem.masks : problem.scores).emplace_back(text);
  }
  return {};
}

Result<ProblemInput> Reader::read() {
  const bool stated =
      options.headDim || options.dtype || options.outDType || !options.functions.empty();
  if (options.from && !options.file)
    return invalidArgument("--from={} says what a file of IR holds, but no file is given",
                           nameOf(*options.from));
  if (options.file && options.from.value_or(Stage::Attn) == Stage::Attn && stated)
    return invalidArgument("the problem is stated twice: by the file '{}' and by options. Leave "
                           "out --head-dim, --dtype, --out-dtype, --mask, --score and --preset",
                           expression::printable(*options.file, 80));
  if (stated || !options.file)
    if (Status read = readDimensions(); !read)
      return read.error();
  for (auto step :
       {&Reader::readPresets, &Reader::readScalars, &Reader::readTensors, &Reader::readFunctions})
    if (Status read = (this->*step)(); !read)
      return read.error();
  if (stated)
    input.problem = std::move(problem);
  return std::move(input);
}

Result<ProblemInput> tool::readProblem(const ProblemOptions &options) {
  return Reader(options).read();
}

Result<std::map<std::string, TensorView, std::less<>>>
ProblemInput::bindTensors(const ProblemSizes &sizes) const {
  const expression::Sizes extents = {sizes.batch, sizes.heads, sizes.kvHeads, sizes.queryLength,
                                     sizes.keyLength};
  std::map<std::string, TensorView, std::less<>> bound;
  if (problem)
    for (const TensorDeclaration &declared : problem->tensors)
      if (!tensors.contains(declared.name))
        return invalidArgument("--tensor {}: the tensor is declared but has no values; name a file",
                               declared.name);
  for (const auto &[name, tensor] : tensors) {
    TensorView view = tensor.view();
    if (auto preset = presetTensors.find(name); preset != presetTensors.end()) {
      Result<TensorView> fitted = expression::fitTensor(*preset->second, view, extents);
      if (!fitted)
        return fitted.error().within("--tensor " + name);
      view = *fitted;
    }
    bound.emplace(name, view);
  }
  return bound;
}

/// That a file's problem knows the names that options give values to.
static Status checkDeclared(const ProblemOptions &options,
                            const expression::Declarations &declarations) {
  for (const NamedOption &scalar : options.scalars)
    if (!declarations.findScalar(scalar.name))
      return invalidArgument("{}: the problem declares no such scalar", spell("--scalar", scalar));
  for (const NamedOption &tensor : options.tensors)
    if (!declarations.findTensor(tensor.name))
      return invalidArgument("{}: the problem declares no such tensor", spell("--tensor", tensor));
  return {};
}

/// Files of IR larger than this are not read; the compiler refuses them well before.
static constexpr uint64_t maxFileBytes = uint64_t{1} << 30;

Result<Compilation> tool::compileInput(const Options &options, const ProblemInput &input) {
  if (!options.problem.file)
    return compile(*input.problem, options.compile);
  Result<std::string> text = readTextFile(*options.problem.file, maxFileBytes);
  if (!text)
    return text.error();
  Result<Compilation> compilation =
      compileText(*text, options.problem.from.value_or(Stage::Attn), options.compile);
  if (!compilation)
    return compilation.error().within(*options.problem.file);
  if (const ParsedProblem *problem = CompilationAccess::problem(*compilation))
    if (Status checked = checkDeclared(options.problem, problem->declarations); !checked)
      return checked.error().within(*options.problem.file);
  return compilation;
}
