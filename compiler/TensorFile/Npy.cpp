//===- Npy.cpp - The header of an .npy file -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The header is a Python dict literal of three known keys:
//
//   {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
//
// Anything but strings, the two booleans and a tuple of decimal integers is refused; there is no
// nesting, hence no recursion.
//
//===----------------------------------------------------------------------===//

#include "compiler/TensorFile/Headers.h"

#include "lib/Support/MakeError.h"

#include <algorithm>

using namespace tilewright;

namespace {

/// Real headers have some hundred bytes at most; version 2 was made for those with field names.
constexpr uint64_t maxHeaderLength = 64 * 1024;

struct NpyDict {
  std::optional<std::string> descr;
  std::optional<bool> fortranOrder;
  std::optional<std::vector<int64_t>> shape;
};

class DictParser {
public:
  explicit DictParser(std::string_view text) : text(text) {}

  Result<NpyDict> parse() {
    NpyDict dict;
    if (!consume("{"))
      return unexpected("'{'");
    while (!consume("}")) {
      if (Status status = parseItem(dict); !status)
        return status.error();
      if (consume(","))
        continue;
      if (!consume("}"))
        return unexpected("',' or '}'");
      break;
    }
    skipSpace();
    if (position != text.size())
      return unexpected("the end of the header");
    if (!dict.descr || !dict.fortranOrder || !dict.shape)
      return invalidArgument("the header has no '{}'", !dict.descr          ? "descr"
                                                       : !dict.fortranOrder ? "fortran_order"
                                                                            : "shape");
    return dict;
  }

private:
  Status parseItem(NpyDict &dict) {
    Result<std::string> key = parseString();
    if (!key)
      return key.error();
    if (!consume(":"))
      return unexpected("':'");
    if (*key == "descr")
      return set(dict.descr, parseString(), *key);
    if (*key == "fortran_order")
      return set(dict.fortranOrder, parseBool(), *key);
    if (*key == "shape")
      return set(dict.shape, parseTuple(), *key);
    return invalidArgument("unknown key '{}' in the header", *key);
  }

  template <typename T>
  static Status set(std::optional<T> &field, Result<T> value, std::string_view key) {
    if (!value)
      return value.error();
    if (field)
      return invalidArgument("the header has '{}' twice", key);
    field = std::move(*value);
    return {};
  }

  Result<std::string> parseString() {
    skipSpace();
    const char quote = position < text.size() ? text[position] : '\0';
    if (quote == '[')
      return unsupported("structured dtypes are not read");
    if (quote != '\'' && quote != '"')
      return unexpected("a string");
    const size_t end = text.find(quote, position + 1);
    const std::string_view content = text.substr(position + 1, end - position - 1);
    if (end == std::string_view::npos || content.find('\\') != std::string_view::npos)
      return unexpected("a string without escapes");
    position = end + 1;
    return std::string(content);
  }

  Result<bool> parseBool() {
    if (consume("True"))
      return true;
    if (consume("False"))
      return false;
    return unexpected("True or False");
  }

  Result<std::vector<int64_t>> parseTuple() {
    std::vector<int64_t> values;
    if (!consume("("))
      return unexpected("'(', a tuple");
    while (!consume(")")) {
      Result<int64_t> value = parseExtent();
      if (!value)
        return value.error();
      values.push_back(*value);
      if (consume(","))
        continue;
      // "(3)" is a number in brackets, not a tuple.
      if (values.size() == 1 || !consume(")"))
        return unexpected(values.size() == 1 ? "','" : "',' or ')'");
      break;
    }
    return values;
  }

  Result<int64_t> parseExtent() {
    const bool negative = consume("-");
    skipSpace();
    const size_t start = position;
    int64_t value = 0;
    while (position < text.size() && text[position] >= '0' && text[position] <= '9')
      if (__builtin_mul_overflow(value, 10, &value) ||
          __builtin_add_overflow(value, text[position++] - '0', &value))
        return invalidArgument("an extent of the shape does not fit 63 bits");
    if (position == start)
      return unexpected("an integer");
    if (negative)
      return invalidArgument("the shape has the negative extent -{}", value);
    return value;
  }

  bool consume(std::string_view token) {
    skipSpace();
    if (!text.substr(position).starts_with(token))
      return false;
    position += token.size();
    return true;
  }

  void skipSpace() { position = std::min(text.find_first_not_of(" \n", position), text.size()); }

  Error unexpected(std::string_view wanted) const {
    return invalidArgument("{} is missing at byte {} of the header", wanted, position);
  }

