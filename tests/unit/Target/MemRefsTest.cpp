//===- MemRefsTest.cpp - A launch as MLIR's C interface takes it ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/CPU/MemRefs.h"

#include <gmock/gmock.h>

using namespace tilewright;
using testing::ElementsAre;

TEST(MemRefs, AreWhatMlirExpects) {
  constexpr int64_t open = KernelArgument::dynamic;
  const KernelInterface kernel(
      {{.name = "first", .dtype = DType::F32, .shape = {open, 3}, .strides = {open, 1}},
       {.name = "scale", .kind = KernelArgument::Kind::F32},
       {.name = "window", .kind = KernelArgument::Kind::I32},
       {.name = "second", .dtype = DType::F32, .shape = {open}, .strides = {open}}},
      {});
  std::vector<float> memory(20);
  Arguments arguments;
  const int64_t shape[] = {2, 3}, strides[] = {7, 1};
  arguments.tensors["first"] = TensorView(memory.data(), DType::F32, shape, strides);
  arguments.tensors["second"] = TensorView(memory.data() + 4, DType::F32, {5});
  arguments.scale = 0.5;
  arguments.scalars["window"] = 3;
  LaunchArguments launch;
  Status checked = launch.check(kernel, arguments);
  ASSERT_TRUE(checked) << checked.error().message();

  const MemRefs memrefs(launch);
  const auto *first = static_cast<const MemRefDescriptor *>(memrefs.pointers()[0]);
  EXPECT_EQ(first->aligned, memory.data());
  EXPECT_EQ(first->offset, 0);
  EXPECT_THAT(std::span(first->extentsAndStrides).first(4), ElementsAre(2, 3, 7, 1));
  EXPECT_EQ(static_cast<const ScalarValue *>(memrefs.pointers()[1])->f32, 0.5f);
  EXPECT_EQ(static_cast<const ScalarValue *>(memrefs.pointers()[2])->i32, 3);
  const auto *second = static_cast<const MemRefDescriptor *>(memrefs.pointers()[3]);
  EXPECT_EQ(second->aligned, memory.data() + 4);
  EXPECT_THAT(std::span(second->extentsAndStrides).first(2), ElementsAre(5, 1));
}
