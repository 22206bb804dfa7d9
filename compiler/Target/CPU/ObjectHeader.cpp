//===- ObjectHeader.cpp - The header of an object -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whatever the user named has letters, digits and '_' only (attn.name is verified
// to), and stands behind a prefix or in a comment: no name can be a keyword, a
// macro or one of the header's own.
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/CPU/ObjectHeader.h"
#include "compiler/Target/CPU/Codegen.h"
#include "compiler/Target/CPU/ProcessorCheck.h"
#include "lib/Expression/Parse.h"

#include <fmt/format.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <cmath>

using namespace tilewright;

namespace {
using Kind = KernelArgument::Kind;

std::string_view typeOf(DType dtype) {
  switch (dtype) {
  case DType::F64:
    return "double";
  case DType::F32:
    return "float";
  case DType::F16:
  case DType::BF16:
    return "uint16_t";
  case DType::I64:
    return "int64_t";
  case DType::I32:
    return "int32_t";
  case DType::U8:
  case DType::Bool:
    return "uint8_t";
  }
  return "void";
}

std::string_view typeOf(Kind kind) {
  return kind == Kind::I32 ? "int32_t" : kind == Kind::F32 ? "float" : "double";
}

class HeaderWriter {
public:
  HeaderWriter(const ObjectDescription &object) : object(object) {}

  std::string description(const CpuTarget &target, const std::string &schedule,
                          const std::vector<std::string> &features) const;
  std::string arguments() const;
  std::string denseStrides() const;

private:
  std::span<const KernelArgument> list() const { return object.interface.arguments(); }
  const ProblemTensor *role(size_t i) const { return object.interface.role(i); }
  std::string fieldName(size_t i) const;
  std::string extent(size_t i, size_t dimension) const;
  std::string tensorField(size_t i) const;
  std::string scalarField(size_t i) const;

  const ObjectDescription &object;
};
} // namespace

std::string HeaderWriter::description(const CpuTarget &target, const std::string &schedule,
                                      const std::vector<std::string> &features) const {
  std::string text;
  const auto line = [&](std::string_view what, std::string_view value) {
    text += fmt::format(" *   {:<12}{}\n", what, value);
  };
  const LaunchExpressions &expressions = object.interface.expressions();
  for (const auto &[name, functions] :
       {std::pair("score", &expressions.scores), std::pair("mask", &expressions.masks)})
    for (const expression::Expression &function : *functions)
      line(name, quote(function, expressions.declarations, function.root()));
  if (!schedule.empty())
    line("schedule", schedule);
  line("processor", target.cpu);
  if (!features.empty())
    line("needs", fmt::format("{}", fmt::join(features, " ")));
  line("stack", fmt::format("{} bytes for the tiles of an item", object.signature.scratchBytes));
  return text;
}

std::string HeaderWriter::fieldName(size_t i) const {
  const KernelArgument &argument = list()[i];
  if (role(i) || i == object.interface.scale())
    return argument.name;
  return (argument.kind == Kind::Tensor ? "tensor_" : "scalar_") + argument.name;
}

/// "batch", "64", or of a user's tensor "".
std::string HeaderWriter::extent(size_t i, size_t dimension) const {
  if (!role(i))
    return "";
  const Dimension which = role(i)->dimensions[dimension];
  if (which == Dimension::HeadDim || which == Dimension::ValueDim)
    return fmt::to_string(list()[i].shape[dimension]);
  return std::string(nameOf(which));
}

std::string HeaderWriter::tensorField(size_t i) const {
  const KernelArgument &argument = list()[i];
  const size_t rank = argument.shape.size();
  std::string comment(nameOf(argument.dtype));
  if (role(i)) {
    std::vector<std::string> extents;
    for (size_t dimension = 0; dimension < rank; ++dimension)
      extents.push_back(extent(i, dimension));
    comment += fmt::format(" [{}]", fmt::join(extents, ", "));
  }
  for (size_t dimension = 0; dimension < rank; ++dimension) {
    if (!role(i) && argument.shape[dimension] != KernelArgument::dynamic)
      comment += fmt::format("; extents[{}] is {}", dimension, argument.shape[dimension]);
    if (argument.strides[dimension] != KernelArgument::dynamic)
      comment += fmt::format("; strides[{}] is {}", dimension, argument.strides[dimension]);
  }
  const bool isOutput = role(i) && role(i)->isOutput;
  return fmt::format("  /* {} */\n"
                     "  struct {{\n"
                     "    {}{} *data;\n"
                     "    int64_t {}strides[{}];\n"
                     "  }} {};\n",
                     comment, isOutput ? "" : "const ", typeOf(argument.dtype),
                     role(i) ? "" : fmt::format("extents[{}], ", rank), rank, fieldName(i));
}

std::string HeaderWriter::scalarField(size_t i) const {
  const KernelArgument &argument = list()[i];
  std::string comment;
  if (i == object.interface.scale())
    for (size_t query = 0; query < list().size(); ++query)
      if (role(query) && role(query)->name == "query")
        comment = fmt::format("  /* The factor of the scores; usual is 1 / sqrt({}) = {:.9g}. */\n",
                              list()[query].shape.back(),
                              1 / std::sqrt(static_cast<double>(list()[query].shape.back())));
  return fmt::format("{}  {} {};\n", comment, typeOf(argument.kind), fieldName(i));
}

