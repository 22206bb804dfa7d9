//===- Decode.cpp - A kernel image from bytes -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nothing is allocated before the checksum is right, and afterwards no more than
// a small multiple of the file: a list is believed to be as long as it says only
// if that many entries fit into the rest of it.
//
//===----------------------------------------------------------------------===//

#include "lib/Image/Format.h"
#include "lib/Image/KernelImage.h"
#include "lib/Support/MakeError.h"

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <optional>

using namespace tilewright;
using namespace tilewright::expression;

namespace {
template <std::integral T> T littleEndian(const std::byte *bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < sizeof(T); ++i)
    value |= static_cast<uint64_t>(bytes[i]) << (8 * i);
  return static_cast<T>(value);
}

/// After the first failure everything reads as zero, and lists as empty.
class Reader {
public:
  explicit Reader(std::span<const std::byte> bytes) : rest(bytes) {}

  template <typename... Args> void fail(fmt::format_string<Args...> format, Args &&...args) {
    if (!failure)
      failure = invalidArgument("{}", fmt::format(format, std::forward<Args>(args)...));
  }
  void fail(const Error &error) {
    if (!failure)
      failure = error;
  }

  template <std::integral T> T number() {
    if (!has(sizeof(T)))
      return 0;
    const T value = littleEndian<T>(rest.data());
    rest = rest.subspan(sizeof(T));
    return value;
  }

  /// One of an enumeration that ends with `last`.
  template <typename T> T choice(std::string_view what, T last) {
    const auto value = number<uint8_t>();
    if (value <= static_cast<uint8_t>(last))
      return static_cast<T>(value);
    fail("{} is {}; the limit is {}", what, value, static_cast<uint8_t>(last));
    return T();
  }

  std::string text() {
    const auto length = number<uint64_t>();
    if (!has(length))
      return "";
    std::string value(reinterpret_cast<const char *>(rest.data()), length);
    rest = rest.subspan(length);
    return value;
  }

  /// Calls `read` for each entry, of which each takes at least `minimumBytes`.
  template <typename Read>
  void list(std::string_view what, size_t minimumBytes, uint32_t limit, const Read &read) {
    const auto count = number<uint32_t>();
    if (count > limit)
      return fail("there are {} {}; the limit is {}", count, what, limit);
    if (count > rest.size() / minimumBytes)
      return fail("there are {} {} in {} bytes", count, what, rest.size());
    for (uint32_t i = 0; i < count && !failure; ++i)
      read();
  }

  size_t remaining() const { return rest.size(); }

  std::optional<Error> failure;

private:
  bool has(uint64_t bytes) {
    if (failure || bytes <= rest.size())
      return !failure;
    fail("{} bytes are expected where {} are left", bytes, rest.size());
    return false;
  }

  std::span<const std::byte> rest;
};

constexpr uint32_t anyNumber = UINT32_MAX;

/// Rebuilds an expression through its Builder, whose typing rules then hold for it; what the
/// builder would have made in another way was not made by it.
class ExpressionReader {
public:
  ExpressionReader(Reader &in, const Declarations &declarations)
      : in(in), declarations(declarations), builder(declarations) {}

  std::optional<Expression> read() {
    const Role role = in.choice("the role of an expression", Role::Score);
    std::string text = in.text();
    textLength = text.size();
    in.list("nodes", minimumNodeBytes, anyNumber, [&] {
      const std::optional<NodeId> id = node();
      if (!id)
        in.fail("node {} of an expression names what is not there", count);
      else if (*id != count)
        in.fail("node {} of an expression is not of the types that its operation takes", count);
      ++count;
    });
    if (!in.failure && count == 0)
      in.fail("an expression has no nodes");
    if (in.failure)
      return std::nullopt;
    Result<Expression> expression =
        std::move(builder).finish(static_cast<NodeId>(count - 1), role, std::move(text));
    if (!expression)
      in.fail(expression.error());
    else if (expression->nodes().size() != count)
      in.fail("an expression has nodes that it does not use, or a result of another type");
    if (in.failure)
      return std::nullopt;
    return *std::move(expression);
  }

private:
  static constexpr size_t minimumNodeBytes = 10;

