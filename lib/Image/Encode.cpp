//===- Encode.cpp - A kernel image as bytes -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Image/Format.h"
#include "lib/Image/KernelImage.h"

#include <bit>
#include <concepts>
#include <type_traits>

using namespace tilewright;
using expression::Expression;
using expression::Kind;
using expression::Node;

namespace {
class Writer {
public:
  template <std::integral T> void number(T value) {
    for (size_t i = 0; i < sizeof value; ++i)
      bytes += static_cast<char>(static_cast<uint64_t>(value) >> (8 * i));
  }
  template <typename T>
    requires std::is_enum_v<T>
  void choice(T value) {
    number(static_cast<uint8_t>(value));
  }
  void text(std::string_view value) {
    number(uint64_t{value.size()});
    bytes += value;
  }
  template <typename T, typename Write> void list(const T &entries, const Write &write) {
    number(static_cast<uint32_t>(entries.size()));
    for (const auto &entry : entries)
      write(entry);
  }

  std::string bytes;
};

void write(Writer &out, const Expression &expression, const Node &node) {
  out.choice(node.kind);
  out.number(node.span.begin);
  out.number(node.span.end);
  switch (node.kind) {
  case Kind::Constant:
    out.choice(node.type);
    out.number(std::bit_cast<uint64_t>(node.number));
    break;
  case Kind::Variable:
    out.choice(node.variable);
    break;
  case Kind::Scalar:
    out.number(node.index);
    break;
  case Kind::Element:
    out.number(node.index);
    [[fallthrough]];
  default:
    // How many there are follows from the kind, or from the rank of the tensor.
    for (expression::NodeId operand : expression.operands(node))
      out.number(operand);
  }
}

void write(Writer &out, const Expression &expression) {
  out.choice(expression.role());
  out.text(expression.text());
  out.list(expression.nodes(), [&](const Node &node) { write(out, expression, node); });
}

void write(Writer &out, const LaunchExpressions &expressions) {
  out.list(expressions.declarations.scalars(), [&](const expression::Scalar &scalar) {
    out.text(scalar.name);
    out.choice(scalar.type);
  });
  out.list(expressions.declarations.tensors(), [&](const expression::Tensor &tensor) {
    out.text(tensor.name);
    out.choice(tensor.dtype);
    out.number(static_cast<uint8_t>(tensor.rank));
  });
  for (const auto *list : {&expressions.scores, &expressions.masks})
    out.list(*list, [&](const Expression &expression) { write(out, expression); });
}

void write(Writer &out, const KernelArgument &argument) {
  out.text(argument.name);
  out.choice(argument.kind);
  out.choice(argument.dtype);
  for (const auto *list : {&argument.shape, &argument.strides})
    out.list(*list, [&](int64_t value) { out.number(value); });
}

void write(Writer &out, const KernelLaunch &launch) {
  out.text(launch.kernel);
  out.list(launch.grid, [&](const SizeFormula &formula) {
    out.list(formula.steps, [&](const SizeFormula::Step &step) {
      out.choice(step.op);
      out.number(step.constant);
      out.number(step.argument);
      out.number(step.dimension);
    });
  });
  out.number(launch.threads);
  out.number(launch.sharedMemory);
  out.list(launch.parameters, [&](const KernelParameter &parameter) {
    out.choice(parameter.kind);
    out.number(parameter.argument);
    out.number(parameter.detail);
  });
  out.number(launch.registers);
  out.list(launch.rings, [&](const SharedRing &ring) {
    out.text(ring.name);
    for (uint32_t number : {ring.stages, ring.stageBytes, ring.offset, ring.barriers})
      out.number(number);
  });
}
} // namespace

std::string tilewright::encode(const KernelImage &image) {
  Writer payload;
  for (const std::string *text : {&image.target, &image.compiler, &image.assembler, &image.schedule,
                                  &image.stage, &image.source})
    payload.text(*text);
  write(payload, image.expressions);
  payload.list(image.arguments, [&](const KernelArgument &argument) { write(payload, argument); });
  payload.list(image.launches, [&](const KernelLaunch &launch) { write(payload, launch); });
  payload.text(image.ptx);
  payload.text(image.cubin);

  Writer file;
  file.bytes += image::magic;
  file.number(image::version);
  file.text(payload.bytes);
  file.number(image::checksum(std::as_bytes(std::span(file.bytes))));
  return std::move(file.bytes);
}
