//===- MeasuredScheduleTest.cpp - Tests of where a schedule comes from ----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Driver/CompilationAccess.h"
#include "compiler/Tune/FindRecord.h"
#include "compiler/Tune/ShippedDefaults.h"
#include "compiler/Tune/TuningFile.h"
#include "tests/unit/TensorFile/TemporaryFolder.h"

#include <gmock/gmock.h>

using namespace tilewright;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

namespace {
Problem causal(int64_t headDim = 40) {
  Problem problem;
  problem.headDim = headDim;
  problem.dtype = DType::F16;
  problem.masks = {"k <= q"};
  return problem;
}

/// Compilations that look schedules up in a file of their own. The target is a GPU's where a test
/// must know the machine.
class MeasuredScheduleTest : public testing::Test {
protected:
  MeasuredScheduleTest() {
    options.target = "sm_90a";
    options.tuning = folder / "tuning.jsonl";
  }

  Compilation compiled(const Problem &problem = causal()) const {
    Result<Compilation> compilation = compile(problem, options);
    EXPECT_TRUE(compilation) << compilation.error().message();
    return *std::move(compilation);
  }

  /// Writes a line for the problem on this machine.
  void measure(const std::string &schedule, const Problem &problem = causal()) const {
    const std::optional<TuningSubject> subject =
        CompilationAccess::tuningSubject(compiled(problem));
    ASSERT_TRUE(subject);
    const Status appended =
        appendToTuningFile(options.tuning, toLine({.key = subject->key,
                                                   .schedule = schedule,
                                                   .seconds = 0.5,
                                                   .defaultSchedule = "block_q=1",
                                                   .defaultSeconds = 1,
                                                   .sizes = {1, 1, 1, 1, 1},
                                                   .threads = 1,
                                                   .date = "2026-11-30"}));
    ASSERT_TRUE(appended) << appended.error().message();
  }

  static std::vector<std::string> remarksOf(const Compilation &compilation) {
    std::vector<std::string> messages;
    for (const Remark &remark : compilation.remarks())
      if (remark.pass == "schedule")
        messages.push_back(remark.message);
    return messages;
  }

