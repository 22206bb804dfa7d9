//===- TuningRecordTest.cpp - Tests of lines of a database ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/unit/Tune/Testing.h"

#include <gmock/gmock.h>

using namespace tilewright;
using namespace tilewright::tuning;
using testing::HasSubstr;

namespace {
std::string refusal(std::string_view line) {
  const Result<TuningRecord> record = parseTuningRecord(line);
  return record ? "accepted" : record.error().message();
}

/// A good line in which `from` has become `to`.
std::string altered(const std::string &from, const std::string &to) {
  std::string line = toLine(recordOf("block_q=48,block_kv=96"));
  const size_t at = line.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return line.replace(at, from.size(), to);
}

TEST(TuningRecordTest, ComesBackAsItWasWritten) {
  const TuningRecord written = recordOf("block_q=48,block_kv=96");
  const std::string line = toLine(written);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const Result<TuningRecord> read = parseTuningRecord(line);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->key, written.key);
  EXPECT_EQ(read->schedule, "block_q=48,block_kv=96");
  EXPECT_EQ(read->seconds, 0.0123);
  EXPECT_EQ(read->defaultSchedule, "block_q=24,block_kv=48");
  EXPECT_EQ(read->defaultSeconds, 0.0151);
  EXPECT_EQ(read->sizes, written.sizes);
  EXPECT_EQ(read->threads, 2);
  EXPECT_EQ(read->date, "2026-11-30");
}

TEST(TuningRecordTest, RefusesWhatIsNoJson) {
  EXPECT_THAT(refusal("block_q=64"), HasSubstr("value"));
  EXPECT_EQ(refusal("[1]"), "it is no object");
  EXPECT_NE(refusal(std::string("{\"version\":1\0}", 14)), "accepted");
  EXPECT_NE(refusal("{\"version\":1,\"target\":\"\xff\"}"), "accepted");
}

TEST(TuningRecordTest, RefusesOtherVersions) {
  for (const char *version : {"\"version\":2", "\"version\":\"1\"", "\"revision\":1"})
    EXPECT_EQ(refusal(altered("\"version\":1", version)),
              "it is not of version 1, which this compiler reads");
}

TEST(TuningRecordTest, RefusesFieldsThatItDoesNotKnow) {
  EXPECT_EQ(refusal(altered("\"date\"", "\"only_on_mondays\":true,\"date\"")),
            "the line has the unknown field 'only_on_mondays'");
  EXPECT_EQ(refusal(altered("\"head_dim\"", "\"group\":8,\"head_dim\"")),
            "problem has the unknown field 'group'");
  EXPECT_EQ(refusal(altered("\"level1_bytes\"", "\"cores\":8,\"level1_bytes\"")),
            "machine has the unknown field 'cores'");
}

TEST(TuningRecordTest, NamesTheFieldThatIsWrong) {
  EXPECT_EQ(refusal(altered("\"head_dim\":64", "\"head_dim\":0")),
            "problem has no field 'head_dim' that is an integer from 1 on");
  EXPECT_EQ(refusal(altered("\"head_dim\":64", "\"head_dim\":1e300")),
            "problem has no field 'head_dim' that is an integer from 1 on");
  EXPECT_EQ(refusal(altered("\"time_s\":0.0123", "\"time_s\":-1")),
            "the line has no field 'time_s' that is a number above 0");
  EXPECT_EQ(refusal(altered("\"time_s\":0.0123,", "")),
            "the line has no field 'time_s' that is a number above 0");
  EXPECT_EQ(refusal(altered("\"masks\":[", "\"masks\":[7,")),
            "problem has no field 'masks' that is a list of texts");
  EXPECT_EQ(refusal(altered("\"sizes\":[1,", "\"sizes\":[")),
            "the line has no field 'sizes' that is five integers from 0 on");
  EXPECT_EQ(refusal(altered("\"dtype\":\"f32\"", "\"dtype\":\"f31\"")), "dtype is 'f31'");
  EXPECT_EQ(refusal(altered("2026-11-30", "yesterday!")),
            "date is 'yesterday!'; it must be like 2026-11-30");
  EXPECT_EQ(refusal(altered("\"machine\":{", "\"machine\":7,\"machine2\":{")),
            "the line has the unknown field 'machine2'");
}

TEST(TuningRecordTest, LimitsSizeAndNesting) {
  EXPECT_EQ(refusal(std::string(maxTuningLine + 1, ' ')), "it has 16385 bytes; the limit is 16384");
  EXPECT_EQ(refusal(std::string(8000, '[')), "brackets are nested 8000 deep; the limit is 4");
  EXPECT_EQ(refusal(altered("k <= q", "[[[[[[[[")), "accepted")
      << "brackets of a text do not count";
}
} // namespace
