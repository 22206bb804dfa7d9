//===- LaunchFileTest.cpp - A launch written down as JSON -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Emulate/LaunchFile.h"
#include "compiler/TensorFile/TensorFile.h"
#include "lib/Emulator/Command.h"

#include <gmock/gmock.h>

#include <cstring>
#include <filesystem>
#include <sstream>

using namespace tilewright;
using testing::HasSubstr;

namespace {

std::string errorOf(const std::string &text) {
  Result<LaunchFile> file = parseLaunchFile(text, "");
  return file ? "" : file.error().message();
}

TEST(LaunchFile, RunsAKernelAndWritesItsOutput) {
  constexpr std::string_view ptx =
      ".version 8.6\n.target sm_90a\n.address_size 64\n"
      ".visible .entry scale(.param .u64 x, .param .f32 f) {\n"
      ".reg .b32 %r<4>; .reg .f32 %f<4>; .reg .b64 %rd<4>;\n"
      "ld.param.u64 %rd0, [x]; ld.param.f32 %f0, [f]; mov.u32 %r0, %tid.x;\n"
      "mul.wide.u32 %rd1, %r0, 4; add.s64 %rd0, %rd0, %rd1; ld.global.f32 %f1, [%rd0];\n"
      "mul.f32 %f1, %f1, %f0; st.global.f32 [%rd0], %f1; ret; }\n";
  const std::filesystem::path folder = std::filesystem::temp_directory_path();
  Result<LaunchFile> file = parseLaunchFile(
      R"({"grid": [1], "block": [32], "tensors": [{"name": "x", "dtype": "f32", "shape": [4, 8],
          "fill": 3, "output": "tilewright-launch-test.npy"}],
          "arguments": [{"tensor": "x"}, {"f32": 0.5}]})",
      folder.string());
  ASSERT_TRUE(file) << file.error().message();
  Result<emulator::Module> module = emulator::loadModule(ptx, file->kernel);
  ASSERT_TRUE(module) << module.error().message();
  std::istringstream commands;
  std::ostringstream answers;
  emulator::CommandOptions options;
  options.seeds = 2;
  Result<emulator::Report> report =
      emulator::runSeeds(*module, file->launch, options, commands, answers);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_TRUE(report->findings.empty());
  ASSERT_TRUE(writeOutputs(*file));
  const std::string path = (folder / "tilewright-launch-test.npy").string();
  Result<OwnedTensor> written = loadTensor(path);
  ASSERT_TRUE(written) << written.error().message();
  EXPECT_EQ(static_cast<float *>(written->view().data)[31], 1.5f);
  std::filesystem::remove(path);
}

TEST(LaunchFile, ReadsMapsAndArguments) {
  Result<LaunchFile> file = parseLaunchFile(
      R"({"kernel": "k", "grid": [2, 3], "block": [128, 1, 1], "shared_bytes": 1024,
          "tensors": [{"name": "q", "dtype": "bf16", "shape": [16, 64]}],
          "tensor_maps": [{"tensor": "q", "dims": [64, 16], "strides": [2, 128], "box": [64, 8],
                           "swizzle": 128}],
          "arguments": [{"map": 0}, {"i32": -1}, {"u64": 18446744073709551615},
                        {"tensor": "q", "offset": 16}]})",
      "");
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_EQ(file->kernel, "k");
  EXPECT_EQ(file->launch.grid[1], 3u);
  EXPECT_EQ(file->launch.grid[2], 1u);
  EXPECT_EQ(file->launch.dynamicSharedBytes, 1024u);
  ASSERT_EQ(file->launch.maps.size(), 1u);
  EXPECT_EQ(file->launch.maps[0].swizzle, emulator::Swizzle::Bytes128);
  EXPECT_EQ(file->launch.maps[0].dims[1], 16u);
  ASSERT_EQ(file->launch.arguments.size(), 4u);
  EXPECT_EQ(file->launch.arguments[2].bytes, std::vector<uint8_t>(8, 0xff));
  EXPECT_EQ(file->launch.arguments[3].offset, 16u);
  EXPECT_FALSE(file->launch.buffers[0].writable);
  EXPECT_FALSE(file->launch.buffers[0].initialized);
}

