//===- NpyTest.cpp - Well-formed and hostile .npy files -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/TensorFile/TensorFile.h"
#include "tests/unit/TensorFile/Elements.h"
#include "tests/unit/TensorFile/TemporaryFolder.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

using namespace tilewright;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

std::string withLength(int version, uint32_t length, std::string_view dict, std::string_view data) {
  std::string file = "\x93NUMPY";
  file += static_cast<char>(version);
  file += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i)
    file += static_cast<char>(length >> 8 * i & 0xff);
  return file.append(dict).append(data);
}

std::string fileOf(std::string_view dict, std::string_view data, int version = 1) {
  return withLength(version, static_cast<uint32_t>(dict.size()), dict, data);
}

std::string fileOfFields(std::string_view descr, std::string_view shape,
                         std::string_view data = "abcd") {
  return fileOf(
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}\n", descr, shape),
      data);
}

std::string messageFor(std::string_view bytes) {
  Result<TensorFile> file = TensorFile::parse(bytes);
  return file ? "no error" : file.error().message();
}

TEST(Npy, ReadsFortranOrderThatNumpyWritesAsStrides) {
  // numpy.save of numpy.asfortranarray(numpy.arange(6, dtype="<f4").reshape(2, 3)).
  const std::string bytes = fileOf(
      "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }" + std::string(59, ' ') + "\n",
      std::string_view("\0\0\0\0\0\0\x40\x40\0\0\x80\x3f\0\0\x80\x40\0\0\0\x40\0\0\xa0\x40", 24));
  ASSERT_EQ(bytes[8], '\x76');
  Result<TensorFile> file = TensorFile::parse(bytes);
  ASSERT_TRUE(file) << file.error().message();
  Result<OwnedTensor> tensor = file->loadOnly();
  ASSERT_TRUE(tensor) << tensor.error().message();
  EXPECT_EQ(tensor->view().describe(), "f32[2, 3]");
  EXPECT_EQ(tensor->view().strides[0], 1);
  EXPECT_EQ(tensor->view().strides[1], 2);
  EXPECT_THAT(elements<float>(*tensor), ElementsAre(0, 3, 1, 4, 2, 5));
}

TEST(Npy, ReadsEveryDType) {
  struct Row {
    const char *descr;
    DType dtype;
  };
  for (auto [descr, dtype] :
       {Row{"<f8", DType::F64}, Row{"<f4", DType::F32}, Row{"<f2", DType::F16},
        Row{"<i8", DType::I64}, Row{"<i4", DType::I32}, Row{"|u1", DType::U8},
        Row{"|b1", DType::Bool}}) {
    const std::string bytes = fileOfFields(descr, "(2,)", std::string(2 * sizeOf(dtype), '\1'));
    Result<TensorFile> file = TensorFile::parse(bytes);
    ASSERT_TRUE(file) << file.error().message();
    EXPECT_EQ(file->entries().at(0).layout.dtype, dtype);
    EXPECT_EQ(file->entries().at(0).name, "");
    EXPECT_THAT(elements<uint8_t>(*file->load("")),
                testing::AllOf(testing::SizeIs(2 * sizeOf(dtype)), testing::Each(1)));
  }
}

TEST(Npy, ReadsVersionsOneToThree) {
  const std::string dict = "{\"shape\":(4,),\"fortran_order\":False,\"descr\":\"|u1\"}";
  for (int version : {1, 2, 3}) {
    const std::string bytes = fileOf(dict, "abcd", version);
    Result<TensorFile> file = TensorFile::parse(bytes);
    ASSERT_TRUE(file) << file.error().message();
    EXPECT_THAT(elements<char>(*file->loadOnly()), ElementsAre('a', 'b', 'c', 'd'));
  }
  for (int version : {0, 4, 255})
    EXPECT_THAT(messageFor(fileOf(dict, "abcd", version)),
                HasSubstr(fmt::format("version {}.0 is none of", version)));
}

TEST(Npy, ReadsScalarsAndEmptyTensors) {
  EXPECT_EQ(TensorFile::parse(fileOfFields("<f4", "()"))->entries()[0].layout.describe(), "f32[]");
  EXPECT_EQ(TensorFile::parse(fileOfFields("<f4", "(0, 3)", ""))->entries()[0].layout.describe(),
            "f32[0, 3]");
}

TEST(Npy, RefusesATruncatedFileAtEveryByte) {
  const std::string whole = fileOfFields("|u1", "(4,)");
  ASSERT_EQ(messageFor(whole), "no error");
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_NE(messageFor(std::string_view(whole).substr(0, size)), "no error") << size;
}

TEST(Npy, RefusesAHeaderOfFourGigabytes) {
  EXPECT_THAT(messageFor(withLength(2, 0xffffffff, "{}", "")),
              HasSubstr("the header claims 4294967295 bytes, but the file ends after 2"));
  EXPECT_THAT(messageFor(withLength(1, 0xffff, "{}", "")), HasSubstr("claims 65535 bytes"));

  // The same with a file that is as long as its header claims, though made of holes.
  TemporaryFolder folder;
  folder.write("holes.npy", withLength(2, 0xffffffff, "{}", ""));
  std::filesystem::resize_file(folder / "holes.npy", 12 + 0xffffffffull);
  EXPECT_EQ(TensorFile::open(folder / "holes.npy").error().message(),
            folder / "holes.npy" + ": the header has 4294967295 bytes; the limit is 65536");
}

