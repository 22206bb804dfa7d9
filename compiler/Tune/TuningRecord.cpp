//===- TuningRecord.cpp - One measured schedule as a line -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Tune/TuningRecord.h"

#include "lib/Expression/Spelling.h"
#include "lib/Support/JsonNesting.h"
#include "lib/Support/MakeError.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

using namespace tilewright;
using expression::printable;
namespace json = llvm::json;

/// Of the format. A line of another version is not read: its fields may mean something else.
static constexpr int64_t version = 1;
static constexpr size_t maxNesting = 4;

static json::Array toArray(const std::vector<std::string> &texts) {
  json::Array array;
  for (const std::string &text : texts)
    array.push_back(text);
  return array;
}

static void writeKey(json::OStream &out, const TuningKey &key) {
  out.attribute("version", version);
  out.attribute("target", key.target);
  out.attributeObject("machine", [&] {
    out.attribute("features", key.machine.features);
    out.attribute("level1_bytes", key.machine.level1);
    out.attribute("level2_bytes", key.machine.level2);
  });
  out.attributeObject("problem", [&] {
    out.attribute("head_dim", key.headDim);
    out.attribute("value_dim", key.valueDim);
    out.attribute("dtype", std::string(nameOf(key.dtype)));
    out.attribute("scores", toArray(key.scores));
    out.attribute("masks", toArray(key.masks));
  });
}

std::string tilewright::beginningOfLine(const TuningKey &key) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  json::OStream out(stream);
  out.object([&] { writeKey(out, key); });
  text.back() = ','; // instead of the bracket that ends the object
  return text;
}

std::string tilewright::toLine(const TuningRecord &record) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  json::OStream out(stream);
  out.object([&] {
    writeKey(out, record.key);
    out.attribute("schedule", record.schedule);
    out.attribute("time_s", record.seconds);
    out.attribute("default_schedule", record.defaultSchedule);
    out.attribute("default_time_s", record.defaultSeconds);
    out.attribute("sizes", json::Array(record.sizes));
    out.attribute("threads", record.threads);
    out.attribute("date", record.date);
  });
  return text + "\n";
}

namespace {
/// Reads the fields of one object; after the first failure the rest is ignored.
class FieldReader {
public:
  FieldReader(const json::Object *object, std::string_view what,
              std::initializer_list<llvm::StringRef> fields, Status &status)
      : object(object), what(what), status(status) {
    if (!object) {
      fail(invalidArgument("{} is no object", what));
      return;
    }
    for (const auto &[name, value] : *object)
      if (!llvm::is_contained(fields, llvm::StringRef(name)))
        fail(invalidArgument("{} has the unknown field '{}'", what,
                             printable(llvm::StringRef(name), 40)));
  }

  void read(llvm::StringRef name, std::string &result) {
    const json::Value *value = get(name);
    if (const auto text = value ? value->getAsString() : std::nullopt)
      result = text->str();
    else
      missing(name, "a text");
  }
  void read(llvm::StringRef name, int64_t &result, int64_t least) {
    const json::Value *value = get(name);
    const auto number = value ? value->getAsInteger() : std::nullopt;
    if (number && *number >= least)
      result = *number;
    else
      missing(name, fmt::format("an integer from {} on", least));
  }
  void read(llvm::StringRef name, double &result) {
    const json::Value *value = get(name);
    const auto number = value ? value->getAsNumber() : std::nullopt;
    if (number && std::isfinite(*number) && *number > 0)
      result = *number;
    else
      missing(name, "a number above 0");
  }
  void read(llvm::StringRef name, std::vector<std::string> &result) {
    const json::Array *array = object ? object->getArray(name) : nullptr;
    for (const json::Value &value : array ? *array : json::Array()) {
      const auto text = value.getAsString();
      if (!text)
        return missing(name, "a list of texts");
      result.push_back(text->str());
    }
    if (!array)
      missing(name, "a list of texts");
  }
  void read(llvm::StringRef name, std::array<int64_t, 5> &result) {
    const json::Array *array = object ? object->getArray(name) : nullptr;
    for (size_t i = 0; i < result.size(); ++i) {
      const auto number =
          array && array->size() == result.size() ? (*array)[i].getAsInteger() : std::nullopt;
      if (!number || *number < 0)
        return missing(name, "five integers from 0 on");
      result[i] = *number;
    }
  }
  const json::Object *nested(llvm::StringRef name) const {
    return object ? object->getObject(name) : nullptr;
  }

private:
  const json::Value *get(llvm::StringRef name) const {
    return object ? object->get(name) : nullptr;
  }
  void missing(llvm::StringRef name, std::string_view wanted) {
    fail(invalidArgument("{} has no field '{}' that is {}", what, std::string_view(name), wanted));
  }
  void fail(Error error) {
    if (status)
      status = std::move(error);
  }

  const json::Object *object;
  std::string_view what;
  Status &status;
};
} // namespace

static bool isDate(llvm::StringRef text) {
  if (text.size() != 10)
    return false;
  for (size_t i = 0; i < text.size(); ++i)
    if (i == 4 || i == 7 ? text[i] != '-' : !llvm::isDigit(text[i]))
      return false;
  return true;
}

static Result<TuningRecord> readRecord(const json::Object &root) {
  if (root.getInteger("version") != version)
    return invalidArgument("it is not of version {}, which this compiler reads", version);
  TuningRecord record;
  TuningKey &key = record.key;
  Status status;
  FieldReader line(&root, "the line",
                   {"version", "target", "machine", "problem", "schedule", "time_s",
                    "default_schedule", "default_time_s", "sizes", "threads", "date"},
                   status);
  line.read("target", key.target);
  line.read("schedule", record.schedule);
  line.read("time_s", record.seconds);
  line.read("default_schedule", record.defaultSchedule);
  line.read("default_time_s", record.defaultSeconds);
  line.read("sizes", record.sizes);
  line.read("threads", record.threads, 1);
  line.read("date", record.date);
  FieldReader machine(line.nested("machine"), "machine",
                      {"features", "level1_bytes", "level2_bytes"}, status);
  machine.read("features", key.machine.features);
  machine.read("level1_bytes", key.machine.level1, 0);
  machine.read("level2_bytes", key.machine.level2, 0);
  FieldReader problem(line.nested("problem"), "problem",
                      {"head_dim", "value_dim", "dtype", "scores", "masks"}, status);
  std::string dtype;
  problem.read("head_dim", key.headDim, 1);
  problem.read("value_dim", key.valueDim, 1);
  problem.read("dtype", dtype);
  problem.read("scores", key.scores);
  problem.read("masks", key.masks);
  if (!status)
    return status.error();
  const std::optional<DType> known = parseDType(dtype);
  if (!known)
    return invalidArgument("dtype is '{}'", printable(dtype, 40));
  key.dtype = *known;
  if (!isDate(record.date))
    return invalidArgument("date is '{}'; it must be like 2026-11-30", printable(record.date, 40));
  return record;
}

Result<TuningRecord> tilewright::parseTuningRecord(std::string_view line) {
  if (line.size() > maxTuningLine)
    return invalidArgument("it has {} bytes; the limit is {}", line.size(), maxTuningLine);
  if (const size_t nesting = jsonNesting(line); nesting > maxNesting)
    return invalidArgument("brackets are nested {} deep; the limit is {}", nesting, maxNesting);
  llvm::Expected<json::Value> value = json::parse(llvm::StringRef(line.data(), line.size()));
  if (!value)
    return invalidArgument("{}", llvm::toString(value.takeError()));
  const json::Object *root = value->getAsObject();
  if (!root)
    return invalidArgument("it is no object");
  return readRecord(*root);
}
