//===- FindRecordTest.cpp - Tests of looking a schedule up ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Tune/FindRecord.h"
#include "tests/unit/Tune/Testing.h"

#include <gmock/gmock.h>

using namespace tilewright;
using namespace tilewright::tuning;
using testing::HasSubstr;

namespace {
std::string scheduleIn(const std::string &text, const TuningKey &key = keyOf()) {
  const FoundRecord found = findRecord(text, key);
  return found.record ? found.record->schedule : "none";
}

TEST(FindRecordTest, TakesTheLastLineThatHolds) {
  const std::string text = toLine(recordOf("block_q=8")) + toLine(recordOf("block_q=16")) +
                           toLine(recordOf("block_q=32", /*headDim=*/128));
  EXPECT_EQ(scheduleIn(text), "block_q=16");
  EXPECT_EQ(scheduleIn(text, keyOf(128)), "block_q=32");
  EXPECT_EQ(scheduleIn(text, keyOf(80)), "none");
  EXPECT_EQ(scheduleIn(""), "none");
}

TEST(FindRecordTest, ComparesTheWholeKey) {
  const std::string text = toLine(recordOf("block_q=8"));
  EXPECT_EQ(scheduleIn(text), "block_q=8");
  const auto change = [](auto alter) {
    TuningKey key = keyOf();
    alter(key);
    return key;
  };
  for (const TuningKey &other :
       {change([](TuningKey &k) { k.target = "sm_90a"; }),
        change([](TuningKey &k) { k.machine.features += ",avx512f"; }),
        change([](TuningKey &k) { k.machine.level1 = 49152; }),
        change([](TuningKey &k) { k.machine.level2 = 2097152; }),
        change([](TuningKey &k) { k.headDim = 63; }), change([](TuningKey &k) { k.valueDim = 63; }),
        change([](TuningKey &k) { k.dtype = DType::F64; }),
        change([](TuningKey &k) { k.scores.clear(); }),
        change([](TuningKey &k) { k.masks = {"k < q"}; }),
        change([](TuningKey &k) { std::swap(k.masks, k.scores); })})
    EXPECT_EQ(scheduleIn(text, other), "none");
}

TEST(FindRecordTest, IgnoresALineThatIsStillBeingWritten) {
  const std::string whole = toLine(recordOf("block_q=8")), next = toLine(recordOf("block_q=16"));
  for (size_t length = 0; length < next.size(); ++length) {
    const FoundRecord found = findRecord(whole + next.substr(0, length), keyOf());
    ASSERT_TRUE(found.record) << length;
    EXPECT_EQ(found.record->schedule, "block_q=8") << length;
    EXPECT_EQ(found.complaint, "") << length;
  }
  EXPECT_EQ(scheduleIn(next.substr(0, next.size() - 1)), "none");
}

TEST(FindRecordTest, SaysWhichLinesItIgnored) {
  const std::string good = toLine(recordOf("block_q=8"));
  const FoundRecord one = findRecord(good + "\nrubbish\n", keyOf());
  EXPECT_EQ(one.record->schedule, "block_q=8");
  EXPECT_EQ(one.complaint, "a line is ignored: it does not begin as lines of this version do");
  std::string later = toLine(recordOf("block_q=16"));
  later.replace(later.find("\"date\""), 6, "\"day\"");
  const FoundRecord two = findRecord(good + "{\"version\":2}\n" + later, keyOf());
  EXPECT_EQ(two.record->schedule, "block_q=8");
  EXPECT_EQ(two.complaint,
            "2 lines are ignored, the last of them because: the line has the unknown field 'day'");
}

TEST(FindRecordTest, WhatALineForAnotherKeySaysMeansNothing) {
  std::string other = toLine(recordOf("block_q=16", /*headDim=*/128));
  other.replace(other.find("\"date\""), 6, "\"day\"");
  EXPECT_EQ(findRecord(other, keyOf()).complaint, "");
  EXPECT_NE(findRecord(other, keyOf(128)).complaint, "");
}

TEST(FindRecordTest, LinesBeginWithTheirKey) {
  const std::string line = toLine(recordOf("block_q=8"));
  EXPECT_TRUE(line.starts_with(beginningOfLine(keyOf())));
  EXPECT_TRUE(line.starts_with(beginningOfAllLines));
  EXPECT_TRUE(line.substr(beginningOfLine(keyOf()).size()).starts_with("\"schedule\":"));
}

TEST(FindRecordTest, DoesNotReadOnBeforeTheLineFound) {
  EXPECT_EQ(findRecord("rubbish\n" + toLine(recordOf("block_q=8")), keyOf()).complaint, "");
}
} // namespace
