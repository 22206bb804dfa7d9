//===- Tournament.cpp - Time schedules against each other -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Tune/Tournament.h"

#include <algorithm>

using namespace tilewright;

static constexpr size_t leastRounds = 3, mostRounds = 200;
static constexpr double lost = 1.1, noise = 0.02;

static double medianOf(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

namespace {
struct Player {
  size_t standing;
  std::unique_ptr<Contender> contender;
  std::vector<double> times; // of rounds 0, 1, ...
  bool isPlaying = true;

  double fastest() const { return *std::ranges::min_element(times); }
};

class Tournament {
public:
  /// True if it can be timed.
  bool admit(const Schedule &schedule, MakeContender make);
  Status play(double seconds);
  TournamentResult finish();

  Error refusalOfDefault() const { return *firstError; }

private:
  Status playRound(size_t round);
  void dismissLosers();

  std::vector<Player> players; // the default is the first
  TournamentResult result;
  std::optional<Error> firstError;
  double spent = 0;
};
} // namespace

bool Tournament::admit(const Schedule &schedule, MakeContender make) {
  Result<std::unique_ptr<Contender>> contender = make(schedule);
  Status checked = contender ? (*contender)->check() : Status(contender.error());
  if (!checked && !firstError)
    firstError = checked.error();
  result.standings.push_back({.schedule = schedule,
                              .problem = checked ? "" : checked.error().message(),
                              .hasWrongValues = contender && !checked});
  if (checked)
    players.push_back(
        {.standing = result.standings.size() - 1, .contender = *std::move(contender), .times = {}});
  return static_cast<bool>(checked);
}

Status Tournament::playRound(size_t round) {
  for (size_t i = 0; i < players.size(); ++i) {
    Player &player = players[(round + i) % players.size()];
    if (!player.isPlaying)
      continue;
    Result<double> time = player.contender->run();
    if (!time)
      return time.error();
    player.times.push_back(*time);
    spent += *time;
  }
  return {};
}

void Tournament::dismissLosers() {
  double leader = medianOf(players.front().times);
  for (const Player &player : players)
    if (player.isPlaying)
      leader = std::min(leader, medianOf(player.times));
  for (Player &player : players)
    if (&player != &players.front() && player.fastest() > lost * leader)
      player.isPlaying = false;
}

Status Tournament::play(double seconds) {
  for (size_t round = 0; round < mostRounds && (round < leastRounds || spent < seconds); ++round) {
    if (Status played = playRound(round); !played)
      return played;
    if (round + 1 >= leastRounds)
      dismissLosers();
  }
  return {};
}

TournamentResult Tournament::finish() {
  const std::vector<double> &standard = players.front().times;
  for (const Player &player : players) {
    Standing &standing = result.standings[player.standing];
    std::vector<double> ratios;
    for (size_t round = 0; round < player.times.size(); ++round)
      ratios.push_back(player.times[round] / standard[round]);
    standing.median = medianOf(player.times);
    standing.runs = player.times.size();
    standing.ratio = medianOf(ratios);
    // Who was dismissed early has seen too few rounds to win.
    const double toBeat = result.best == 0 ? 1 - noise : result.standings[result.best].ratio;
    if (player.isPlaying && standing.ratio < toBeat)
      result.best = player.standing;
  }
  return std::move(result);
}

Result<TournamentResult> tilewright::holdTournament(const std::vector<Schedule> &schedules,
                                                    const TournamentRules &rules,
                                                    MakeContender make) {
  Tournament tournament;
  size_t admitted = 0;
  for (const Schedule &schedule : schedules) {
    if (admitted >= rules.contenders)
      break;
    admitted += tournament.admit(schedule, make);
    if (admitted == 0)
      return tournament.refusalOfDefault();
  }
  if (Status played = tournament.play(rules.seconds); !played)
    return played.error();
  return tournament.finish();
}
