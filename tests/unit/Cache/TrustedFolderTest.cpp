//===- TrustedFolderTest.cpp - Tests of who may write to the cache --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Cache/TrustedFolder.h"
#include "tests/unit/TensorFile/TemporaryFolder.h"

#include <gmock/gmock.h>

#include <sys/stat.h>
#include <unistd.h>

using namespace tilewright;
using testing::AllOf;
using testing::HasSubstr;

namespace {
constexpr uid_t somebodyElse = 4711;

std::string refusal(const std::string &path) {
  const Result<Descriptor> opened = openTrustedFolder(path);
  return opened ? "accepted" : opened.error().message();
}

mode_t modeOf(const std::string &path) {
  struct stat facts;
  return stat(path.c_str(), &facts) == 0 ? facts.st_mode & 07777 : 0;
}

class TrustedFolderTest : public testing::Test {
protected:
  std::string makeFolder(const std::string &name, mode_t mode) const {
    const std::string path = folder / name;
    EXPECT_EQ(mkdir(path.c_str(), 0700), 0);
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    return path;
  }

  TemporaryFolder folder;
};

TEST_F(TrustedFolderTest, CreatesWhatIsMissingForThisUserAlone) {
  const Result<Descriptor> opened = openTrustedFolder(folder / "a/b/c");
  ASSERT_TRUE(opened) << opened.error().message();
  struct stat facts;
  ASSERT_EQ(fstat(opened->get(), &facts), 0);
  EXPECT_TRUE(S_ISDIR(facts.st_mode));
  for (const char *name : {"a", "a/b", "a/b/c"})
    EXPECT_EQ(modeOf(folder / name), 0700u) << name;
}

TEST_F(TrustedFolderTest, OpensWhatIsThere) {
  makeFolder("readable", 0755);
  EXPECT_EQ(refusal(folder / "readable"), "accepted");
  EXPECT_EQ(modeOf(folder / "readable"), 0755u);
}

TEST_F(TrustedFolderTest, RefusesRelativePaths) {
  EXPECT_EQ(refusal("cache"), "'cache' is no absolute path");
}

TEST_F(TrustedFolderTest, RefusesAFolderThatOthersWriteTo) {
  const std::string group = makeFolder("group", 0770);
  EXPECT_EQ(refusal(group), group + " is writable by others: its mode is 770, and `chmod go-w` "
                                    "would make it acceptable");
  const std::string all = makeFolder("all", 0707);
  EXPECT_THAT(refusal(all), HasSubstr("its mode is 707"));
}

TEST_F(TrustedFolderTest, RefusesAFolderAboveThatOthersWriteToAndCreatesNothingThere) {
  const std::string above = makeFolder("above", 0775);
  EXPECT_THAT(refusal(above + "/cache"), AllOf(HasSubstr(above + " is"), HasSubstr("775")));
  EXPECT_FALSE(std::filesystem::exists(above + "/cache"));
}

TEST_F(TrustedFolderTest, AcceptsAStickyFolderAboveButNotAsTheCache) {
  const std::string sticky = makeFolder("sticky", 01777);
  EXPECT_EQ(refusal(sticky + "/cache"), "accepted");
  EXPECT_THAT(refusal(sticky), HasSubstr("its mode is 1777"));
}

TEST_F(TrustedFolderTest, FollowsALinkOfThisUserAndChecksWhereItLeads) {
  makeFolder("good", 0700);
  makeFolder("bad", 0777);
  ASSERT_EQ(symlink((folder / "good").c_str(), (folder / "to-good").c_str()), 0);
  ASSERT_EQ(symlink((folder / "bad").c_str(), (folder / "to-bad").c_str()), 0);
  EXPECT_EQ(refusal(folder / "to-good"), "accepted");
  EXPECT_EQ(refusal(folder / "to-good/cache"), "accepted");
  EXPECT_EQ(modeOf(folder / "good/cache"), 0700u);
  EXPECT_THAT(refusal(folder / "to-bad"), HasSubstr("/bad is writable"));
  EXPECT_THAT(refusal(folder / "to-bad/cache"), HasSubstr("/bad is writable"));
  EXPECT_FALSE(std::filesystem::exists(folder / "bad/cache"));
}

TEST_F(TrustedFolderTest, RefusesLinksThatLeadNowhere) {
  ASSERT_EQ(symlink("nowhere", (folder / "dangling").c_str()), 0);
  ASSERT_EQ(symlink("circle", (folder / "circle").c_str()), 0);
  EXPECT_THAT(refusal(folder / "dangling"), HasSubstr("dangling: No such file"));
  EXPECT_THAT(refusal(folder / "circle/cache"), HasSubstr("circle: Too many levels"));
}

TEST_F(TrustedFolderTest, RefusesWhatIsNoFolder) {
  folder.write("file", "text");
  EXPECT_THAT(refusal(folder / "file"), HasSubstr("/file is no folder"));
  EXPECT_THAT(refusal(folder / "file/cache"), HasSubstr("/file is no folder"));
}

TEST_F(TrustedFolderTest, RefusesWhatBelongsToSomebodyElse) {
  const std::string other = makeFolder("other", 0755);
  const std::string sticky = makeFolder("sticky", 01777);
  makeFolder("ours", 0700);
  const std::string link = sticky + "/link";
  ASSERT_EQ(symlink((folder / "ours").c_str(), link.c_str()), 0);
  if (chown(other.c_str(), somebodyElse, -1) != 0 || lchown(link.c_str(), somebodyElse, -1) != 0)
    GTEST_SKIP() << "only root can give files away";
  EXPECT_THAT(refusal(other), HasSubstr("/other belongs to user 4711, not to user"));
  EXPECT_THAT(refusal(other + "/cache"), HasSubstr("/other belongs to user 4711"));
  EXPECT_THAT(refusal(link), HasSubstr("/link is a symbolic link of user 4711"));
  EXPECT_THAT(refusal(link + "/cache"), HasSubstr("/link is a symbolic link of user 4711"));
}
} // namespace