  std::string_view text;
  size_t position = 0;
};

struct DescrRow {
  std::string_view descr;
  DType dtype;
};
constexpr DescrRow descrs[] = {{"<f8", DType::F64}, {"<f4", DType::F32}, {"<f2", DType::F16},
                               {"<i8", DType::I64}, {"<i4", DType::I32}, {"|u1", DType::U8},
                               {"|b1", DType::Bool}};

Result<DType> parseDescr(std::string_view descr) {
  for (const DescrRow &row : descrs) {
    if (descr == row.descr)
      return row.dtype;
    if (row.descr[0] == '<' && descr.starts_with('>') && descr.substr(1) == row.descr.substr(1))
      return unsupported("dtype '{}' is big-endian; only little-endian files are read", descr);
  }
  return unsupported("dtype '{}' is none of <f8, <f4, <f2, <i8, <i4, |u1 and |b1", descr);
}

} // namespace

Result<std::vector<TensorFile::Entry>> tilewright::readNpyHeader(const ByteSource &source) {
  // The magic, two bytes of version, then the header's length: two bytes in version 1, four after.
  uint8_t prefix[12] = {};
  const uint64_t available = std::min<uint64_t>(source.size(), sizeof prefix);
  if (Status status = source.read(0, prefix, available); !status)
    return status.error();
  const unsigned major = prefix[6];
  const unsigned minor = prefix[7];
  const uint64_t headerStart = major == 1 ? 10 : 12;
  if (source.size() < headerStart)
    return invalidArgument("the .npy file is cut off after {} bytes", source.size());
  if (major < 1 || major > 3 || minor != 0)
    return unsupported(".npy format version {}.{} is none of 1.0, 2.0 and 3.0", major, minor);
  uint64_t headerLength = prefix[8] | prefix[9] << 8;
  if (major > 1)
    headerLength |= uint64_t(prefix[10]) << 16 | uint64_t(prefix[11]) << 24;
  if (headerLength > source.size() - headerStart)
    return invalidArgument("the header claims {} bytes, but the file ends after {}", headerLength,
                           source.size() - headerStart);
  if (headerLength > maxHeaderLength)
    return invalidArgument("the header has {} bytes; the limit is {}", headerLength,
                           maxHeaderLength);

  std::string text(headerLength, '\0');
  if (Status status = source.read(headerStart, text.data(), headerLength); !status)
    return status.error();
  Result<NpyDict> dict = DictParser(text).parse();
  if (!dict)
    return dict.error();
  Result<DType> dtype = parseDescr(*dict->descr);
  if (!dtype)
    return dtype.error();
  const size_t rank = dict->shape->size();
  if (rank > TensorView::maxRank)
    return unsupported("the shape has {} dimensions; the limit is {}", rank, TensorView::maxRank);

  TensorFile::Entry entry;
  entry.offset = headerStart + headerLength;
  if (*dict->fortranOrder) {
    // Row-major in the reversed order of dimensions.
    const std::vector<int64_t> reversed(dict->shape->rbegin(), dict->shape->rend());
    entry.layout = TensorView(nullptr, *dtype, reversed);
    std::reverse(entry.layout.shape.begin(), entry.layout.shape.begin() + rank);
    std::reverse(entry.layout.strides.begin(), entry.layout.strides.begin() + rank);
  } else {
    entry.layout = TensorView(nullptr, *dtype, *dict->shape);
  }
  const std::optional<uint64_t> bytes = sizeInBytes(entry.layout);
  if (!bytes)
    return invalidArgument("{} has more than 2^63 bytes", entry.layout.describe());
  if (*bytes != source.size() - entry.offset)
    return invalidArgument("{} takes {} bytes, but {} follow the header", entry.layout.describe(),
                           *bytes, source.size() - entry.offset);
  std::vector<TensorFile::Entry> entries;
  entries.push_back(std::move(entry));
  return entries;
}

Result<std::string> tilewright::makeNpyHeader(const TensorView &view) {
  if (!sizeInBytes(view))
    return invalidArgument("{} has a negative extent or more than 2^63 bytes", view.describe());
  auto row = std::ranges::find(descrs, view.dtype, &DescrRow::dtype);
  if (row == std::end(descrs))
    return unsupported("an .npy file cannot hold {}", view.describe());
  std::string dict =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", row->descr,
                  fmt::join(view.sizes(), ", "), view.rank == 1 ? "," : "");
  // Ten bytes precede the dict; with its newline the data start at a multiple of 64.
  constexpr size_t prefixSize = 10;
  dict.append(63 - (prefixSize + dict.size()) % 64, ' ');
  dict += '\n';
  const char prefix[] = {1, 0, static_cast<char>(dict.size() & 0xff),
                         static_cast<char>(dict.size() >> 8)};
  return std::string(npyMagic) + std::string(prefix, sizeof prefix) + dict;
}