TEST(LaunchFile, TensorsShareASafetensorsFile) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path();
  Result<LaunchFile> file = parseLaunchFile(
      R"({"grid": [1], "block": [32], "tensors": [
          {"name": "o", "dtype": "bf16", "shape": [4], "fill": 2, "output": "tilewright-two.safetensors"},
          {"name": "lse", "dtype": "f32", "shape": [2], "fill": 3,
           "output": "./tilewright-two.safetensors"}]})",
      folder.string());
  ASSERT_TRUE(file) << file.error().message();
  ASSERT_TRUE(writeOutputs(*file));
  const std::string path = (folder / "tilewright-two.safetensors").string();
  Result<OwnedTensor> o = loadTensor(path + ":o"), lse = loadTensor(path + ":lse");
  ASSERT_TRUE(o) << o.error().message();
  ASSERT_TRUE(lse) << lse.error().message();
  EXPECT_EQ(static_cast<uint16_t *>(o->view().data)[3], 0x4000);
  EXPECT_EQ(static_cast<float *>(lse->view().data)[1], 3.f);
  std::filesystem::remove(path);
}

TEST(LaunchFile, RefusesWhatAnNpyFileCannotHold) {
  const std::string head = R"({"grid": [1], "block": [32], "tensors": [)";
  EXPECT_THAT(
      errorOf(head + R"({"name": "o", "dtype": "bf16", "shape": [4], "output": "o.npy"}]})"),
      HasSubstr("tensors[0].output: an .npy file cannot hold bf16"));
  EXPECT_THAT(errorOf(head + R"({"name": "a", "dtype": "f32", "shape": [4], "output": "o.npy"},
                                {"name": "b", "dtype": "f32", "shape": [4], "output": "o.npy"}]})"),
              HasSubstr("tensors[1].output: 'o.npy' is written twice"));
}

TEST(LaunchFile, RefusesWhatItDoesNotUnderstand) {
  EXPECT_THAT(errorOf("[]"), HasSubstr("not an object"));
  EXPECT_THAT(errorOf("{"), HasSubstr("launch file"));
  EXPECT_THAT(errorOf(std::string(100000, '[')), HasSubstr("nested 100000 deep; the limit is 8"));
  EXPECT_THAT(errorOf(R"({"gird": [1]})"), HasSubstr("unknown key 'gird'"));
  EXPECT_THAT(errorOf(R"({"grid": [1, 1, 1, 1], "block": [32]})"), HasSubstr("grid has 4 numbers"));
  EXPECT_THAT(errorOf(R"({"grid": [99999999999], "block": [32]})"), HasSubstr("grid[0]"));
  EXPECT_THAT(errorOf(R"({"grid": [1], "block": [-32]})"), HasSubstr("block[0]"));
  const std::string head = R"({"grid": [1], "block": [32], )";
  EXPECT_THAT(errorOf(head + R"("tensors": [{"name": "x"}]})"), HasSubstr("needs a file, or"));
  EXPECT_THAT(errorOf(head + R"("tensors": [{"name": "x", "file": "/nowhere.npy"}]})"),
              HasSubstr("/nowhere.npy"));
  EXPECT_THAT(errorOf(head + R"("tensors": [{"name": "x", "dtype": "f32",
                              "shape": [4294967296, 4294967296, 4294967296]}]})"),
              HasSubstr("1 to 4294967296 bytes"));
  EXPECT_THAT(
      errorOf(head + R"("tensors": [{"name": "x", "dtype": "f32", "shape": [4], "fill": "a"}]})"),
      HasSubstr("fill is not a number"));
  EXPECT_THAT(errorOf(head + R"("arguments": [{"tensor": "y"}]})"), HasSubstr("no tensor 'y'"));
  EXPECT_THAT(errorOf(head + R"("arguments": [{"i32": 3000000000}]})"),
              HasSubstr("arguments[0].i32"));
  EXPECT_THAT(errorOf(head + R"("arguments": [{"i32": 1, "u32": 2}]})"), HasSubstr("one value"));
  EXPECT_THAT(errorOf(head + R"("arguments": [{"f32": "x"}]})"), HasSubstr("not a number"));
}

} // namespace
