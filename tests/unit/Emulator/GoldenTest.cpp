//===- GoldenTest.cpp - wgmma and bulk copies against an H200 -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Emulator/Device.h"
#include "tests/unit/SourceFile.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

using namespace tilewright;
using namespace tilewright::emulator;

namespace {

std::string readGolden(const std::string &name) {
  std::ifstream file(test::sourceFile("tests/emulator/golden/" + name), std::ios::binary);
  EXPECT_TRUE(file) << name;
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

/// Case number to the bytes that the GPU left.
std::map<uint32_t, std::string> readRecords() {
  const std::string data = readGolden("golden.bin");
  std::map<uint32_t, std::string> records;
  for (size_t at = 0; at + 8 <= data.size();) {
    uint32_t header[2];
    std::memcpy(header, &data[at], sizeof header);
    records[header[0]] = data.substr(at + 8, header[1]);
    at += 8 + header[1];
  }
  return records;
}

class Golden : public testing::Test {
protected:
  std::string ptx = readGolden("wgmma_and_copies.ptx");
  std::map<std::string, Module> modules;

  const Module &module(const std::string &kernel) {
    if (!modules.contains(kernel)) {
      Result<Module> module = loadModule(ptx, kernel);
      EXPECT_TRUE(module) << module.error().message();
      modules.emplace(kernel, std::move(*module));
    }
    return modules.at(kernel);
  }

  static Launch launch() {
    Launch result;
    result.block = {128, 1, 1};
    result.dynamicSharedBytes = 72 * 1024;
    return result;
  }

  static Result<Outcome> run(const Module &module, const Launch &launch, uint32_t number) {
    return emulator::run(module, launch, {.seed = number + 1, .allowUnalignedDescriptors = true});
  }
};

constexpr int sharedWords = 16384;

TEST_F(Golden, WgmmaAgreesByteForByte) {
  const std::map<uint32_t, std::string> records = readRecords();
  std::map<std::string, std::string> inputs;
  for (const char *type : {"bf16", "f16", "e4m3"})
    for (const char *what : {"img_", "areg_"})
      inputs[what + std::string(type)] = readGolden(what + std::string(type) + ".bin");
  std::istringstream cases(readGolden("cases.txt"));
  uint32_t number = 0, compared = 0;
  for (std::string line; std::getline(cases, line); ++number) {
    std::istringstream words(line);
    std::string kind, kernel;
    uint64_t a, b;
    words >> kind >> kernel >> a >> b;
    if (kind != "mma")
      continue;
    const std::string type = kernel[0] == 'e' ? "e4m3" : kernel[0] == 'h' ? "f16" : "bf16";
    std::string &image = inputs["img_" + type], &registers = inputs["areg_" + type];
    std::vector<float> result(4096);
    Launch l = launch();
    l.buffers = {{"image", image.data(), image.size(), false, true},
                 {"registers", registers.data(), registers.size(), false, true},
                 {"result", result.data(), result.size() * 4, true, false}};
    l.arguments = {Argument::tensor(0), Argument::of(sharedWords), Argument::of(a),
                   Argument::of(b),     Argument::tensor(1),       Argument::tensor(2)};
    Result<Outcome> outcome = run(module(kernel), l, number);
    ASSERT_TRUE(outcome) << outcome.error().message();
    ASSERT_FALSE(outcome->finding) << line << "\n" << toText(*outcome->finding);
    std::vector<int16_t> rounded(result.begin(), result.end());
    const std::string &golden = records.at(number);
    ASSERT_EQ(golden.size(), rounded.size() * 2);
    EXPECT_EQ(std::memcmp(golden.data(), rounded.data(), golden.size()), 0)
        << number << ": " << line;
    ++compared;
  }
  EXPECT_EQ(compared, 144u);
}

TEST_F(Golden, BulkTensorCopiesAgreeByteForByte) {
  const std::map<uint32_t, std::string> records = readRecords();
  std::string tensor = readGolden("tensor.bin");
  std::istringstream cases(readGolden("cases.txt"));
  uint32_t number = 0, compared = 0, refused = 0;
  for (std::string line; std::getline(cases, line); ++number) {
    std::istringstream words(line);
    std::string kind;
    int rank = 0, swizzle = 0, offset = 0, bytes = 2, start[5];
    words >> kind >> rank >> swizzle >> offset;
    if (kind != "tma")
      continue;
    TensorMap map;
    map.dtype = DType::BF16;
    map.rank = static_cast<uint32_t>(rank);
    map.swizzle = static_cast<Swizzle>(swizzle);
    for (int i = 0; i < rank; ++i)
      words >> map.dims[i];
    for (int i = 0; i < rank; ++i) {
      words >> map.box[i];
      bytes *= static_cast<int>(map.box[i]);
      map.strides[i] = i ? (map.strides[i - 1] * map.dims[i - 1] + 15) / 16 * 16 : 2;
    }
    for (int &s : start)
      words >> s;
    std::vector<uint32_t> out(sharedWords);
    Launch l = launch();
    l.maps = {map};
    l.buffers = {{"tensor", tensor.data(), tensor.size(), false, true},
                 {"out", out.data(), out.size() * 4, true, true}};
    l.arguments = {Argument::map(0), Argument::tensor(1), Argument::of(sharedWords),
                   Argument::of(bytes), Argument::of(offset)};
    for (int s : start)
      l.arguments.push_back(Argument::of(s));
    Result<Outcome> outcome = run(module("tma" + std::to_string(rank)), l, number);
    ASSERT_TRUE(outcome) << outcome.error().message();
    if (!records.contains(number)) {
      // The GPU reports an illegal instruction.
      ASSERT_TRUE(outcome->finding) << line;
      EXPECT_EQ(outcome->finding->kind, FindingKind::TensorMap) << toText(*outcome->finding);
      ++refused;
      continue;
    }
    ASSERT_FALSE(outcome->finding) << line << "\n" << toText(*outcome->finding);
    const std::string &golden = records.at(number);
    EXPECT_EQ(std::memcmp(golden.data(), out.data(), golden.size()), 0) << number << ": " << line;
    ++compared;
  }
  EXPECT_EQ(compared, 60u);
  EXPECT_EQ(refused, 12u);
}

} // namespace