TEST(Npy, RefusesMoreThanTheMemoryOfTheMachine) {
  TemporaryFolder folder;
  const uint64_t bytes =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE) + (1 << 20);
  const std::string header = fileOfFields("|u1", fmt::format("({},)", bytes), "");
  folder.write("vast.npy", header);
  std::filesystem::resize_file(folder / "vast.npy", header.size() + bytes);
  Result<OwnedTensor> tensor = loadTensor(folder / "vast.npy");
  ASSERT_FALSE(tensor);
  EXPECT_THAT(tensor.error().message(), HasSubstr(fmt::format("u8[{0}] takes {0} bytes", bytes)));
}

TEST(Npy, RefusesDictsThatAreNotAsNumpyWritesThem) {
  const std::string descr = "'descr': '|u1'";
  const std::string order = "'fortran_order': False";
  const std::string shape = "'shape': (4,)";
  auto messageForDict = [](std::string dict) { return messageFor(fileOf(dict, "abcd")); };
  auto braces = [](std::string items) { return "{" + items + "}"; };
  const std::string all = descr + ", " + order + ", " + shape;
  ASSERT_EQ(messageForDict(braces(all)), "no error");
  ASSERT_EQ(messageForDict(braces(all + ",") + " \n"), "no error");

  EXPECT_THAT(messageForDict(""), HasSubstr("'{' is missing at byte 0 of the header"));
  EXPECT_THAT(messageForDict("{}"), HasSubstr("the header has no 'descr'"));
  EXPECT_THAT(messageForDict(braces(descr + ", " + shape)), HasSubstr("has no 'fortran_order'"));
  EXPECT_THAT(messageForDict(braces(descr + ", " + order)), HasSubstr("has no 'shape'"));
  EXPECT_THAT(messageForDict(braces(all + ", " + shape)), HasSubstr("has 'shape' twice"));
  EXPECT_THAT(messageForDict(braces(all + ", 'x': 1")), HasSubstr("unknown key 'x'"));
  EXPECT_THAT(messageForDict(braces(all) + "x"), HasSubstr("the end of the header is missing"));
  EXPECT_THAT(messageForDict("{" + all), HasSubstr("',' or '}' is missing"));
  EXPECT_THAT(messageForDict(braces(all + ",,")), HasSubstr("a string is missing"));
  EXPECT_THAT(messageForDict("{'descr"), HasSubstr("a string without escapes is missing"));
  EXPECT_THAT(messageForDict("{'\\x64escr': '|u1'}"), HasSubstr("without escapes is missing"));
  EXPECT_THAT(messageForDict("{'descr' '|u1'}"), HasSubstr("':' is missing"));
  EXPECT_THAT(messageForDict("{'fortran_order': 0}"), HasSubstr("True or False is missing"));
  EXPECT_THAT(messageForDict("{'shape': [4]}"), HasSubstr("'(', a tuple is missing"));
  EXPECT_THAT(messageForDict("{'shape': (4)}"), HasSubstr("',' is missing at byte 12"));
  EXPECT_THAT(messageForDict("{'shape': (4, 'a')}"), HasSubstr("an integer is missing"));
  EXPECT_THAT(messageForDict("{'shape': (4, 1.5)}"), HasSubstr("',' or ')' is missing"));
  EXPECT_THAT(messageForDict("{'shape': " + std::string(60'000, '(')),
              HasSubstr("an integer is missing at byte 11"));
  EXPECT_THAT(messageForDict("{'descr': [('a', '<f4')]}"), HasSubstr("structured dtypes"));
}

TEST(Npy, RefusesOtherDTypesByName) {
  EXPECT_THAT(messageFor(fileOfFields(">f4", "(1,)")), HasSubstr("dtype '>f4' is big-endian"));
  for (const char *descr : {"<i2", "<U1", "|O", "<c8", "=f4", "f4", "", ">u2"})
    EXPECT_THAT(messageFor(fileOfFields(descr, "(1,)")),
                HasSubstr(fmt::format("dtype '{}' is none of <f8", descr)));
}

TEST(Npy, RefusesImpossibleShapes) {
  EXPECT_THAT(messageFor(fileOfFields("|u1", "(-4,)")), HasSubstr("the negative extent -4"));
  EXPECT_THAT(messageFor(fileOfFields("|u1", "(9223372036854775808,)")),
              HasSubstr("does not fit 63 bits"));
  EXPECT_THAT(messageFor(fileOfFields("|u1", "(4294967296, 4294967296)")),
              HasSubstr("has more than 2^63 bytes"));
  EXPECT_THAT(messageFor(fileOfFields("<f8", "(2305843009213693952,)")),
              HasSubstr("has more than 2^63 bytes"));
  EXPECT_THAT(messageFor(fileOfFields("|u1", "(1,1,1,1,1,1,1,1,4)")),
              HasSubstr("the shape has 9 dimensions; the limit is 8"));
  EXPECT_THAT(messageFor(fileOfFields("|u1", "(5,)")),
              HasSubstr("u8[5] takes 5 bytes, but 4 follow the header"));
  EXPECT_THAT(messageFor(fileOfFields("|u1", "(3,)")), HasSubstr("takes 3 bytes, but 4 follow"));
}

} // namespace
