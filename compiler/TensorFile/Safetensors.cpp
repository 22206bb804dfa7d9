//===- Safetensors.cpp - The header of a safetensors file -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Eight bytes of length N, little-endian, then N bytes of JSON, then the data:
//
//   {"__metadata__": {"key": "value"},
//    "q": {"dtype": "F32", "shape": [3, 4], "data_offsets": [0, 48]}}
//
// The tensors' ranges cover the data from its first byte to its last, without overlap and without
// holes.
//
//===----------------------------------------------------------------------===//

#include "compiler/TensorFile/Headers.h"

#include "lib/Support/MakeError.h"

#include <llvm/Support/JSON.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>

using namespace tilewright;
namespace json = llvm::json;

namespace {

/// The format's own limit.
constexpr uint64_t maxHeaderLength = 100'000'000;

/// A valid header nests three deep.
constexpr size_t maxNesting = 16;

struct JsonFacts {
  size_t nesting = 0;
  size_t keys = 0;
};

/// What must be known of a JSON text before and after it is parsed. LLVM's parser recurses, so the
/// nesting is limited first; and it keeps the last of equal keys, so they are counted here.
JsonFacts scanJson(std::string_view text) {
  JsonFacts facts;
  size_t depth = 0;
  bool inString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (inString) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        inString = false;
    } else if (c == '"') {
      inString = true;
    } else if (c == '[' || c == '{') {
      facts.nesting = std::max(facts.nesting, ++depth);
    } else if (c == ']' || c == '}') {
      depth -= depth > 0;
    } else if (c == ':') {
      ++facts.keys;
    }
  }
  return facts;
}

/// An integer from 0 to 2^63 - 1, written as one. (Value::getAsInteger() also takes fractions, and
/// rounds 2^63 - 0.5 to a number that it cannot return.)
std::optional<int64_t> asSize(const json::Value &value) {
  const std::optional<uint64_t> number = value.getAsUINT64();
  if (!number || *number > std::numeric_limits<int64_t>::max())
    return std::nullopt;
  return static_cast<int64_t>(*number);
}

struct DTypeRow {
  llvm::StringRef name;
  DType dtype;
};
constexpr DTypeRow dtypes[] = {{"F64", DType::F64},   {"F32", DType::F32},  {"F16", DType::F16},
                               {"BF16", DType::BF16}, {"I64", DType::I64},  {"I32", DType::I32},
                               {"U8", DType::U8},     {"BOOL", DType::Bool}};

Result<TensorFile::Entry> readEntry(llvm::StringRef name, const json::Value &value,
                                    uint64_t dataSize) {
  const json::Object *object = value.getAsObject();
  const std::optional<llvm::StringRef> dtypeName =
      object ? object->getString("dtype") : std::nullopt;
  const json::Array *shape = object ? object->getArray("shape") : nullptr;
  const json::Array *offsets = object ? object->getArray("data_offsets") : nullptr;
  if (!dtypeName || !shape || !offsets || object->size() != 3)
    return invalidArgument("not an object of dtype, shape and data_offsets");
  auto row = std::ranges::find(dtypes, *dtypeName, &DTypeRow::name);
  if (row == std::end(dtypes))
    return unsupported("dtype '{}' is none of F64, F32, F16, BF16, I64, I32, U8 and BOOL",
                       dtypeName->str());

  if (shape->size() > TensorView::maxRank)
    return unsupported("the shape has {} dimensions; the limit is {}", shape->size(),
                       TensorView::maxRank);
  std::vector<int64_t> extents;
  for (const json::Value &item : *shape) {
    const std::optional<int64_t> extent = asSize(item);
    if (!extent)
      return invalidArgument("dimension {} of the shape is not an integer from 0 to 2^63 - 1",
                             extents.size());
    extents.push_back(*extent);
  }
  TensorFile::Entry entry{name.str(), TensorView(nullptr, row->dtype, extents), 0};
  const std::optional<uint64_t> bytes = sizeInBytes(entry.layout);
  if (!bytes)
    return invalidArgument("{} has more than 2^63 bytes", entry.layout.describe());

  const std::optional<int64_t> begin = offsets->size() == 2 ? asSize((*offsets)[0]) : std::nullopt;
  const std::optional<int64_t> end = offsets->size() == 2 ? asSize((*offsets)[1]) : std::nullopt;
  if (!begin || !end)
    return invalidArgument("data_offsets are not two integers from 0 to 2^63 - 1");
  if (*begin > *end || static_cast<uint64_t>(*end) > dataSize)
    return invalidArgument("data_offsets [{}, {}] are not a range of the {} bytes of data", *begin,
                           *end, dataSize);
  if (static_cast<uint64_t>(*end - *begin) != *bytes)
    return invalidArgument("{} takes {} bytes, but data_offsets [{}, {}] hold {}",
                           entry.layout.describe(), *bytes, *begin, *end, *end - *begin);
  entry.offset = static_cast<uint64_t>(*begin);
  return entry;
}

} // namespace

std::optional<uint64_t> tilewright::sizeInBytes(const TensorView &layout) {
  const std::optional<int64_t> count = layout.elementCount();
  int64_t bytes = 0;
  if (!count || __builtin_mul_overflow(*count, sizeOf(layout.dtype), &bytes))
    return std::nullopt;
  return static_cast<uint64_t>(bytes);
}

