//===- SafetensorsTest.cpp - Well-formed and hostile safetensors files ----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/TensorFile/TensorFile.h"
#include "lib/Support/Half.h"
#include "tests/unit/TensorFile/Elements.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace tilewright;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

std::string withLength(uint64_t length, std::string_view header, std::string_view data) {
  std::string file;
  for (size_t i = 0; i < 8; ++i)
    file += static_cast<char>(length >> 8 * i & 0xff);
  return file.append(header).append(data);
}

std::string fileOf(std::string_view header, std::string_view data = "") {
  return withLength(header.size(), header, data);
}

/// A file of one entry "x" with four bytes of data.
std::string fileOfEntry(std::string_view dtype, std::string_view shape, std::string_view offsets) {
  return fileOf(fmt::format(R"({{"x":{{"dtype":"{}","shape":{},"data_offsets":{}}}}})", dtype,
                            shape, offsets),
                "abcd");
}

std::string messageFor(std::string_view bytes) {
  Result<TensorFile> file = TensorFile::parse(bytes);
  return file ? "no error" : file.error().message();
}

TEST(Safetensors, ReadsWhatThePythonPackageWrites) {
  // safetensors.numpy.save({"k": array([[True, False]]), "q": array([1.5, -2], dtype="<f2")},
  //                        metadata={"format": "pt"}), version 0.8.0
  const std::string bytes = fileOf(
      R"({"__metadata__":{"format":"pt"},"q":{"dtype":"F16","shape":[2],"data_offsets":[0,4]},)"
      R"("k":{"dtype":"BOOL","shape":[1,2],"data_offsets":[4,6]}}   )",
      std::string_view("\x00\x3e\x00\xc0\x01\x00", 6));
  ASSERT_EQ(bytes[0], '\x90');
  Result<TensorFile> file = TensorFile::parse(bytes);
  ASSERT_TRUE(file) << file.error().message();
  ASSERT_EQ(file->entries().size(), 2u);
  EXPECT_EQ(file->entries()[0].name, "q");
  EXPECT_EQ(file->entries()[1].name, "k");
  EXPECT_EQ(file->find("metadata"), nullptr);

  Result<OwnedTensor> q = file->load("q");
  ASSERT_TRUE(q) << q.error().message();
  EXPECT_EQ(q->view().describe(), "f16[2]");
  EXPECT_EQ(loadAsDouble(q->view().data, DType::F16, 0), 1.5);
  EXPECT_EQ(loadAsDouble(q->view().data, DType::F16, 1), -2.0);
  Result<OwnedTensor> k = file->load("k");
  ASSERT_TRUE(k) << k.error().message();
  EXPECT_EQ(k->view().describe(), "bool[1, 2]");
  EXPECT_THAT(elements<uint8_t>(*k), ElementsAre(1, 0));
}

TEST(Safetensors, AlignsDataThatStartAtAnOddByte) {
  const std::string bytes = fileOf(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                                   R"("b":{"dtype":"F64","shape":[1],"data_offsets":[1,9]}})",
                                   std::string_view("\7\0\0\0\0\0\0\x04\x40", 9));
  Result<TensorFile> file = TensorFile::parse(bytes);
  ASSERT_TRUE(file) << file.error().message();
  Result<OwnedTensor> b = file->load("b");
  ASSERT_TRUE(b) << b.error().message();
  EXPECT_EQ(reinterpret_cast<uintptr_t>(b->view().data) % 64, 0u);
  EXPECT_THAT(elements<double>(*b), ElementsAre(2.5));
}

TEST(Safetensors, AFileWithoutEntriesIsValid) {
  Result<TensorFile> file = TensorFile::parse(fileOf("{}"));
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_TRUE(file->entries().empty());
  EXPECT_EQ(file->loadOnly().error().message(),
            "<memory>: name one of its 0 entries (FILE:entry); it has none");
}