std::string HeaderWriter::arguments() const {
  std::string text;
  for (size_t i = 0; i < list().size(); ++i)
    text += list()[i].kind == Kind::Tensor ? tensorField(i) : scalarField(i);
  return text;
}

std::string HeaderWriter::denseStrides() const {
  std::string text;
  for (size_t i = 0; i < list().size(); ++i) {
    const size_t rank = list()[i].shape.size();
    const std::string field = "arguments->" + fieldName(i);
    for (size_t dimension = rank; dimension-- > 0;) {
      const std::string next = fmt::format("{}.strides[{}]", field, dimension + 1);
      std::string stride = "1";
      if (dimension + 1 < rank) {
        const std::string known = extent(i, dimension + 1);
        const bool isField = !known.empty() && !llvm::isDigit(known.front());
        stride = fmt::format("{} * {}", next,
                             known.empty() ? fmt::format("{}.extents[{}]", field, dimension + 1)
                             : isField     ? "arguments->" + known
                                           : known);
      }
      text += fmt::format("  {}.strides[{}] = {};\n", field, dimension, stride);
    }
  }
  return text;
}

Result<std::string> tilewright::objectHeader(const llvm::Module &module,
                                             const ObjectDescription &object,
                                             const CpuTarget &target, const std::string &schedule) {
  Result<std::unique_ptr<llvm::TargetMachine>> machine = createTargetMachine(target);
  if (!machine)
    return machine.error();
  const std::vector<std::string> features =
      requiredFeatures(*(*machine)->getMCSubtargetInfo(), usesAmx(module));
  const HeaderWriter writer(object);
  return fmt::format(
      R"(/* Attention, compiled ahead of time by tilewright: the functions of an object file.
 *
{description} *
 * The object needs no library. Nothing here allocates, and no memory but the
 * workspace and the outputs is written. All functions may be called from any
 * number of threads at once; launches that run at the same time need outputs and
 * workspaces of their own.
 */

#ifndef TILEWRIGHT_OBJECT_{name}_H
#define TILEWRIGHT_OBJECT_{name}_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

/* One launch. Strides count elements. Extents are from 0 to 2^30, and heads is a
 * multiple of kv_heads. Outputs overlap nothing. */
struct {name}_arguments {{
  int64_t batch;
  int64_t heads;
  int64_t kv_heads;
  int64_t query_length;
  int64_t key_length;
{arguments}}};

/* What the functions return: 0, or what is wrong. A status from
 * {name}_wrong_argument on says which argument was refused; {name}_status_text
 * has a sentence for each, and for any other number. */
enum {{
  {name}_success = {success},
  {name}_wrong_processor = {wrongProcessor},
  {name}_amx_refused = {amxRefused},
  {name}_wrong_workspace = {wrongWorkspace},
  {name}_no_such_item = {noSuchItem},
  {name}_wrong_argument = {wrongArgument}
}};
const char *{name}_status_text(int status);

/* Bytes of temporary memory, at any address, that a launch with these extents
 * needs: 0 where it needs none, and for arguments that are refused. */
size_t {name}_workspace_size(const struct {name}_arguments *arguments);

/* Checks the arguments and computes on this thread. */
int {name}_run(const struct {name}_arguments *arguments, void *workspace, size_t workspace_size);

/* The same in pieces, for a host that spreads them over threads of its own: once
 * {name}_check returns 0, do all items of phase 0, from the last to the first so
 * that the heaviest come first, then all of phase 1 and so on, each exactly once.
 * {name}_run_item checks nothing but that there is such an item. */
enum {{ {name}_phases = {phases}, {name}_stack_bytes = {stack} }};
int {name}_check(const struct {name}_arguments *arguments, const void *workspace,
    size_t workspace_size);
int64_t {name}_items(const struct {name}_arguments *arguments, int phase);
int {name}_run_item(const struct {name}_arguments *arguments, void *workspace,
    size_t workspace_size, int phase, int64_t item);

/* Sets all strides to those of tensors without gaps, in the order of their
 * dimensions; the extents are set before. */
static inline void {name}_set_dense_strides(struct {name}_arguments *arguments) {{
{denseStrides}}}

#ifdef __cplusplus
}}
#endif

#endif
)",
      fmt::arg("description", writer.description(target, schedule, features)),
      fmt::arg("name", object.name), fmt::arg("arguments", writer.arguments()),
      fmt::arg("success", int{Success}), fmt::arg("wrongProcessor", int{WrongProcessor}),
      fmt::arg("amxRefused", int{AmxRefused}), fmt::arg("wrongWorkspace", int{WrongWorkspace}),
      fmt::arg("noSuchItem", int{NoSuchItem}), fmt::arg("wrongArgument", int{FirstWrongArgument}),
      fmt::arg("phases", object.signature.phases), fmt::arg("stack", object.signature.scratchBytes),
      fmt::arg("denseStrides", writer.denseStrides()));
}
