//===- MeasuredSchedule.cpp - A schedule that was measured ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Driver/MeasuredSchedule.h"
#include "compiler/Tune/FindRecord.h"
#include "compiler/Tune/ShippedDefaults.h"
#include "compiler/Tune/TuningFile.h"

#include <fmt/format.h>

using namespace tilewright;

static void say(Compilation::Implementation &state, std::string message) {
  state.addRemark({.pass = "schedule", .message = std::move(message)});
}

/// Puts the record's schedule in force, as far as it can be read.
static Status adopt(Compilation::Implementation &state, const TuningRecord &record) {
  Result<Schedule> schedule = parseSchedule(record.schedule, state.schedule);
  if (!schedule)
    return schedule.error();
  if (Status checked = state.lowering->checkSchedule(*schedule); !checked)
    return checked;
  state.schedule = *schedule;
  return {};
}

/// True if a line of the user's file is in force now.
static bool useUsersFile(Compilation::Implementation &state, const TuningKey &key,
                         const std::string &stated) {
  Result<std::string> file = findTuningFile(stated);
  Result<std::string> text = !file           ? Result<std::string>(file.error())
                             : file->empty() ? Result<std::string>(std::string())
                                             : readTuningFile(*file);
  if (!text) {
    say(state, fmt::format("measured schedules are not read: {}", text.error().message()));
    return false;
  }
  const FoundRecord found = findRecord(*text, key);
  if (!found.complaint.empty())
    say(state, fmt::format("{}: {}", *file, found.complaint));
  if (!found.record)
    return false;
  const TuningRecord &record = *found.record;
  const Schedule own = state.schedule;
  Status adopted = adopt(state, record);
  if (adopted)
    adopted = state.tryLowering();
  if (!adopted) {
    state.schedule = own;
    say(state, fmt::format("{}: the line for this problem is ignored: {}", *file,
                           adopted.error().message()));
    return false;
  }
  say(state,
      fmt::format("{} was measured on this kind of machine on {} and takes {:.2f} of the time "
                  "of {} ({})",
                  toString(state.schedule), record.date, record.seconds / record.defaultSeconds,
                  record.defaultSchedule, *file));
  return true;
}

void tilewright::useMeasuredSchedule(Compilation::Implementation &state,
                                     const std::string &tuningFile) {
  const std::optional<TuningKey> key = state.tuningKey();
  if (!key)
    return;
  if (useUsersFile(state, *key, tuningFile))
    return;
  const FoundRecord shipped = findRecord(shippedDefaults(), *key);
  if (shipped.record && adopt(state, *shipped.record))
    return say(state,
               fmt::format("{} comes with Tilewright: measured on this kind of machine on {}",
                           toString(state.schedule), shipped.record->date));
  say(state,
      fmt::format("{} is the compiler's own choice; nothing was measured for this problem on "
                  "this kind of machine",
                  toString(state.schedule)));
}