TEST(Safetensors, BracketsAndColonsInNamesAreNotStructure) {
  const std::string bytes = fileOf(
      R"({"[[[[[[[[[[[[[[[[[[[[\"{:":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", "abcd");
  Result<TensorFile> file = TensorFile::parse(bytes);
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_NE(file->find("[[[[[[[[[[[[[[[[[[[[\"{:"), nullptr);
}

TEST(Safetensors, RefusesALyingHeaderLength) {
  EXPECT_THAT(messageFor(""), HasSubstr("0 bytes are too few"));
  EXPECT_THAT(messageFor("1234567"), HasSubstr("7 bytes are too few"));
  EXPECT_THAT(messageFor(withLength(3, "{}", "")),
              HasSubstr("would have 3 bytes, but the file ends after 2"));
  EXPECT_THAT(messageFor(withLength(~uint64_t(0), "{}", "")),
              HasSubstr("would have 18446744073709551615 bytes"));
  EXPECT_THAT(messageFor(fileOf(std::string(100'000'001, ' '))),
              HasSubstr("has 100000001 bytes; the limit is 100000000"));
  EXPECT_THAT(messageFor(fileOf("")), HasSubstr("does not start with '{'"));
}

TEST(Safetensors, RefusesWhatIsNotJson) {
  EXPECT_THAT(messageFor(fileOf("[]")), HasSubstr("does not start with '{'"));
  EXPECT_THAT(messageFor(fileOf(" {}")), HasSubstr("does not start with '{'"));
  EXPECT_THAT(messageFor(fileOf("{")), HasSubstr("is not JSON"));
  EXPECT_THAT(messageFor(fileOf("{}{}")), HasSubstr("is not JSON"));
  EXPECT_THAT(messageFor(fileOf("{\"\xff\":1}")), HasSubstr("Invalid UTF-8"));
  EXPECT_THAT(messageFor(fileOf("{\"\\")), HasSubstr("is not JSON"));
  EXPECT_THAT(messageFor(fileOf(std::string_view("{\0}", 3))), HasSubstr("is not JSON"));
}

TEST(Safetensors, RefusesDeepNestingBeforeParsing) {
  EXPECT_THAT(messageFor(fileOf("{\"x\":" + std::string(200'000, '['))),
              HasSubstr("nests 200001 brackets deep; the limit is 16"));
  std::string objects;
  for (int i = 0; i < 100'000; ++i)
    objects += "{\"\":";
  EXPECT_THAT(messageFor(fileOf(objects)), HasSubstr("nests 100000 brackets deep"));
  // A string that only looks as if it went on would hide the brackets from the check.
  EXPECT_THAT(messageFor(fileOf("{\"\\\\\":" + std::string(200'000, '['))),
              HasSubstr("nests 200001 brackets deep"));
  EXPECT_THAT(messageFor(fileOf("{\"x\":" + std::string(15, '[') + std::string(15, ']') + "}")),
              HasSubstr("entry 'x': not an object"));
  EXPECT_THAT(messageFor(fileOf("{\"x\":" + std::string(16, '[') + std::string(16, ']') + "}")),
              HasSubstr("nests 17 brackets deep"));
}

TEST(Safetensors, RefusesRepeatedKeys) {
  const std::string entry = R"({"dtype":"U8","shape":[4],"data_offsets":[0,4]})";
  EXPECT_THAT(messageFor(fileOf("{\"x\":" + entry + ",\"x\":" + entry + "}", "abcd")),
              HasSubstr("has 8 keys, of which 4 are distinct"));
  EXPECT_THAT(messageFor(fileOf("{\"x\":" + entry + ",\"\\u0078\":" + entry + "}", "abcd")),
              HasSubstr("of which 4 are distinct"));
  EXPECT_THAT(messageFor(fileOf(
                  R"({"x":{"dtype":"U8","dtype":"U8","shape":[4],"data_offsets":[0,4]}})", "abcd")),
              HasSubstr("has 5 keys, of which 4 are distinct"));
}

TEST(Safetensors, RefusesEntriesThatAreNot) {
  EXPECT_THAT(messageFor(fileOf(R"({"x":1})")), HasSubstr("entry 'x': not an object of dtype"));
  EXPECT_THAT(messageFor(fileOf(R"({"x":{"dtype":"U8","shape":[0]}})")),
              HasSubstr("entry 'x': not an object of dtype"));
  EXPECT_THAT(messageFor(fileOf(R"({"x":{"dtype":8,"shape":[0],"data_offsets":[0,0]}})")),
              HasSubstr("entry 'x': not an object of dtype"));
  EXPECT_THAT(
      messageFor(fileOf(R"({"x":{"dtype":"U8","shape":[0],"data_offsets":[0,0],"more":0}})")),
      HasSubstr("entry 'x': not an object of dtype"));
  EXPECT_THAT(messageFor(fileOf(R"({"__metadata__":[]})")), HasSubstr("__metadata__"));
  EXPECT_THAT(messageFor(fileOf(R"({"__metadata__":{"a":1}})")), HasSubstr("__metadata__"));
}

TEST(Safetensors, RefusesUnknownDTypesByName) {
  EXPECT_THAT(messageFor(fileOfEntry("F8_E4M3", "[4]", "[0,4]")),
              HasSubstr("entry 'x': dtype 'F8_E4M3' is none of F64, F32"));
  EXPECT_THAT(messageFor(fileOfEntry("u8", "[4]", "[0,4]")), HasSubstr("dtype 'u8' is none of"));
  EXPECT_EQ(TensorFile::parse(fileOfEntry("I16", "[2]", "[0,4]")).error().kind(),
            ErrorKind::Unsupported);
}

TEST(Safetensors, RefusesImpossibleShapes) {
  EXPECT_THAT(messageFor(fileOfEntry("U8", "[-4]", "[0,4]")),
              HasSubstr("dimension 0 of the shape is not an integer from 0 to 2^63 - 1"));
  EXPECT_THAT(messageFor(fileOfEntry("U8", "[2,9223372036854775808]", "[0,4]")),
              HasSubstr("dimension 1 of the shape is not an integer"));
  EXPECT_THAT(messageFor(fileOfEntry("U8", "[2.5]", "[0,4]")), HasSubstr("dimension 0"));
  EXPECT_THAT(messageFor(fileOfEntry("U8", "[1e300]", "[0,4]")), HasSubstr("dimension 0"));
  EXPECT_THAT(messageFor(fileOfEntry("U8", "[9223372036854775807.1]", "[0,4]")),
              HasSubstr("dimension 0"));
  EXPECT_THAT(messageFor(fileOfEntry("U8", R"(["4"])", "[0,4]")), HasSubstr("dimension 0"));
  EXPECT_THAT(messageFor(fileOfEntry("U8", "[4294967296,4294967296]", "[0,4]")),
              HasSubstr("u8[4294967296, 4294967296] has more than 2^63 bytes"));
  EXPECT_THAT(messageFor(fileOfEntry("F64", "[2305843009213693952]", "[0,4]")),
              HasSubstr("has more than 2^63 bytes"));
  EXPECT_THAT(messageFor(fileOfEntry("U8", "[1,1,1,1,1,1,1,1,4]", "[0,4]")),
              HasSubstr("the shape has 9 dimensions; the limit is 8"));
  EXPECT_EQ(messageFor(fileOfEntry("U8", "[1,1,1,1,1,1,1,4]", "[0,4]")), "no error");
}

TEST(Safetensors, RefusesRangesOutsideTheData) {
  EXPECT_THAT(messageFor(fileOfEntry("U8", "[5]", "[0,5]")),
              HasSubstr("data_offsets [0, 5] are not a range of the 4 bytes of data"));
  EXPECT_THAT(messageFor(fileOfEntry("U8", "[4]", "[4,0]")),
              HasSubstr("data_offsets [4, 0] are not a range"));
  EXPECT_THAT(messageFor(fileOfEntry("U8", "[4]", "[9223372036854775803,9223372036854775807]")),
              HasSubstr("are not a range of the 4 bytes of data"));
  EXPECT_THAT(messageFor(fileOfEntry("U8", "[4]", "[0,9223372036854775808]")),
              HasSubstr("data_offsets are not two integers"));
  EXPECT_THAT(messageFor(fileOfEntry("U8", "[4]", "[-1,3]")), HasSubstr("not two integers"));
  EXPECT_THAT(messageFor(fileOfEntry("U8", "[4]", "[0,4,4]")), HasSubstr("not two integers"));
  EXPECT_THAT(messageFor(fileOfEntry("F32", "[4]", "[0,4]")),
              HasSubstr("f32[4] takes 16 bytes, but data_offsets [0, 4] hold 4"));
}

TEST(Safetensors, RefusesOverlapsAndHoles) {
  auto fileOfRanges = [](int b0, int e0, int b1, int e1) {
    return fileOf(fmt::format(R"({{"x":{{"dtype":"U8","shape":[{}],"data_offsets":[{},{}]}},)"
                              R"("y":{{"dtype":"U8","shape":[{}],"data_offsets":[{},{}]}}}})",
                              e0 - b0, b0, e0, e1 - b1, b1, e1),
                  "abcdefgh");
  };
  EXPECT_EQ(messageFor(fileOfRanges(4, 8, 0, 4)), "no error");
  EXPECT_EQ(messageFor(fileOfRanges(0, 8, 8, 8)), "no error");
  EXPECT_THAT(messageFor(fileOfRanges(0, 5, 4, 8)),
              HasSubstr("entry 'y' starts at byte 4 of the data, which overlaps the 5 bytes"));
  EXPECT_THAT(messageFor(fileOfRanges(0, 8, 0, 8)), HasSubstr("overlaps the 8 bytes"));
  EXPECT_THAT(messageFor(fileOfRanges(0, 8, 3, 3)), HasSubstr("overlaps"));
  EXPECT_THAT(messageFor(fileOfRanges(0, 3, 4, 8)),
              HasSubstr("entry 'y' starts at byte 4 of the data, which leaves a hole after the 3"));
  EXPECT_THAT(messageFor(fileOfRanges(1, 4, 4, 8)), HasSubstr("leaves a hole after the 0 bytes"));
  EXPECT_THAT(messageFor(fileOfRanges(0, 4, 4, 7)),
              HasSubstr("the entries cover 7 of the 8 bytes of data"));
}

TEST(Safetensors, RefusesBoolsOtherThanZeroAndOneOnLoading) {
  const std::string bytes = fileOfEntry("BOOL", "[4]", "[0,4]");
  Result<TensorFile> file = TensorFile::parse(bytes);
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_EQ(file->load("x").error().message(),
            "<memory>: entry 'x' is bool, but byte 0 of its data is 97, not 0 or 1");
}

} // namespace