  /// The new node; nothing if something it refers to is missing.
  std::optional<NodeId> node() {
    const Kind kind = in.choice("the kind of a node", Kind::Select);
    const auto begin = in.number<uint32_t>(), end = in.number<uint32_t>();
    if (begin > end || end > textLength)
      return std::nullopt;
    const Span span{begin, end};
    switch (kind) {
    case Kind::Constant:
      return constant(span);
    case Kind::Variable:
      return builder.variable(in.choice("a variable", Variable::KVLen), span);
    case Kind::Scalar: {
      const auto index = in.number<uint32_t>();
      return index < declarations.scalars().size() ? std::optional(builder.scalar(index, span))
                                                   : std::nullopt;
    }
    case Kind::Element: {
      const auto index = in.number<uint32_t>();
      if (index >= declarations.tensors().size())
        return std::nullopt;
      return operation(declarations.tensors()[index].rank, [&](std::span<const NodeId> operands) {
        return builder.element(index, operands, span);
      });
    }
    default:
      return operation(operandCount(kind), [&](std::span<const NodeId> operands) {
        return builder.apply(kind, operands, span);
      });
    }
  }

  std::optional<NodeId> constant(Span span) {
    const Type type = in.choice("the type of a constant", Type::Real);
    const auto number = std::bit_cast<double>(in.number<uint64_t>());
    if (type == Type::Real)
      return builder.real(number, span);
    if (type == Type::I1 && (number == 0 || number == 1))
      return builder.boolean(number != 0, span);
    if (type == Type::I32 && number >= INT32_MIN && number <= INT32_MAX &&
        number == static_cast<int32_t>(number))
      return builder.integer(static_cast<int32_t>(number), span);
    return std::nullopt;
  }

  template <typename Make> std::optional<NodeId> operation(size_t operandCount, const Make &make) {
    std::array<NodeId, TensorView::maxRank> operands{};
    for (NodeId &operand : std::span(operands).first(operandCount)) {
      operand = in.number<uint32_t>();
      if (operand >= count)
        return std::nullopt;
    }
    Result<NodeId> id = make(std::span<const NodeId>(operands).first(operandCount));
    if (!id) {
      in.fail(id.error());
      return static_cast<NodeId>(count);
    }
    return *id;
  }

  Reader &in;
  const Declarations &declarations;
  Builder builder;
  size_t textLength = 0;
  size_t count = 0;
};

void read(Reader &in, LaunchExpressions &expressions) {
  const auto noteError = [&](const Result<uint32_t> &index) {
    if (!index)
      in.fail(index.error());
  };
  Declarations &declarations = expressions.declarations;
  in.list("scalars", 9, maxArguments, [&] {
    const std::string name = in.text();
    const Type type = in.choice("the type of a scalar", Type::Real);
    noteError(declarations.addScalar(name, type));
  });
  in.list("tensors", 10, maxArguments, [&] {
    const std::string name = in.text();
    const DType dtype = in.choice("the dtype of a tensor", DType::Bool);
    noteError(declarations.addTensor(name, dtype, in.number<uint8_t>()));
  });
  for (auto *list : {&expressions.scores, &expressions.masks})
    in.list("expressions", 13, anyNumber, [&] {
      if (auto expression = ExpressionReader(in, declarations).read())
        list->push_back(*std::move(expression));
    });
}

KernelArgument readArgument(Reader &in) {
  KernelArgument argument;
  argument.name = in.text();
  argument.kind = in.choice("the kind of an argument", KernelArgument::Kind::F64);
  argument.dtype = in.choice("the dtype of an argument", DType::Bool);
  for (auto *list : {&argument.shape, &argument.strides})
    in.list("dimensions", 8, TensorView::maxRank, [&] { list->push_back(in.number<int64_t>()); });
  return argument;
}