  TemporaryFolder folder;
  CompileOptions options;
  const std::string own = "block_q=128,block_kv=128,stages=2";
};

TEST_F(MeasuredScheduleTest, IsTheCompilersOwnWithoutMeasurements) {
  const Compilation compilation = compiled();
  EXPECT_EQ(compilation.schedule(), own);
  EXPECT_THAT(remarksOf(compilation),
              testing::ElementsAre(own +
                                   " is the compiler's own choice; nothing was measured for this "
                                   "problem on this kind of machine"));
}

TEST_F(MeasuredScheduleTest, IsTheLastMeasuredOne) {
  measure("block_q=64,block_kv=32,stages=2");
  measure("block_q=64,block_kv=64,stages=3");
  const Compilation compilation = compiled();
  EXPECT_EQ(compilation.schedule(), "block_q=64,block_kv=64,stages=3");
  EXPECT_THAT(
      remarksOf(compilation),
      testing::ElementsAre("block_q=64,block_kv=64,stages=3 was measured on this kind of machine "
                           "on 2026-11-30 and takes 0.50 of the time of block_q=1 (" +
                           options.tuning + ")"));
  EXPECT_THAT(compilation.text(Stage::Tile).value(), HasSubstr("tensor<64x64x"));
  EXPECT_EQ(CompilationAccess::tuningSubject(compilation)->own.blockQ, 128);
}

TEST_F(MeasuredScheduleTest, HoldsForOneProblemOnly) {
  measure("block_q=64,block_kv=64,stages=3");
  EXPECT_EQ(compiled(causal(48)).schedule(), own);
  Problem other = causal();
  other.dtype = DType::BF16;
  EXPECT_EQ(compiled(other).schedule(), own);
  other = causal();
  other.masks = {"k < q"};
  EXPECT_EQ(compiled(other).schedule(), own);
}

TEST_F(MeasuredScheduleTest, HoldsForTheSameProblemInWhateverWayItComes) {
  measure("block_q=64,block_kv=64,stages=3");
  Problem spelled = causal();
  spelled.masks = {"  (k)<=q "};
  spelled.lse = false;
  spelled.outDType = DType::F32;
  EXPECT_EQ(compiled(spelled).schedule(), "block_q=64,block_kv=64,stages=3");
  CompileOptions plain = options;
  plain.tuning = folder / "none.jsonl";
  const Result<Compilation> first = compile(causal(), plain);
  ASSERT_TRUE(first);
  const Result<Compilation> fromText =
      compileText(first->text(Stage::Attn).value(), Stage::Attn, options);
  ASSERT_TRUE(fromText) << fromText.error().message();
  EXPECT_EQ(fromText->schedule(), "block_q=64,block_kv=64,stages=3");
}

TEST_F(MeasuredScheduleTest, AStatedOneComesFirst) {
  measure("block_q=64,block_kv=64,stages=3");
  options.schedule = "block_kv=32";
  EXPECT_EQ(compiled().schedule(), "block_q=128,block_kv=32,stages=2");
  EXPECT_THAT(remarksOf(compiled()), testing::IsEmpty());
}

TEST_F(MeasuredScheduleTest, OneThatIsRefusedIsIgnored) {
  // So many stages are more than a field may say; 512 x 512 does not fit a multiprocessor.
  for (const char *bad :
       {"block_q=64,block_kv=64,stages=99", "warps=4", "block_q=512,block_kv=512,stages=2"}) {
    measure(bad);
    const Compilation compilation = compiled();
    EXPECT_EQ(compilation.schedule(), own) << bad;
    EXPECT_THAT(remarksOf(compilation),
                Contains(HasSubstr("the line for this problem is ignored: ")))
        << bad;
    const Result<std::string> sm = compilation.text(Stage::SM);
    EXPECT_TRUE(sm) << sm.error().message();
  }
}

TEST_F(MeasuredScheduleTest, AFileThatCannotBeReadIsSaidAndIgnored) {
  measure("block_q=64,block_kv=64,stages=3");
  std::filesystem::permissions(options.tuning, std::filesystem::perms::all);
  const Compilation compilation = compiled();
  EXPECT_EQ(compilation.schedule(), own);
  EXPECT_THAT(remarksOf(compilation), Contains(HasSubstr("measured schedules are not read: ")));
}

TEST_F(MeasuredScheduleTest, RubbishIsSaidAndIgnored) {
  measure("block_q=64,block_kv=64,stages=3");
  ASSERT_TRUE(appendToTuningFile(options.tuning, "{\"version\":2}\n"));
  const Compilation compilation = compiled();
  EXPECT_EQ(compilation.schedule(), "block_q=64,block_kv=64,stages=3");
  EXPECT_THAT(
      remarksOf(compilation),
      Contains(HasSubstr("a line is ignored: it does not begin as lines of this version do")));
}

TEST_F(MeasuredScheduleTest, ServesThisProcessorToo) {
  options.target = "cpu";
  if (!CompilationAccess::tuningSubject(compiled()))
    GTEST_SKIP() << "the system does not tell this machine's caches";
  measure("block_q=16,block_kv=32");
  const Compilation compilation = compiled();
  EXPECT_THAT(compilation.schedule(), HasSubstr("block_q=16,block_kv=32"));
  // Nobody measured another processor.
  options.cpu = "haswell";
  EXPECT_THAT(compiled().schedule(), Not(HasSubstr("block_q=16,block_kv=32")));
  EXPECT_FALSE(CompilationAccess::tuningSubject(compiled()));
}

TEST(ShippedDefaultsTest, EveryLineIsReadAndLegal) {
  std::string_view lines = shippedDefaults();
  while (!lines.empty()) {
    const size_t end = lines.find('\n');
    ASSERT_NE(end, std::string_view::npos);
    const Result<TuningRecord> record = parseTuningRecord(lines.substr(0, end));
    lines.remove_prefix(end + 1);
    ASSERT_TRUE(record) << record.error().message();
    Problem problem;
    problem.headDim = record->key.headDim;
    problem.valueDim = record->key.valueDim;
    problem.dtype = record->key.dtype;
    problem.scores = record->key.scores;
    problem.masks = record->key.masks;
    const Result<Compilation> compilation =
        compile(problem, {.target = record->key.target, .schedule = record->schedule});
    ASSERT_TRUE(compilation) << compilation.error().message();
    const Result<std::string> lowered =
        compilation->text(record->key.target == "cpu" ? Stage::Vector : Stage::SM);
    EXPECT_TRUE(lowered) << record->schedule << ": " << lowered.error().message();
  }
}
} // namespace
