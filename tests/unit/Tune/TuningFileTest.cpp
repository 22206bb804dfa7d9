//===- TuningFileTest.cpp - Tests of the file of measured schedules -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Tune/TuningFile.h"
#include "tests/unit/TensorFile/TemporaryFolder.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace tilewright;
using testing::AllOf;
using testing::HasSubstr;

namespace {
std::string textOf(const std::string &path) {
  const Result<std::string> text = readTuningFile(path);
  return text ? *text : text.error().message();
}

void append(const std::string &path, const std::string &line) {
  const Status appended = appendToTuningFile(path, line);
  EXPECT_TRUE(appended) << appended.error().message();
}

mode_t modeOf(const std::string &path) {
  struct stat facts;
  return stat(path.c_str(), &facts) == 0 ? facts.st_mode & 07777 : 0;
}

class TuningFileTest : public testing::Test {
protected:
  TemporaryFolder folder;
};

TEST_F(TuningFileTest, IsCreatedForThisUserAloneByTheFirstLine) {
  const std::string path = folder / "a/b/tuning.jsonl";
  EXPECT_EQ(textOf(path), "");
  EXPECT_EQ(modeOf(folder / "a"), 0u) << "reading creates nothing";
  append(path, "one\n");
  append(path, "two\n");
  EXPECT_EQ(textOf(path), "one\ntwo\n");
  EXPECT_EQ(modeOf(path), 0600u);
  EXPECT_EQ(modeOf(folder / "a/b"), 0700u);
}

TEST_F(TuningFileTest, BeginsANewLineBehindATornOne) {
  folder.write("tuning.jsonl", "torn");
  append(folder / "tuning.jsonl", "whole\n");
  EXPECT_EQ(textOf(folder / "tuning.jsonl"), "torn\nwhole\n");
}

TEST_F(TuningFileTest, ReadsWholeLinesAtTheEndOfALargeFile) {
  std::string text;
  for (int i = 0; text.size() <= maxTuningText + 100; ++i)
    text += "line " + std::to_string(i) + "\n";
  folder.write("tuning.jsonl", text);
  const std::string read = textOf(folder / "tuning.jsonl");
  EXPECT_LE(read.size(), maxTuningText);
  EXPECT_GT(read.size(), maxTuningText - 20);
  EXPECT_TRUE(read.starts_with("line "));
  EXPECT_TRUE(text.ends_with("\n" + read));
}

TEST_F(TuningFileTest, WritersWaitForEachOther) {
  const std::string path = folder / "tuning.jsonl";
  append(path, "first\n");
  const int holder = open(path.c_str(), O_RDWR);
  ASSERT_EQ(flock(holder, LOCK_EX), 0);
  std::thread writer([&] { append(path, "second\n"); });
  // Whether it waits is seen by what it has not written; it is given some time to do wrong.
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(textOf(path), "first\n");
  close(holder);
  writer.join();
  EXPECT_EQ(textOf(path), "first\nsecond\n");
}

TEST_F(TuningFileTest, LinesOfManyWritersDoNotMix) {
  const std::string path = folder / "tuning.jsonl";
  std::vector<std::thread> writers;
  for (char name = 'a'; name < 'i'; ++name)
    writers.emplace_back([&path, name] {
      for (int i = 0; i < 20; ++i)
        append(path, std::string(300, name) + "\n");
    });
  for (std::thread &writer : writers)
    writer.join();
  const std::string text = textOf(path);
  EXPECT_EQ(text.size(), 8u * 20 * 301);
  for (size_t line = 0; line < text.size(); line += 301)
    EXPECT_EQ(text.substr(line, 301), std::string(300, text[line]) + "\n");
}

TEST_F(TuningFileTest, RefusesWhatOthersCouldHaveWritten) {
  folder.write("tuning.jsonl", "{}\n");
  ASSERT_EQ(chmod((folder / "tuning.jsonl").c_str(), 0666), 0);
  EXPECT_THAT(textOf(folder / "tuning.jsonl"), HasSubstr("could have been written by others"));
  ASSERT_EQ(mkdir((folder / "open").c_str(), 0700), 0);
  ASSERT_EQ(chmod((folder / "open").c_str(), 0777), 0);
  folder.write("open/tuning.jsonl", "{}\n");
  EXPECT_THAT(textOf(folder / "open/tuning.jsonl"), HasSubstr("is writable by others"));
  const Status appended = appendToTuningFile(folder / "open/tuning.jsonl", "x\n");
  ASSERT_FALSE(appended);
  EXPECT_THAT(appended.error().message(), HasSubstr("is writable by others"));
}

TEST_F(TuningFileTest, RefusesLinksAndWhatIsNoPlainFile) {
  folder.write("real.jsonl", "{}\n");
  ASSERT_EQ(symlink((folder / "real.jsonl").c_str(), (folder / "link.jsonl").c_str()), 0);
  EXPECT_THAT(textOf(folder / "link.jsonl"), HasSubstr("link.jsonl"));
  ASSERT_EQ(mkfifo((folder / "pipe.jsonl").c_str(), 0600), 0);
  EXPECT_THAT(textOf(folder / "pipe.jsonl"), HasSubstr("is no plain file"));
  EXPECT_THAT(textOf("/dev/null"), HasSubstr("/dev"));
}

/// The variables have the values of one test, and afterwards those from before.
class TuningPlaceTest : public testing::Test {
protected:
  TuningPlaceTest() {
    for (const char *name : {"TILEWRIGHT_TUNING_FILE", "XDG_DATA_HOME", "HOME"}) {
      const char *value = std::getenv(name);
      before.emplace_back(name, value ? std::optional<std::string>(value) : std::nullopt);
      unsetenv(name);
    }
    setenv("HOME", "/home/ada", 1);
  }
  ~TuningPlaceTest() override {
    for (const auto &[name, value] : before)
      value ? setenv(name.c_str(), value->c_str(), 1) : unsetenv(name.c_str());
  }

