//===- Declarations.cpp - What an expression may name ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Expression/Declarations.h"

#include "lib/Expression/Spelling.h"
#include "lib/Support/MakeError.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

using namespace tilewright;
using namespace tilewright::expression;

static constexpr size_t maxNameLength = 64;

static bool isIdentifier(std::string_view name) {
  const auto isLetter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  const auto isLetterOrDigit = [&](char c) { return isLetter(c) || (c >= '0' && c <= '9'); };
  return !name.empty() && name.size() <= maxNameLength && isLetter(name.front()) &&
         std::ranges::all_of(name, isLetterOrDigit);
}

template <typename Declared>
static std::optional<uint32_t> find(const std::vector<Declared> &list, std::string_view name) {
  const auto found = std::ranges::find(list, name, &Declared::name);
  if (found == list.end())
    return std::nullopt;
  return static_cast<uint32_t>(found - list.begin());
}

Type tilewright::expression::elementType(DType dtype) {
  switch (dtype) {
  case DType::Bool:
    return Type::I1;
  case DType::U8:
  case DType::I32:
    return Type::I32;
  case DType::I64:
    return Type::I64;
  default:
    return Type::Real;
  }
}

Status Declarations::checkNewName(std::string_view name) const {
  const std::string shown = printable(name, maxNameLength);
  if (!isIdentifier(name))
    return invalidArgument("'{}' is not a name: a letter or '_', then letters, digits and '_', at "
                           "most {} in all",
                           shown, maxNameLength);
  if (isReservedName(name))
    return invalidArgument("'{}' is built into expressions; choose another name", shown);
  if (findScalar(name) || findTensor(name))
    return invalidArgument("'{}' is declared twice", shown);
  return {};
}

Result<uint32_t> Declarations::addScalar(std::string_view name, Type type) {
  if (Status status = checkNewName(name); !status)
    return status.error();
  if (type != Type::I32 && type != Type::Real)
    return invalidArgument("scalar '{}' is declared {}; scalars are i32 or real", name,
                           nameOf(type));
  scalarList.push_back({std::string(name), type});
  return static_cast<uint32_t>(scalarList.size() - 1);
}

Result<uint32_t> Declarations::addTensor(std::string_view name, DType dtype, size_t rank) {
  if (Status status = checkNewName(name); !status)
    return status.error();
  if (rank < 1 || rank > TensorView::maxRank)
    return invalidArgument("tensor '{}' has rank {}; tensors in expressions have rank 1 to {}",
                           name, rank, TensorView::maxRank);
  tensorList.push_back({std::string(name), dtype, rank});
  return static_cast<uint32_t>(tensorList.size() - 1);
}

std::optional<uint32_t> Declarations::findScalar(std::string_view name) const {
  return find(scalarList, name);
}

std::optional<uint32_t> Declarations::findTensor(std::string_view name) const {
  return find(tensorList, name);
}

Status tilewright::expression::checkSizes(const Sizes &sizes) {
  const std::pair<std::string_view, int64_t> extents[] = {{"batch", sizes.batch},
                                                          {"heads", sizes.heads},
                                                          {"kv heads", sizes.kvHeads},
                                                          {"q_len", sizes.queryLength},
                                                          {"kv_len", sizes.keyLength}};
  for (const auto &[name, extent] : extents)
    if (extent < 0 || extent > Sizes::maxExtent)
      return invalidArgument("{} is {}; it must be from 0 to {}", name, extent, Sizes::maxExtent);
  if (sizes.kvHeads == 0 ? sizes.heads != 0 : sizes.heads % sizes.kvHeads != 0)
    return invalidArgument("{} query heads are not a multiple of {} kv heads", sizes.heads,
                           sizes.kvHeads);
  return {};
}

Status tilewright::expression::checkBindings(const Declarations &declarations,
                                             const Bindings &bindings) {
  std::vector<const TensorView *> tensors;
  for (const TensorView &view : bindings.tensors)
    tensors.push_back(&view);
  return checkBindings(declarations, BindingsView{bindings.scalars, tensors});
}

Status tilewright::expression::checkBindings(const Declarations &declarations,
                                             const BindingsView &bindings) {
  const auto &scalars = declarations.scalars();
  const auto &tensors = declarations.tensors();
  if (bindings.scalars.size() < scalars.size())
    return invalidArgument("scalar '{}' has no value", scalars[bindings.scalars.size()].name);
  if (bindings.tensors.size() < tensors.size())
    return invalidArgument("tensor '{}' is not given", tensors[bindings.tensors.size()].name);
  if (bindings.scalars.size() > scalars.size() || bindings.tensors.size() > tensors.size())
    return invalidArgument("{} scalars and {} tensors are given, {} and {} are declared",
                           bindings.scalars.size(), bindings.tensors.size(), scalars.size(),
                           tensors.size());
  for (size_t i = 0; i < scalars.size(); ++i) {
    const double value = bindings.scalars[i];
    if (scalars[i].type == Type::I32 &&
        !(value >= std::numeric_limits<int32_t>::min() &&
          value <= std::numeric_limits<int32_t>::max() && value == std::trunc(value)))
      return invalidArgument("scalar '{}' is {}, which is no i32", scalars[i].name, value);
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TensorView &view = *bindings.tensors[i];
    if (view.dtype != tensors[i].dtype || view.rank != tensors[i].rank)
      return invalidArgument("tensor '{}' is {}; {} of rank {} is declared", tensors[i].name,
                             view.describe(), tilewright::nameOf(tensors[i].dtype),
                             tensors[i].rank);
  }
  return {};
}

Result<Number> tilewright::expression::parseNumber(std::string_view text) {
  const bool negative = text.starts_with('-');
  const std::string_view digits = text.substr(negative ? 1 : 0);
  const auto isDigit = [](char c) { return c >= '0' && c <= '9'; };
  Number number;
  std::from_chars_result end{};
  if (digits == "inf") {
    number = {Type::Real, std::numeric_limits<double>::infinity()};
    end = {digits.data() + digits.size(), std::errc()};
  } else if (!digits.empty() && std::ranges::all_of(digits, isDigit)) {
    int64_t value = 0;
    end = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (value > int64_t{std::numeric_limits<int32_t>::max()} + negative)
      end.ec = std::errc::result_out_of_range;
    number = {Type::I32, static_cast<double>(value)};
  } else {
    // from_chars also takes "nan", "infinity" and a second sign.
    const bool wellFormed = !digits.empty() && (isDigit(digits[0]) || digits[0] == '.');
    number.type = Type::Real;
    end = wellFormed ? std::from_chars(digits.data(), digits.data() + digits.size(), number.value)
                     : std::from_chars_result{digits.data(), std::errc::invalid_argument};
  }
  const std::string shown = printable(text, maxNameLength);
  if (end.ec == std::errc::result_out_of_range)
    return invalidArgument("number '{}' is out of range: {}", shown,
                           number.type == Type::I32 ? "an integer has 32 bits; write a decimal "
                                                      "point for a real"
                                                    : "a real is an f64");
  if (end.ec != std::errc() || end.ptr != digits.data() + digits.size())
    return invalidArgument("'{}' is not a number", shown);
  if (negative && number.value != 0)
    number.value = -number.value;
  else if (negative && number.type == Type::Real)
    number.value = -0.0;
  return number;
}
