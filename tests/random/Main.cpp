//===- Main.cpp - Draws problems and checks them against the reference ----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// usage: tilewright-random-tests [--seed N] [--seconds N | --problems N]
//
// Prints its seed first. A failing problem is shrunk and printed with what is
// wrong; running again with --seed finds it again.
//
//===----------------------------------------------------------------------===//

#include "tests/random/RandomProblem.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <string_view>

using namespace tilewright::random_test;

/// Follows the first simpler problem that still fails, until none does.
static RandomProblem shrink(RandomProblem problem, std::string &why) {
  for (bool progress = true; progress;) {
    progress = false;
    for (RandomProblem &candidate : problem.simpler()) {
      std::string reason;
      if (candidate.check(reason) != RandomProblem::Outcome::Fails)
        continue;
      problem = std::move(candidate);
      why = std::move(reason);
      progress = true;
      break;
    }
  }
  return problem;
}

int main(int argc, char **argv) {
  uint64_t seed = std::random_device()();
  int64_t seconds = 30, problems = std::numeric_limits<int64_t>::max();
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view option = argv[i];
    char *end = nullptr;
    const int64_t number = std::strtoll(argv[i + 1], &end, 10);
    if (option == "--seed" && !*end)
      seed = static_cast<uint64_t>(number);
    else if (option == "--seconds" && !*end)
      seconds = number;
    else if (option == "--problems" && !*end)
      problems = number, seconds = std::numeric_limits<int32_t>::max();
    else
      return fmt::print(stderr, "unknown option {} {}\n", option, argv[i + 1]), 2;
  }
  if (argc % 2 == 0)
    return fmt::print(stderr, "option {} needs a number\n", argv[argc - 1]), 2;

  fmt::print("seed {}\n", seed);
  std::fflush(stdout);
  std::mt19937_64 random(seed);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  int64_t agreed = 0, refused = 0;
  for (int64_t i = 0; i < problems && std::chrono::steady_clock::now() < end; ++i) {
    const RandomProblem problem = RandomProblem::draw(random);
    std::string why;
    switch (problem.check(why)) {
    case RandomProblem::Outcome::Agrees:
      ++agreed;
      break;
    case RandomProblem::Outcome::Refused:
      ++refused;
      break;
    case RandomProblem::Outcome::Fails:
      fmt::print("problem {} fails: {}\n{}\nshrinking ...\n", i, why, problem.describe());
      std::fflush(stdout);
      const RandomProblem smallest = shrink(problem, why);
      fmt::print("smallest failing problem: {}\n{}\n", why, smallest.describe());
      return 1;
    }
  }
  fmt::print("{} problems agree with the reference, {} were refused at launch\n", agreed, refused);
  return agreed > 0 ? 0 : 1;
}
