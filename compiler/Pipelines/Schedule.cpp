//===- Schedule.cpp - The compiler's choices as options and text ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Pipelines/Schedule.h"

#include "dialect/Tile/Tile.h"
#include "lib/Expression/Spelling.h"
#include "lib/Support/MakeError.h"

#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <array>

using namespace tilewright;
using expression::printable;

namespace {
struct Field {
  std::string_view name;
  int64_t Schedule::*value;
};
} // namespace

static constexpr std::array<Field, 2> fields = {
    {{"block_q", &Schedule::blockQ}, {"block_kv", &Schedule::blockKV}}};

std::string tilewright::toString(const Schedule &schedule) {
  std::string text;
  for (const Field &field : fields)
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", field.name, schedule.*field.value);
  return text;
}

static Error unknownField(std::string_view seen) {
  std::vector<std::string_view> names;
  for (const Field &field : fields)
    names.push_back(field.name);
  return invalidArgument("schedule has the unknown field '{}'; fields are {}", printable(seen, 40),
                         fmt::join(names, ", "));
}

Result<Schedule> tilewright::parseSchedule(std::string_view text, const Schedule &defaults) {
  Schedule schedule = defaults;
  std::array<bool, fields.size()> seen{};
  llvm::StringRef rest = text;
  while (!rest.empty()) {
    auto [entry, tail] = rest.split(',');
    rest = tail;
    auto [name, value] = entry.split('=');
    name = name.trim(' ');
    value = value.trim(' ');
    const auto field = std::ranges::find(fields, std::string_view(name), &Field::name);
    if (field == fields.end())
      return unknownField(name);
    if (std::exchange(seen[field - fields.begin()], true))
      return invalidArgument("schedule names {} twice", field->name);
    int64_t number = 0;
    if (value.getAsInteger(10, number) || number < 1 || number > tile::maxBlockSize)
      return invalidArgument("schedule has {} = '{}'; it must be an integer from 1 to {}",
                             field->name, printable(value, 40), tile::maxBlockSize);
    schedule.*field->value = number;
  }
  return schedule;
}