  static std::string place(const std::string &stated = "") {
    const Result<std::string> file = findTuningFile(stated);
    return file ? *file : file.error().message();
  }

private:
  std::vector<std::pair<std::string, std::optional<std::string>>> before;
};

TEST_F(TuningPlaceTest, IsAmongThisUsersData) {
  EXPECT_EQ(place(), "/home/ada/.local/share/tilewright/tuning.jsonl");
  setenv("XDG_DATA_HOME", "data", 1);
  EXPECT_EQ(place(), "/home/ada/.local/share/tilewright/tuning.jsonl");
  setenv("XDG_DATA_HOME", "/data/ada", 1);
  EXPECT_EQ(place(), "/data/ada/tilewright/tuning.jsonl");
}

TEST_F(TuningPlaceTest, IsWhatTheVariableSays) {
  setenv("TILEWRIGHT_TUNING_FILE", "/scratch/t.jsonl", 1);
  EXPECT_EQ(place(), "/scratch/t.jsonl");
  setenv("TILEWRIGHT_TUNING_FILE", "", 1);
  EXPECT_EQ(place(), "");
  setenv("TILEWRIGHT_TUNING_FILE", "t.jsonl", 1);
  EXPECT_EQ(place(), "TILEWRIGHT_TUNING_FILE is 't.jsonl'; it must be an absolute path");
}

TEST_F(TuningPlaceTest, IsWhatIsStatedBeforeAll) {
  setenv("TILEWRIGHT_TUNING_FILE", "/scratch/t.jsonl", 1);
  EXPECT_EQ(place("/mine.jsonl"), "/mine.jsonl");
  EXPECT_THAT(place("mine.jsonl"),
              AllOf(testing::StartsWith("/"), testing::EndsWith("/mine.jsonl")));
}
} // namespace
