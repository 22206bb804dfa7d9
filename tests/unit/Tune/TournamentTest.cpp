//===- TournamentTest.cpp - Tests of timing schedules ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Tune/Tournament.h"
#include "lib/Support/MakeError.h"

#include <gmock/gmock.h>

#include <map>

using namespace tilewright;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {
Schedule blocks(int64_t size) {
  return {.blockQ = size, .blockKV = size};
}

/// Kernels that take the seconds they are said to take, and a log of who ran when.
struct Fixture {
  struct Behaviour {
    /// Of runs 0, 1, ...; the last one of all further runs.
    std::vector<double> seconds;
    std::string refusal = {}, wrong = {}, failure = {};
  };

  class Fake : public Contender {
  public:
    Fake(Fixture &fixture, int64_t size) : fixture(fixture), size(size) {}
    Status check() override {
      const std::string &wrong = fixture.kernels.at(size).wrong;
      return wrong.empty() ? Status() : internalError("{}", wrong);
    }
    Result<double> run() override {
      const Behaviour &kernel = fixture.kernels.at(size);
      fixture.log.push_back(size);
      if (!kernel.failure.empty())
        return systemError("{}", kernel.failure);
      const size_t count = runs++;
      return kernel.seconds[std::min(count, kernel.seconds.size() - 1)];
    }

  private:
    Fixture &fixture;
    int64_t size;
    size_t runs = 0;
  };

  /// The first is the default, the others are tried in the order given.
  Result<TournamentResult> hold(const std::vector<int64_t> &sizes, TournamentRules rules = {}) {
    std::vector<Schedule> schedules;
    for (int64_t size : sizes)
      schedules.push_back(blocks(size));
    return holdTournament(
        schedules, rules, [this](const Schedule &schedule) -> Result<std::unique_ptr<Contender>> {
          const std::string &refusal = kernels.at(schedule.blockQ).refusal;
          if (!refusal.empty())
            return unsupported("{}", refusal);
          return std::unique_ptr<Contender>(std::make_unique<Fake>(*this, schedule.blockQ));
        });
  }

  std::string winner(const std::vector<int64_t> &sizes, TournamentRules rules = {}) {
    const Result<TournamentResult> result = hold(sizes, rules);
    return result ? toString(result->standings[result->best].schedule) : result.error().message();
  }

  std::map<int64_t, Behaviour> kernels;
  std::vector<int64_t> log;
};

TEST(TournamentTest, TheFastestWins) {
  Fixture f;
  f.kernels = {{8, {{1.0}}}, {16, {{0.95}}}, {32, {{0.9}}}, {64, {{0.96}}}};
  const Result<TournamentResult> result = f.hold({8, 16, 32, 64});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->best, 2u);
  EXPECT_EQ(result->standings.size(), 4u);
  EXPECT_EQ(result->standings[2].schedule, blocks(32));
  EXPECT_DOUBLE_EQ(result->standings[2].median, 0.9);
  EXPECT_DOUBLE_EQ(result->standings[2].ratio, 0.9);
  EXPECT_DOUBLE_EQ(result->standings[0].ratio, 1);
}

TEST(TournamentTest, TheDefaultWinsWithinTheNoise) {
  Fixture f;
  f.kernels = {{8, {{1.0}}}, {16, {{0.985}}}, {32, {{1.05}}}};
  EXPECT_EQ(f.winner({8, 16, 32}), "block_q=8,block_kv=8");
  f.kernels[16] = {{0.97}};
  EXPECT_EQ(f.winner({8, 16, 32}), "block_q=16,block_kv=16");
}

TEST(TournamentTest, AWrongOneNeverWinsAndIsNeverTimed) {
  Fixture f;
  f.kernels = {{8, {{1.0}}}, {16, {{0.01}, "", "rms 3 times the limit"}}, {32, {{0.9}}}};
  const Result<TournamentResult> result = f.hold({8, 16, 32});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->standings[result->best].schedule, blocks(32));
  EXPECT_TRUE(result->standings[1].hasWrongValues);
  EXPECT_EQ(result->standings[1].problem, "rms 3 times the limit");
  EXPECT_EQ(std::ranges::count(f.log, 16), 0);
}