KernelLaunch readLaunch(Reader &in) {
  KernelLaunch launch;
  launch.kernel = in.text();
  in.list("factors of the grid", 4, anyNumber, [&] {
    SizeFormula &formula = launch.grid.emplace_back();
    in.list("steps of a formula", 17, anyNumber, [&] {
      SizeFormula::Step &step = formula.steps.emplace_back();
      step.op = in.choice("the operation of a formula", SizeFormula::Op::Max);
      step.constant = in.number<int64_t>();
      step.argument = in.number<uint32_t>();
      step.dimension = in.number<uint32_t>();
    });
  });
  launch.threads = in.number<uint32_t>();
  launch.sharedMemory = in.number<uint32_t>();
  in.list("parameters", 9, maxParameters, [&] {
    KernelParameter &parameter = launch.parameters.emplace_back();
    parameter.kind = in.choice("the kind of a parameter", KernelParameter::Kind::TensorMap);
    parameter.argument = in.number<uint32_t>();
    parameter.detail = in.number<uint32_t>();
  });
  launch.registers = in.number<uint32_t>();
  in.list("rings", 24, maxRings, [&] {
    SharedRing &ring = launch.rings.emplace_back();
    ring.name = in.text();
    for (uint32_t *number : {&ring.stages, &ring.stageBytes, &ring.offset, &ring.barriers})
      *number = in.number<uint32_t>();
  });
  return launch;
}

Result<KernelImage> readPayload(std::span<const std::byte> bytes) {
  Reader in(bytes);
  KernelImage image;
  for (std::string *text : {&image.target, &image.compiler, &image.assembler, &image.schedule,
                            &image.stage, &image.source})
    *text = in.text();
  read(in, image.expressions);
  in.list("arguments", 18, maxArguments, [&] { image.arguments.push_back(readArgument(in)); });
  in.list("launches", 32, 1, [&] { image.launches.push_back(readLaunch(in)); });
  image.ptx = in.text();
  image.cubin = in.text();
  if (in.remaining() != 0)
    in.fail("{} bytes follow its last field", in.remaining());
  if (in.failure)
    return *in.failure;
  if (Status checked = checkImage(image); !checked)
    return checked.error();
  return image;
}

std::string hexadecimal(std::string_view bytes) {
  std::string text;
  for (const unsigned char byte : bytes)
    text += fmt::format(" {:02x}", byte);
  return text;
}

/// The payload, once everything around it is right.
Result<std::span<const std::byte>> unwrap(std::span<const std::byte> bytes) {
  const std::string_view start(reinterpret_cast<const char *>(bytes.data()),
                               std::min(bytes.size(), image::magic.size()));
  if (!image::magic.starts_with(start))
    return invalidArgument("it is none: one begins with the bytes{}, and this with{}",
                           hexadecimal(image::magic), hexadecimal(start));
  if (bytes.size() < image::headerBytes)
    return invalidArgument("it is truncated: it has {} bytes, and the header alone has {}",
                           bytes.size(), image::headerBytes);
  const auto version = littleEndian<uint32_t>(bytes.data() + image::magic.size());
  if (version > image::version)
    return unsupported("its format has version {}, which is newer than what this build reads ({}); "
                       "a newer Tilewright reads it",
                       version, image::version);
  if (version != image::version)
    return unsupported("its format has version {}, and this build reads {}", version,
                       image::version);
  const auto length = littleEndian<uint64_t>(bytes.data() + image::magic.size() + 4);
  const uint64_t rest = bytes.size() - image::headerBytes;
  if (rest < image::checksumBytes || length > rest - image::checksumBytes)
    return invalidArgument("it is truncated: {} bytes follow its header, which says {} and {} of "
                           "checksum",
                           rest, length, image::checksumBytes);
  if (length < rest - image::checksumBytes)
    return invalidArgument("{} bytes follow its end", rest - image::checksumBytes - length);
  const size_t covered = image::headerBytes + length;
  const auto stored = littleEndian<uint64_t>(bytes.data() + covered);
  const uint64_t computed = image::checksum(bytes.first(covered));
  if (stored != computed)
    return invalidArgument("it was altered: its checksum is {:016x}, and its bytes give {:016x}",
                           stored, computed);
  return bytes.subspan(image::headerBytes, length);
}
} // namespace

Result<KernelImage> tilewright::decodeImage(std::span<const std::byte> bytes) {
  constexpr std::string_view context = "kernel image";
  Result<std::span<const std::byte>> payload = unwrap(bytes);
  if (!payload)
    return payload.error().within(context);
  Result<KernelImage> image = readPayload(*payload);
  if (!image)
    return image.error().within(context);
  return image;
}
