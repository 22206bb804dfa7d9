//===- Tournament.h - Time schedules against each other ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TUNE_TOURNAMENT_H
#define TILEWRIGHT_COMPILER_TUNE_TOURNAMENT_H

#include "compiler/Pipelines/Schedule.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <memory>
#include <vector>

namespace tilewright {

/// A kernel made under one schedule, on inputs that all contenders share.
class Contender {
public:
  virtual ~Contender() = default;
  /// Computes once and compares with right values; the error says what is wrong.
  virtual Status check() = 0;
  /// Computes once and returns the seconds that it took.
  virtual Result<double> run() = 0;
};

struct TournamentRules {
  /// Seconds that all timed runs take together, though there are at least three rounds.
  double seconds = 10;
  /// How many schedules are timed, the default among them.
  size_t contenders = 12;
};

/// What became of one schedule.
struct Standing {
  Schedule schedule;
  /// Why it was not timed, empty if it was: it is not legal, or has wrong values.
  std::string problem = {};
  bool hasWrongValues = false;
  /// Seconds, the median of its runs, and how many there were.
  double median = 0;
  size_t runs = 0;
  /// The median over its rounds of its time by that of the default in the same round.
  double ratio = 0;
};

struct TournamentResult {
  /// The default first, then the others as they were tried.
  std::vector<Standing> standings;
  /// Of the winner, which was timed.
  size_t best = 0;
};

/// Makes a kernel under a schedule, or says why it is refused: not legal for the problem.
using MakeContender = llvm::function_ref<Result<std::unique_ptr<Contender>>(const Schedule &)>;

/// Finds the fastest of `schedules`, the first of which is the default, among as many as the rules
/// let in, taken in their order. Who is refused by `make` or has wrong values is never timed, and
/// the next one takes its place. Every round runs each contender once, beginning with another one
/// each time, so that what disturbs the machine for a while disturbs all. From the third round on,
/// who was slower in its fastest run than the leader is usually, by a tenth, has lost and runs no
/// more; the default stays to the end. Another schedule wins only by more than the noise, which is
/// taken to be 2 %.
///
/// Fails if the default is refused or wrong, or a run fails.
Result<TournamentResult> holdTournament(const std::vector<Schedule> &schedules,
                                        const TournamentRules &rules, MakeContender make);

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_TUNE_TOURNAMENT_H