TEST(TournamentTest, RefusedOnesSayWhyAndTheNextTakesTheirPlace) {
  Fixture f;
  f.kernels = {{8, {{1.0}}}, {16, {{0.5}, "too much scratch"}}, {32, {{0.9}}}, {64, {{0.8}}}};
  const Result<TournamentResult> result = f.hold({8, 16, 32, 64}, {.seconds = 1, .contenders = 2});
  ASSERT_TRUE(result);
  ASSERT_EQ(result->standings.size(), 3u) << "64 is one too many";
  EXPECT_EQ(result->standings[1].problem, "too much scratch");
  EXPECT_FALSE(result->standings[1].hasWrongValues);
  EXPECT_EQ(result->standings[1].runs, 0u);
  EXPECT_EQ(result->best, 2u);
}

TEST(TournamentTest, FailsWhereTheDefaultDoes) {
  Fixture f;
  f.kernels = {{8, {{1.0}, "no such device"}},
               {16, {{1.0}, "", "wrong"}},
               {32, {{1.0}, "", "", "the launch failed"}},
               {64, {{1.0}}}};
  EXPECT_EQ(f.winner({8, 64}), "no such device");
  EXPECT_EQ(f.winner({16, 64}), "wrong");
  EXPECT_EQ(f.winner({32, 64}), "the launch failed");
  EXPECT_EQ(f.winner({64, 32}), "the launch failed");
}

TEST(TournamentTest, EveryRoundRunsAllAndBeginsWithAnother) {
  Fixture f;
  f.kernels = {{8, {{1.0}}}, {16, {{1.0}}}, {32, {{1.0}}}};
  ASSERT_TRUE(f.hold({8, 16, 32}, {.seconds = 0, .contenders = 3}));
  EXPECT_THAT(f.log, ElementsAre(8, 16, 32, 16, 32, 8, 32, 8, 16)) << "at least three rounds";
}

TEST(TournamentTest, ADisturbanceOfOneRoundDecidesNothing) {
  Fixture f;
  // Somebody else took the machine in the second round.
  f.kernels = {{8, {{1.0, 5.0, 1.0}}}, {16, {{0.9, 4.5, 0.9}}}, {32, {{1.05, 5.25, 1.05}}}};
  const Result<TournamentResult> result = f.hold({8, 16, 32}, {.seconds = 0, .contenders = 3});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->best, 1u);
  EXPECT_DOUBLE_EQ(result->standings[1].median, 0.9);
  EXPECT_DOUBLE_EQ(result->standings[1].ratio, 0.9);
}

TEST(TournamentTest, LosersRunNoMoreButTheDefaultStays) {
  Fixture f;
  f.kernels = {{8, {{1.0}}}, {16, {{0.5}}}, {32, {{0.6}}}, {64, {{0.52}}}};
  const Result<TournamentResult> result = f.hold({8, 16, 32, 64}, {.seconds = 40, .contenders = 4});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->standings[2].runs, 3u);
  EXPECT_GT(result->standings[0].runs, 10u);
  EXPECT_EQ(result->standings[1].runs, result->standings[0].runs);
  EXPECT_EQ(result->standings[3].runs, result->standings[0].runs);
}

TEST(TournamentTest, EndsWhenItsSecondsAreSpentOrRunsTakeNone) {
  Fixture f;
  f.kernels = {{8, {{1.0}}}, {16, {{1.0}}}};
  ASSERT_TRUE(f.hold({8, 16}, {.seconds = 9.5, .contenders = 2}));
  EXPECT_EQ(f.log.size(), 10u);
  f.kernels = {{8, {{0.0}}}, {16, {{0.0}}}};
  f.log.clear();
  EXPECT_EQ(f.winner({8, 16}), "block_q=8,block_kv=8");
  EXPECT_EQ(f.log.size(), 400u);
}
} // namespace
