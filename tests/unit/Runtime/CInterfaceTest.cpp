//===- CInterfaceTest.cpp - The C interface refuses what it must ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include <tilewright/c/tilewright.h>

#include <dlpack/dlpack.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <span>
#include <string>

using testing::ElementsAre;
using testing::HasSubstr;

namespace {
/// Takes a status apart and destroys it.
struct Outcome {
  explicit Outcome(tilewright_status *status)
      : code(tilewright_status_get_code(status)), message(tilewright_status_message(status)) {
    tilewright_status_destroy(status);
  }
  tilewright_status_code code;
  std::string message;
};
} // namespace

TEST(CInterface, SuccessIsNull) {
  EXPECT_EQ(tilewright_status_get_code(nullptr), TILEWRIGHT_OK);
  EXPECT_STREQ(tilewright_status_message(nullptr), "");
  tilewright_status_destroy(nullptr);
  tilewright_kernel_destroy(nullptr);
  EXPECT_EQ(tilewright_c_abi_version(), uint32_t{TILEWRIGHT_C_ABI_VERSION});
}

TEST(CInterface, RefusesNull) {
  tilewright_kernel *kernel = reinterpret_cast<tilewright_kernel *>(1);
  Outcome noBytes(tilewright_kernel_load(nullptr, 10, &kernel));
  EXPECT_EQ(noBytes.code, TILEWRIGHT_INVALID_ARGUMENT);
  EXPECT_EQ(noBytes.message, "bytes is NULL");
  EXPECT_EQ(kernel, nullptr) << "nothing is left in what was to be made";
  EXPECT_EQ(Outcome(tilewright_kernel_load("x", 1, nullptr)).message, "kernel is NULL");
  EXPECT_EQ(Outcome(tilewright_kernel_load_file(nullptr, &kernel)).message, "path is NULL");
  EXPECT_EQ(Outcome(tilewright_kernel_compile(nullptr, nullptr, &kernel)).message,
            "problem is NULL");
  tilewright_arguments arguments{};
  EXPECT_EQ(Outcome(tilewright_kernel_launch(nullptr, &arguments, nullptr, 0, nullptr)).message,
            "kernel is NULL");
  size_t bytes = 0;
  EXPECT_EQ(Outcome(tilewright_kernel_workspace_size(nullptr, nullptr, &bytes)).message,
            "kernel is NULL");
}

TEST(CInterface, RefusesWhatIsNoImage) {
  tilewright_kernel *kernel = nullptr;
  Outcome garbage(tilewright_kernel_load("not an image", 12, &kernel));
  EXPECT_EQ(garbage.code, TILEWRIGHT_INVALID_ARGUMENT);
  EXPECT_EQ(kernel, nullptr);

  Outcome missing(tilewright_kernel_load_file("/nowhere/kernel.twk", &kernel));
  EXPECT_EQ(missing.code, TILEWRIGHT_SYSTEM);
  EXPECT_EQ(missing.message, "/nowhere/kernel.twk: No such file or directory");

  const std::string path = testing::TempDir() + "tilewright-no-image.twk";
  std::ofstream(path) << "not an image";
  EXPECT_THAT(Outcome(tilewright_kernel_load_file(path.c_str(), &kernel)).message,
              HasSubstr(path + ": "));
}

TEST(CInterface, TakesDLPackTensorsAsTheyAre) {
  std::array<int64_t, 3> shape = {2, 3, 5}, strides = {1, 10, 2};
  std::array<uint16_t, 64> elements{};
  DLTensor from{};
  from.data = elements.data();
  from.device = {kDLCPU, 0};
  from.ndim = 3;
  from.dtype = {kDLBfloat, 16, 1};
  from.shape = shape.data();
  from.strides = strides.data();
  from.byte_offset = 4;
  tilewright_tensor tensor;
  ASSERT_EQ(Outcome(tilewright_tensor_from_dlpack(&from, &tensor)).message, "");
  EXPECT_EQ(tensor.data, elements.data() + 2);
  EXPECT_EQ(tensor.dtype, TILEWRIGHT_BF16);
  EXPECT_EQ(tensor.rank, 3u);
  EXPECT_THAT(std::span(tensor.shape, 3), ElementsAre(2, 3, 5));
  EXPECT_THAT(std::span(tensor.strides, 3), ElementsAre(1, 10, 2));

  from.strides = nullptr; // row-major
  ASSERT_EQ(Outcome(tilewright_tensor_from_dlpack(&from, &tensor)).message, "");
  EXPECT_THAT(std::span(tensor.strides, 3), ElementsAre(15, 5, 1));
}

TEST(CInterface, RefusesDLPackTensorsThatItCannotTake) {
  std::array<int64_t, 9> shape{};
  DLTensor from{};
  from.device = {kDLCPU, 0};
  from.ndim = 9;
  from.dtype = {kDLFloat, 32, 1};
  from.shape = shape.data();
  tilewright_tensor tensor;
  EXPECT_EQ(Outcome(tilewright_tensor_from_dlpack(&from, &tensor)).message,
            "the DLTensor has 9 dimensions; the limit is 8");
  from.ndim = 2;
  from.dtype = {kDLFloat, 32, 4};
  EXPECT_THAT(Outcome(tilewright_tensor_from_dlpack(&from, &tensor)).message,
              HasSubstr("type code 2 with 32 bits and 4 lanes"));
  from.dtype = {kDLFloat, 32, 1};
  from.device = {kDLMetal, 0};
  Outcome metal(tilewright_tensor_from_dlpack(&from, &tensor));
  EXPECT_EQ(metal.code, TILEWRIGHT_UNSUPPORTED);
  EXPECT_THAT(metal.message, HasSubstr("device of type 8"));
}
