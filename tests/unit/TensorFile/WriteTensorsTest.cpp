//===- WriteTensorsTest.cpp - What is written can be read -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/TensorFile/WriteTensors.h"

#include "compiler/TensorFile/TensorFile.h"
#include "tests/unit/TensorFile/Elements.h"
#include "tests/unit/TensorFile/TemporaryFolder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <numeric>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace tilewright;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

TEST(WriteTensors, NpyBytesAreThoseThatNumpyWrites) {
  // numpy.save of numpy.arange(1, 4, dtype="<i4").
  std::string expected("\x93NUMPY\x01\x00\x76\x00", 10);
  expected += "{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }";
  expected += std::string(60, ' ') + "\n";
  expected += std::string("\1\0\0\0\2\0\0\0\3\0\0\0", 12);

  TemporaryFolder folder;
  int32_t values[] = {1, 2, 3};
  ASSERT_TRUE(writeNpy(folder / "a.npy", TensorView(values, DType::I32, {3})));
  EXPECT_EQ(folder.contents("a.npy"), expected);
}

TEST(WriteTensors, SafetensorsBytesAreOrderedByElementSizeAndPadded) {
  TemporaryFolder folder;
  uint8_t bytes[] = {7, 8, 9};
  float numbers[] = {1.0f, -2.0f};
  const NamedTensor tensors[] = {{"b", TensorView(bytes, DType::U8, {3})},
                                 {"a", TensorView(numbers, DType::F32, {2, 1})}};
  ASSERT_TRUE(writeSafetensors(folder / "t.safetensors", tensors));

  std::string header = R"({"a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)"
                       R"("b":{"dtype":"U8","shape":[3],"data_offsets":[8,11]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  std::string expected(1, static_cast<char>(header.size()));
  expected += std::string(7, '\0') + header;
  expected += std::string("\0\0\x80\x3f\0\0\0\xc0\7\10\11", 11);
  EXPECT_EQ(folder.contents("t.safetensors"), expected);
}

TEST(WriteTensors, EveryDTypeSurvivesBothFormats) {
  TemporaryFolder folder;
  // Bytes 0 and 1 alone, which bool needs and which are valid elements of the others.
  std::vector<uint8_t> bytes(48);
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = i % 3 == 0;
  std::vector<NamedTensor> tensors;
  for (DType dtype : {DType::Bool, DType::F64, DType::F32, DType::F16, DType::BF16, DType::I64,
                      DType::I32, DType::U8})
    tensors.push_back({std::string(nameOf(dtype)), TensorView(bytes.data(), dtype, {2, 3})});
  ASSERT_TRUE(writeSafetensors(folder / "all.safetensors", tensors));
  Result<TensorFile> file = TensorFile::open(folder / "all.safetensors");
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_EQ(file->entries().size(), 8u);

  for (const auto &[name, view] : tensors) {
    const std::vector<uint8_t> expected(bytes.begin(), bytes.begin() + 6 * sizeOf(view.dtype));
    Result<OwnedTensor> read = file->load(name);
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->view().describe(), view.describe());
    EXPECT_EQ(elements<uint8_t>(*read), expected) << name;
    if (view.dtype == DType::BF16)
      continue;
    ASSERT_TRUE(writeNpy(folder / "one.npy", view));
    read = loadTensor(folder / "one.npy");
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->view().describe(), view.describe());
    EXPECT_EQ(elements<uint8_t>(*read), expected) << name;
  }
}

TEST(WriteTensors, StridedViewsAreWrittenRowMajor) {
  TemporaryFolder folder;
  float values[12];
  std::iota(std::begin(values), std::end(values), 0.0f);
  const TensorView table(values, DType::F32, {3, 4});
  ASSERT_TRUE(writeNpy(folder / "t.npy", table.transposed(0, 1)));
  Result<OwnedTensor> read = loadTensor(folder / "t.npy");
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->view().describe(), "f32[4, 3]");
  EXPECT_THAT(elements<float>(*read), ElementsAre(0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11));

  // Reversed columns of every other row, each expanded twice.
  const int64_t sizes[] = {2, 2, 4};
  const int64_t strides[] = {8, 0, -1};
  const NamedTensor expanded{"x", TensorView(values + 3, DType::F32, sizes, strides)};
  ASSERT_TRUE(writeSafetensors(folder / "x.safetensors", std::span(&expanded, 1)));
  read = loadTensor(folder / "x.safetensors");
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_THAT(elements<float>(*read),
              ElementsAre(3, 2, 1, 0, 3, 2, 1, 0, 11, 10, 9, 8, 11, 10, 9, 8));
}

