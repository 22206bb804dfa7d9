//===- Schedule.cpp - The compiler's choices as options and text ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Pipelines/Schedule.h"

#include "compiler/Conversion/TileToVector/VectorBuilder.h"
#include "dialect/SM/SM.h"
#include "dialect/Tile/Tile.h"
#include "lib/Expression/Spelling.h"
#include "lib/Support/MakeError.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <array>

using namespace tilewright;
using expression::printable;

static constexpr std::array<ScheduleField, 5> fields = {
    {{"block_q", &Schedule::blockQ, tile::maxBlockSize},
     {"block_kv", &Schedule::blockKV, tile::maxBlockSize},
     {"stages", &Schedule::stages, sm::maxStages},
     {"vectors", &Schedule::vectors, maxTileVectors},
     {"rows", &Schedule::rows, maxTileRows}}};

std::span<const ScheduleField> tilewright::scheduleFields() {
  return fields;
}

std::string tilewright::toString(const Schedule &schedule) {
  std::string text;
  for (const ScheduleField &field : fields)
    if (schedule.*field.value != 0)
      text += fmt::format("{}{}={}", text.empty() ? "" : ",", field.name, schedule.*field.value);
  return text;
}

static Error unknownField(std::string_view seen, const Schedule &defaults) {
  std::vector<std::string_view> names;
  for (const ScheduleField &field : fields)
    if (defaults.*field.value != 0)
      names.push_back(field.name);
  if (names.empty())
    return invalidArgument("schedule has the field '{}', but this target has none at this stage",
                           printable(seen, 40));
  return invalidArgument("schedule has the unknown field '{}'; fields are {}", printable(seen, 40),
                         fmt::join(names, ", "));
}

Result<Schedule> tilewright::parseSchedule(std::string_view text, const Schedule &defaults) {
  Schedule schedule = defaults;
  std::array<bool, fields.size()> seen{};
  llvm::SmallVector<llvm::StringRef> entries;
  if (!text.empty())
    llvm::StringRef(text).split(entries, ',');
  for (llvm::StringRef entry : entries) {
    auto [name, value] = entry.split('=');
    name = name.trim(' ');
    value = value.trim(' ');
    const auto field = std::ranges::find(fields, std::string_view(name), &ScheduleField::name);
    if (field == fields.end() || defaults.*field->value == 0)
      return unknownField(name, defaults);
    if (std::exchange(seen[field - fields.begin()], true))
      return invalidArgument("schedule names {} twice", field->name);
    int64_t number = 0;
    if (value.getAsInteger(10, number) || number < 1 || number > field->most)
      return invalidArgument("schedule has {} = '{}'; it must be an integer from 1 to {}",
                             field->name, printable(value, 40), field->most);
    schedule.*field->value = number;
  }
  return schedule;
}