Result<std::vector<TensorFile::Entry>> tilewright::readSafetensorsHeader(const ByteSource &source) {
  uint8_t prefix[8];
  if (source.size() < sizeof prefix)
    return invalidArgument("neither .npy nor safetensors: {} bytes are too few for a header",
                           source.size());
  if (Status status = source.read(0, prefix, sizeof prefix); !status)
    return status.error();
  uint64_t length = 0;
  for (size_t i = 0; i < sizeof prefix; ++i)
    length |= uint64_t(prefix[i]) << 8 * i;
  const uint64_t available = source.size() - sizeof prefix;
  if (length > available)
    return invalidArgument("neither .npy nor safetensors: the latter's header would have {} bytes, "
                           "but the file ends after {}",
                           length, available);
  if (length > maxHeaderLength)
    return invalidArgument("the safetensors header has {} bytes; the limit is {}", length,
                           maxHeaderLength);

  std::string text(length, '\0');
  if (Status status = source.read(sizeof prefix, text.data(), length); !status)
    return status.error();
  if (!text.starts_with('{'))
    return invalidArgument("the safetensors header does not start with '{{'");
  const JsonFacts facts = scanJson(text);
  if (facts.nesting > maxNesting)
    return invalidArgument("the safetensors header nests {} brackets deep; the limit is {}",
                           facts.nesting, maxNesting);
  llvm::Expected<json::Value> header = json::parse(text);
  if (!header)
    return invalidArgument("the safetensors header is not JSON: {}",
                           llvm::toString(header.takeError()));
  const json::Object &root = *header->getAsObject();

  const uint64_t dataStart = sizeof prefix + length;
  const uint64_t dataSize = source.size() - dataStart;
  size_t distinctKeys = root.size();
  std::vector<TensorFile::Entry> entries;
  for (const auto &[key, value] : root) {
    const json::Object *object = value.getAsObject();
    distinctKeys += object ? object->size() : 0;
    if (key == "__metadata__") {
      if (!object || !std::ranges::all_of(*object, [](const auto &item) {
            return item.second.kind() == json::Value::String;
          }))
        return invalidArgument("__metadata__ of the safetensors header does not map to strings");
      continue;
    }
    Result<TensorFile::Entry> entry = readEntry(key, value, dataSize);
    if (!entry)
      return entry.error().within(fmt::format("entry '{}'", key.str()));
    entries.push_back(std::move(*entry));
  }
  if (distinctKeys != facts.keys)
    return invalidArgument("the safetensors header has {} keys, of which {} are distinct",
                           facts.keys, distinctKeys);

  auto end = [](const TensorFile::Entry &entry) {
    return entry.offset + *sizeInBytes(entry.layout);
  };
  std::ranges::sort(entries, {}, [&](const TensorFile::Entry &entry) {
    return std::tuple(entry.offset, end(entry), std::string_view(entry.name));
  });
  uint64_t covered = 0;
  for (TensorFile::Entry &entry : entries) {
    if (entry.offset != covered)
      return invalidArgument("entry '{}' starts at byte {} of the data, which {} the {} bytes "
                             "before it",
                             entry.name, entry.offset,
                             entry.offset < covered ? "overlaps" : "leaves a hole after", covered);
    covered = end(entry);
    entry.offset += dataStart;
  }
  if (covered != dataSize)
    return invalidArgument("the entries cover {} of the {} bytes of data", covered, dataSize);
  return entries;
}

Result<std::string> tilewright::makeSafetensorsHeader(std::span<const NamedTensor> tensors) {
  std::set<std::string_view> names;
  std::vector<int64_t> offsets = {0};
  for (const auto &[name, view] : tensors) {
    if (!json::isUTF8(name) || name == "__metadata__")
      return invalidArgument("an entry of a safetensors file cannot be named '{}'",
                             json::fixUTF8(name));
    if (!names.insert(name).second)
      return invalidArgument("two entries are named '{}'", name);
    const std::optional<uint64_t> bytes = sizeInBytes(view);
    int64_t end = 0;
    if (!bytes || __builtin_add_overflow(offsets.back(), *bytes, &end))
      return invalidArgument("entry '{}', {}, has a negative extent or ends past 2^63 bytes", name,
                             view.describe());
    offsets.push_back(end);
  }

  std::string text;
  llvm::raw_string_ostream stream(text);
  json::OStream out(stream);
  out.object([&] {
    for (size_t i = 0; i < tensors.size(); ++i) {
      const TensorView &view = tensors[i].view;
      out.attributeObject(tensors[i].name, [&] {
        out.attribute("dtype", std::ranges::find(dtypes, view.dtype, &DTypeRow::dtype)->name);
        out.attribute("shape", json::Array(view.sizes()));
        out.attribute("data_offsets", json::Array{offsets[i], offsets[i + 1]});
      });
    }
  });
  text.append((8 - text.size() % 8) % 8, ' ');
  if (text.size() > maxHeaderLength)
    return invalidArgument("the safetensors header has {} bytes; the limit is {}", text.size(),
                           maxHeaderLength);
  std::string prefix;
  for (size_t i = 0; i < 8; ++i)
    prefix += static_cast<char>(text.size() >> 8 * i & 0xff);
  return prefix + text;
}