TEST(WriteTensors, DataLargerThanTheBufferIsWhole) {
  TemporaryFolder folder;
  std::vector<double> values(300'001);
  std::iota(values.begin(), values.end(), 0.0);
  ASSERT_TRUE(writeNpy(folder / "long.npy", TensorView(values.data(), DType::F64, {300'001})));
  Result<OwnedTensor> read = loadTensor(folder / "long.npy");
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(elements<double>(*read), values);
}

TEST(WriteTensors, ScalarsAndEmptyTensorsSurvive) {
  TemporaryFolder folder;
  double value = 2.5;
  const NamedTensor tensors[] = {{"none", TensorView(nullptr, DType::F64, {0, 4})},
                                 {"scalar", TensorView(&value, DType::F64, {})}};
  ASSERT_TRUE(writeSafetensors(folder / "s.safetensors", tensors));
  Result<TensorFile> file = TensorFile::open(folder / "s.safetensors");
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_EQ(file->load("none")->view().describe(), "f64[0, 4]");
  EXPECT_NE(file->load("none")->view().data, nullptr);
  EXPECT_EQ(file->load("scalar")->view().describe(), "f64[]");
  EXPECT_THAT(elements<double>(*file->load("scalar")), ElementsAre(2.5));
  ASSERT_TRUE(writeNpy(folder / "s.npy", tensors[1].view));
  EXPECT_THAT(elements<double>(*loadTensor(folder / "s.npy")), ElementsAre(2.5));
}

TEST(WriteTensors, NamesNeedingEscapesSurvive) {
  TemporaryFolder folder;
  uint8_t byte = 3;
  const NamedTensor tensor{"a\"b\\\n\u00e9:{[", TensorView(&byte, DType::U8, {1})};
  ASSERT_TRUE(writeSafetensors(folder / "n.safetensors", std::span(&tensor, 1)));
  Result<TensorFile> file = TensorFile::open(folder / "n.safetensors");
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_EQ(file->entries().at(0).name, tensor.name);
}

TEST(WriteTensors, RefusesWhatTheFormatsCannotHold) {
  TemporaryFolder folder;
  uint8_t byte = 3;
  const TensorView view(&byte, DType::U8, {1});
  auto messageFor = [&](std::vector<NamedTensor> tensors) {
    return writeSafetensors(folder / "bad", tensors).error().message();
  };
  EXPECT_THAT(messageFor({{"x", view}, {"x", view}}), HasSubstr("two entries are named 'x'"));
  EXPECT_THAT(messageFor({{"__metadata__", view}}), HasSubstr("'__metadata__'"));
  EXPECT_THAT(messageFor({{"\xff", view}}), HasSubstr("cannot be named"));
  EXPECT_THAT(messageFor({{"x", TensorView(&byte, DType::U8, {-1})}}), HasSubstr("u8[-1]"));
  EXPECT_THAT(writeNpy(folder / "bad", TensorView(&byte, DType::BF16, {0})).error().message(),
              HasSubstr("cannot hold bf16[0]"));
  EXPECT_TRUE(folder.names().empty());
}

TEST(WriteTensors, FailureNamesPathAndReasonAndLeavesNothing) {
  TemporaryFolder folder;
  uint8_t byte = 3;
  const TensorView view(&byte, DType::U8, {1});
  const Status absent = writeNpy(folder / "absent/a.npy", view);
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().message(),
            folder / "absent/a.npy" + ": cannot write: No such file or directory");
  EXPECT_EQ(absent.error().kind(), ErrorKind::System);

  const Status directory = writeNpy(folder / "", view);
  ASSERT_FALSE(directory);
  EXPECT_EQ(directory.error().message(), folder / "" + ": cannot write: Is a directory");
  EXPECT_TRUE(folder.names().empty());
}

TEST(WriteTensors, FailureHalfwayKeepsTheFileThatWasThere) {
  TemporaryFolder folder;
  folder.write("a.npy", "precious");
  std::vector<uint8_t> bytes(3 << 20);

  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit lowered = before;
  lowered.rlim_cur = 2 << 20;
  auto *handler = signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &lowered), 0);
  const Status status = writeNpy(folder / "a.npy", TensorView(bytes.data(), DType::U8, {3 << 20}));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, handler);

  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message(), folder / "a.npy" + ": cannot write: File too large");
  EXPECT_EQ(folder.contents("a.npy"), "precious");
  EXPECT_THAT(folder.names(), ElementsAre("a.npy"));
}

TEST(WriteTensors, ASymbolicLinkStaysOne) {
  TemporaryFolder folder;
  folder.write("real.npy", "old");
  std::filesystem::create_symlink("real.npy", folder / "link.npy");
  uint8_t byte = 3;
  ASSERT_TRUE(writeNpy(folder / "link.npy", TensorView(&byte, DType::U8, {1})));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link.npy"));
  EXPECT_EQ(folder.contents("real.npy").substr(0, 6), "\x93NUMPY");
}

TEST(WriteTensors, ALinkToNothingMakesWhatItLeadsTo) {
  TemporaryFolder folder;
  std::filesystem::create_directory(folder / "there");
  std::filesystem::create_symlink("there/second.npy", folder / "first.npy");
  std::filesystem::create_symlink(folder / "real.npy", folder / "there/second.npy");
  uint8_t byte = 3;
  ASSERT_TRUE(writeNpy(folder / "first.npy", TensorView(&byte, DType::U8, {1})));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "first.npy"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "there/second.npy"));
  EXPECT_EQ(folder.contents("real.npy").substr(0, 6), "\x93NUMPY");

  std::filesystem::create_symlink("loop.npy", folder / "loop.npy");
  EXPECT_EQ(writeNpy(folder / "loop.npy", TensorView(&byte, DType::U8, {1})).error().message(),
            folder / "loop.npy" + ": cannot write: Too many levels of symbolic links");
}

TEST(WriteTensors, DevicesAndPipesAreWrittenTo) {
  TemporaryFolder folder;
  uint8_t byte = 3;
  const TensorView view(&byte, DType::U8, {1});
  EXPECT_TRUE(writeNpy("/dev/null", view));
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));

  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  const int reader = open((folder / "pipe").c_str(), O_RDONLY | O_NONBLOCK);
  EXPECT_TRUE(writeNpy(folder / "pipe", view));
  char start[6] = {};
  EXPECT_EQ(read(reader, start, 6), 6);
  EXPECT_EQ(std::string_view(start, 6), "\x93NUMPY");
  close(reader);
  EXPECT_THAT(folder.names(), ElementsAre("pipe"));
}

} // namespace
