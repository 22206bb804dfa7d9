//===- MissingInstructionsTest.cpp ----------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/CPU/MissingInstructions.h"
#include "compiler/Target/CPU/CpuTarget.h"
#include "lib/Support/Half.h"

#include <tilewright/compiler.h>

#include <llvm/Object/ObjectFile.h>

#include <gmock/gmock.h>

#include <cmath>

using namespace tilewright;
using testing::HasSubstr;
using testing::IsEmpty;

static std::vector<std::string> undefinedSymbols(const std::string &object) {
  auto file = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(object, "object"));
  EXPECT_TRUE(static_cast<bool>(file));
  std::vector<std::string> names;
  for (const llvm::object::SymbolRef &symbol : (*file)->symbols())
    if (llvm::cantFail(symbol.getFlags()) & llvm::object::SymbolRef::SF_Undefined)
      if (llvm::StringRef name = llvm::cantFail(symbol.getName()); !name.empty())
        names.push_back(name.str());
  return names;
}

TEST(MissingInstructions, NoProcessorNeedsALibrary) {
  Problem problem;
  problem.headDim = 20;
  problem.scores = {"exp(s) + exp2(s) + log(s) + log2(s) + tanh(s) + sqrt(s) + floor(s) + abs(s)",
                    "clamp(s / 3.0, -1.0, 1.0) + half[k] + brain[q] + real(q // 3 % (k + 1))"};
  problem.tensors = {{"half", DType::F16, 1}, {"brain", DType::BF16, 1}};
  const std::pair<DType, std::vector<const char *>> cases[] = {
      {DType::F64, {"x86-64", "haswell", "skylake-avx512", "neoverse-v1"}},
      {DType::F32, {"x86-64", "haswell", "skylake-avx512", "neoverse-v1"}},
      {DType::F16, {"x86-64", "haswell"}},
      {DType::BF16, {"x86-64", "sapphirerapids"}}};
  for (const auto &[dtype, cpus] : cases)
    for (const char *cpu : cpus) {
      problem.dtype = dtype;
      const Result<Compilation> compilation =
          compile(problem, {.target = "cpu", .cpu = cpu, .schedule = "block_q=8,block_kv=8"});
      ASSERT_TRUE(compilation) << compilation.error().message();
      const Result<std::string> object = compilation->text(Stage::Object);
      ASSERT_TRUE(object) << nameOf(dtype) << " " << cpu << ": " << object.error().message();
      EXPECT_THAT(undefinedSymbols(*object), IsEmpty()) << nameOf(dtype) << " " << cpu;
    }
}

TEST(MissingInstructions, AFunctionThatIsNotOursIsRefused) {
  const Result<Compilation> compilation = compileText(R"(
    func.func @sine_items(%x: memref<4xf32> {attn.name = "x"}) -> index {
      %c1 = arith.constant 1 : index
      return %c1 : index
    }
    func.func @sine(%x: memref<4xf32> {attn.name = "x"}, %item: index) {
      %old = memref.load %x[%item] : memref<4xf32>
      %new = math.sin %old : f32
      memref.store %new, %x[%item] : memref<4xf32>
      return
    })",
                                                      Stage::Vector);
  ASSERT_TRUE(compilation) << compilation.error().message();
  const Result<std::string> object = compilation->text(Stage::Object);
  ASSERT_FALSE(object);
  EXPECT_THAT(object.error().message(), HasSubstr("sinf"));
}

namespace {
/// One head with two keys for each batch, on a processor without F16C.
struct Halves {
  Problem problem;
  std::vector<uint16_t> query, key, value, out, bias;
  std::vector<float> lse;

  explicit Halves(size_t batch)
      : query(batch), key(2 * batch), value(2 * batch), out(batch), bias(batch), lse(batch) {
    problem.headDim = 1;
    problem.dtype = DType::F16;
    problem.scores = {"s + bias[b]"};
    problem.tensors = {{"bias", DType::F16, 1}};
  }

  void run() {
    const Result<Compilation> compilation = compile(problem, {.target = "cpu", .cpu = "x86-64"});
    ASSERT_TRUE(compilation) << compilation.error().message();
    const Result<Kernel> kernel = compilation->kernel();
    ASSERT_TRUE(kernel) << kernel.error().message();
    const auto batch = static_cast<int64_t>(query.size());
    Arguments arguments;
    arguments.query = TensorView(query.data(), DType::F16, {batch, 1, 1, 1});
    arguments.key = TensorView(key.data(), DType::F16, {batch, 1, 2, 1});
    arguments.value = TensorView(value.data(), DType::F16, {batch, 1, 2, 1});
    arguments.out = TensorView(out.data(), DType::F16, {batch, 1, 1, 1});
    arguments.lse = TensorView(lse.data(), DType::F32, {batch, 1, 1});
    arguments.tensors["bias"] = TensorView(bias.data(), DType::F16, {batch});
    const Result<size_t> bytes = kernel->workspaceSize(
        {.batch = batch, .heads = 1, .kvHeads = 1, .queryLength = 1, .keyLength = 2});
    ASSERT_TRUE(bytes) << bytes.error().message();
    std::vector<std::byte> workspace(*bytes);
    const Status status = kernel->run(arguments, workspace, {.threads = 1});
    ASSERT_TRUE(status) << status.error().message();
  }
};

bool isNaN(uint16_t half) {
  return (half & 0x7FFF) > 0x7C00;
}

bool hasPlainX86() {
  const Result<CpuTarget> target = CpuTarget::named("x86-64");
  return target && target->isHost;
}
} // namespace

TEST(MissingInstructions, EveryF16IsWidened) {
  if (!hasPlainX86())
    GTEST_SKIP() << "no x86-64 processor";
  Halves halves(65536);
  for (size_t i = 0; i < halves.bias.size(); ++i)
    halves.bias[i] = static_cast<uint16_t>(i);
  halves.run();
  // Both scores are the bias; +inf gives NaN.
  for (size_t i = 0; i < halves.bias.size(); ++i) {
    const float wanted = f16ToFloat(halves.bias[i]);
    if (isNaN(halves.bias[i]) || wanted == INFINITY)
      ASSERT_TRUE(std::isnan(halves.lse[i])) << i;
    else
      ASSERT_EQ(halves.lse[i], wanted + std::log(2.0f)) << i;
  }
}

TEST(MissingInstructions, NarrowingRoundsTiesToEven) {
  if (!hasPlainX86())
    GTEST_SKIP() << "no x86-64 processor";
  // The mean of neighbours is between them, that of the largest and infinity beyond both.
  Halves halves(65536);
  for (size_t i = 0; i < halves.query.size(); ++i) {
    halves.value[2 * i] = static_cast<uint16_t>(i);
    halves.value[2 * i + 1] = static_cast<uint16_t>((i & 0x7FFF) == 0x7FFF ? i : i + 1);
  }
  halves.run();
  for (size_t i = 0; i < halves.query.size(); ++i) {
    const float mean = (f16ToFloat(halves.value[2 * i]) + f16ToFloat(halves.value[2 * i + 1])) / 2;
    if (std::isnan(mean))
      ASSERT_TRUE(isNaN(halves.out[i])) << i;
    else
      ASSERT_EQ(halves.out[i], doubleToF16(mean)) << i;
  }
}
