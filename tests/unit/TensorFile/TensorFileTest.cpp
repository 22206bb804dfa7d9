//===- TensorFileTest.cpp - Files and entries on the command line ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/TensorFile/TensorFile.h"

#include "compiler/TensorFile/WriteTensors.h"
#include "tests/unit/TensorFile/Elements.h"
#include "tests/unit/TensorFile/TemporaryFolder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

using namespace tilewright;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

/// A file with one-byte entries of the given names, holding 1, 2, 3, ...
void writeEntries(const std::string &path, std::vector<std::string> names) {
  std::vector<uint8_t> bytes(names.size());
  std::vector<NamedTensor> tensors;
  for (size_t i = 0; i < names.size(); ++i) {
    bytes[i] = static_cast<uint8_t>(i + 1);
    tensors.push_back({names[i], TensorView(&bytes[i], DType::U8, {1})});
  }
  ASSERT_TRUE(writeSafetensors(path, tensors));
}

uint8_t onlyByte(const Result<OwnedTensor> &tensor) {
  EXPECT_TRUE(tensor) << tensor.error().message();
  return tensor ? elements<uint8_t>(*tensor).at(0) : 0;
}

TEST(TensorFile, EntryMayBeLeftOutWhereThereIsOnlyOne) {
  TemporaryFolder folder;
  writeEntries(folder / "one.safetensors", {"a"});
  writeEntries(folder / "two.safetensors", {"a", "layer0.q"});
  EXPECT_EQ(onlyByte(loadTensor(folder / "one.safetensors")), 1);
  EXPECT_EQ(onlyByte(loadTensor(folder / "one.safetensors:a")), 1);
  EXPECT_EQ(onlyByte(loadTensor(folder / "two.safetensors:layer0.q")), 2);
  EXPECT_EQ(loadTensor(folder / "two.safetensors").error().message(),
            folder / "two.safetensors" +
                ": name one of its 2 entries (FILE:entry); it has 'a' u8[1], 'layer0.q' u8[1]");
  EXPECT_EQ(loadTensor(folder / "two.safetensors:b").error().message(),
            folder / "two.safetensors" + ": no entry 'b'; it has 'a' u8[1], 'layer0.q' u8[1]");
}

TEST(TensorFile, ErrorsListTenEntriesAtMost) {
  TemporaryFolder folder;
  std::vector<std::string> names;
  for (char c = 'a'; c <= 'l'; ++c)
    names.emplace_back(1, c);
  writeEntries(folder / "many", names);
  const std::string message = loadTensor(folder / "many").error().message();
  EXPECT_THAT(message, HasSubstr("'j' u8[1] and 2 more"));
  EXPECT_THAT(message, testing::Not(HasSubstr("'k'")));
}

TEST(TensorFile, ColonsInPathsAndEntries) {
  TemporaryFolder folder;
  writeEntries(folder / "a:b", {"x:y", "b"});
  EXPECT_EQ(onlyByte(loadTensor(folder / "a:b:x:y")), 1);
  EXPECT_EQ(onlyByte(loadTensor(folder / "a:b:b")), 2);
  writeEntries(folder / "a", {"b"});
  EXPECT_THAT(loadTensor(folder / "a:b").error().message(), HasSubstr("name one of its 2 entries"));
  EXPECT_EQ(onlyByte(loadTensor(folder / "a")), 1);
}

TEST(TensorFile, AnNpyEntryHasNoName) {
  TemporaryFolder folder;
  uint8_t byte = 9;
  ASSERT_TRUE(writeNpy(folder / "a.npy", TensorView(&byte, DType::U8, {1})));
  EXPECT_EQ(onlyByte(loadTensor(folder / "a.npy")), 9);
  EXPECT_EQ(loadTensor(folder / "a.npy:q").error().message(),
            folder / "a.npy" + ": no entry 'q'; it has '' u8[1]");
}

TEST(TensorFile, AbsentFilesAreNamedWithoutTheEntry) {
  TemporaryFolder folder;
  for (const char *text : {"absent.npy", "absent.npy:q"}) {
    Result<OwnedTensor> tensor = loadTensor(folder / text);
    ASSERT_FALSE(tensor);
    EXPECT_EQ(tensor.error().message(),
              folder / "absent.npy" + ": cannot open: No such file or directory");
    EXPECT_EQ(tensor.error().kind(), ErrorKind::System);
  }
  EXPECT_FALSE(loadTensor(""));
  EXPECT_FALSE(loadTensor(":"));
  EXPECT_FALSE(loadTensor(std::string(1000, ':')));
}

TEST(TensorFile, OnlyRegularFilesAreOpened) {
  TemporaryFolder folder;
  ASSERT_EQ(mkfifo((folder / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(TensorFile::open(folder / "").error().message(),
            folder / "" + ": not a regular file but a directory");
  EXPECT_EQ(TensorFile::open(folder / "fifo").error().message(),
            folder / "fifo" + ": not a regular file but a FIFO");
  EXPECT_EQ(TensorFile::open("/dev/zero").error().message(),
            "/dev/zero: not a regular file but a device");
}

TEST(TensorFile, NoticesAFileThatShrinksAfterOpening) {
  TemporaryFolder folder;
  writeEntries(folder / "a", {"x", "y"});
  Result<TensorFile> file = TensorFile::open(folder / "a");
  ASSERT_TRUE(file) << file.error().message();
  std::filesystem::resize_file(folder / "a", std::filesystem::file_size(folder / "a") - 1);
  EXPECT_EQ(onlyByte(file->load("x")), 1);
  EXPECT_THAT(file->load("y").error().message(), HasSubstr("the file has become shorter"));
}

} // namespace
