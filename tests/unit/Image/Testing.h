//===- Testing.h - A kernel image for tests ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_TESTS_UNIT_IMAGE_TESTING_H
#define TILEWRIGHT_TESTS_UNIT_IMAGE_TESTING_H

#include "lib/Image/KernelImage.h"
#include "tests/unit/Expression/Testing.h"

namespace tilewright {

/// ceil(extent of `dimension` of `argument` / divisor).
inline SizeFormula blocksOf(uint32_t argument, uint32_t dimension, int64_t divisor) {
  return {{{.op = SizeFormula::Op::Extent, .argument = argument, .dimension = dimension},
           {.op = SizeFormula::Op::Constant, .constant = divisor},
           {.op = SizeFormula::Op::CeilDiv}}};
}

/// A forward kernel of head dim 64 in bf16 whose mask reads a scalar and whose score reads a
/// tensor. Its code is no code.
inline KernelImage smallImage() {
  constexpr int64_t dynamic = KernelArgument::dynamic;
  KernelImage image;
  image.target = "sm_90a";
  image.compiler = "tilewright 0.1.0";
  image.assembler = "ptxas 13.0";
  image.schedule = "block_q=128,block_kv=128,stages=2";
  image.stage = "attn";
  image.source = "module {}";
  const auto tensor = [&](std::string name, DType dtype, std::vector<int64_t> shape) {
    KernelArgument argument{.name = std::move(name), .dtype = dtype, .shape = shape};
    argument.strides.assign(shape.size(), dynamic);
    argument.strides.back() = 1;
    image.arguments.push_back(argument);
  };
  for (const char *name : {"query", "key", "value", "out"})
    tensor(name, DType::BF16, {dynamic, dynamic, dynamic, 64});
  tensor("lse", DType::F32, {dynamic, dynamic, dynamic});
  image.arguments.push_back({.name = "scale", .kind = KernelArgument::Kind::F32});
  image.arguments.push_back({.name = "window", .kind = KernelArgument::Kind::I32});
  tensor("bias", DType::F32, {dynamic});
  image.arguments.back().strides = {dynamic};

  expression::Declarations &names = image.expressions.declarations;
  EXPECT_TRUE(names.addScalar("window", expression::Type::I32));
  EXPECT_TRUE(names.addTensor("bias", DType::F32, 1));
  image.expressions.masks.push_back(
      expression::parsed("k <= q && q - k < window", names, expression::Role::Mask));
  image.expressions.scores.push_back(
      expression::parsed("s + bias[h]", names, expression::Role::Score));

  KernelLaunch launch;
  launch.kernel = "attention";
  launch.grid = {blocksOf(0, 0, 1), blocksOf(0, 1, 1), blocksOf(0, 2, 128)};
  launch.threads = 384;
  launch.sharedMemory = 99328;
  using Kind = KernelParameter::Kind;
  launch.parameters = {{Kind::TensorMap, 0, 128}, {Kind::TensorMap, 1, 128},
                       {Kind::TensorMap, 2, 128}, {Kind::Address, 3, 0},
                       {Kind::Stride, 3, 2},      {Kind::Extent, 1, 2},
                       {Kind::Scalar, 5, 0},      {Kind::Scalar, 6, 0},
                       {Kind::Address, 4, 0},     {Kind::Address, 7, 0}};
  launch.registers = 168;
  launch.rings = {
      {.name = "keys", .stages = 2, .stageBytes = 16384, .offset = 16384, .barriers = 98304},
      {.name = "values", .stages = 3, .stageBytes = 16384, .offset = 49152, .barriers = 98336}};
  image.launches.push_back(launch);
  image.ptx = ".version 8.0";
  // The header of an ELF file without anything in it.
  image.cubin = std::string("\177ELF\2\1\1", 7) + std::string(57, '\0');
  return image;
}

} // namespace tilewright

#endif // TILEWRIGHT_TESTS_UNIT_IMAGE_TESTING_H
