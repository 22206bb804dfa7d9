//===- PublicReportsTest.cpp - Inputs that failed users elsewhere ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inputs from public bug reports on other attention libraries, with the values that
// are right. Each test names its source.
//
//===----------------------------------------------------------------------===//

#include "tests/unit/Target/Attention.h"

#include <cmath>
#include <fstream>
#include <thread>

using namespace tilewright;
using namespace tilewright::test;
using reference::Case;
using reference::constant;
using reference::infinity;
using reference::makeArray;
using reference::noise;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {
double position(int64_t i) {
  return static_cast<double>(i);
}

std::function<double(int64_t)> listed(std::vector<double> values) {
  return [values](int64_t i) { return values.at(static_cast<size_t>(i)); };
}

testing::Matcher<std::vector<double>> areNear(const std::vector<double> &values,
                                              double tolerance = 1e-6) {
  return testing::Pointwise(testing::DoubleNear(tolerance), values);
}

/// A line of /proc/self/status, in KiB.
int64_t memoryKiB(std::string_view key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(key))
      return std::stoll(line.substr(key.size() + 1));
  return -1;
}
} // namespace

// microsoft/onnxruntime#29020, NVIDIA/cutlass#2336
TEST(PublicReports, CausalAlignmentOfFewQueries) {
  const auto output = [](std::string_view preset, int64_t queries, int64_t keys) {
    return run(Case({.queries = queries, .keys = keys}, constant(0), noise(1), position)
                   .preset(preset))
        .o;
  };
  EXPECT_THAT(output("causal-lower-right", 1, 8), areNear({3.5}));
  EXPECT_THAT(output("causal-lower-right", 3, 128), areNear({62.5, 63.0, 63.5}, 1e-5));
  EXPECT_THAT(output("causal", 1, 8), areNear({0}));
  EXPECT_THAT(output("causal", 3, 128), areNear({0, 0.5, 1}));
}

// Dao-AILab/flash-attention#1778
TEST(PublicReports, LeadingRowsWithoutKeysAreZero) {
  const Ran ran = run(Case({.queries = 5, .keys = 2}, constant(0), noise(1), listed({1, 3}))
                          .preset("causal-lower-right"));
  EXPECT_THAT(ran.o, ElementsAre(0, 0, 0, 1, 2));
  EXPECT_THAT(std::vector<double>(ran.lse.begin(), ran.lse.begin() + 3), Each(-infinity));
  EXPECT_NEAR(ran.lse.at(3), 0, 1e-7);
  EXPECT_NEAR(ran.lse.at(4), std::log(2.0), 1e-7);
}

// sgl-project/sglang#32087: a radius of 3 is a window of 4.
TEST(PublicReports, AWindowIsTheSameInPrefillAndDecoding) {
  const auto last = [](std::string_view preset, int64_t queries, int64_t keys, double window) {
    return run(Case({.queries = queries, .keys = keys}, constant(0), noise(1), position)
                   .preset(preset, window))
        .o.back();
  };
  EXPECT_NEAR(last("sliding-window-lower-right", 1, 10, 4), 7.5, 1e-6);
  EXPECT_NEAR(last("sliding-window", 10, 10, 4), 7.5, 1e-6);
  EXPECT_NEAR(last("sliding-window-lower-right", 1, 5000, 4097), (903 + 4999) / 2.0, 1e-2);
}

// pytorch/pytorch#103963, iree-org/iree#24175
TEST(PublicReports, FullyMaskedRowsAreZeroWithEitherKindOfMask) {
  const auto makeCase = [] {
    return Case({.queries = 8, .keys = 8, .d = 16, .dv = 3}, noise(1), noise(2), noise(3));
  };
  const auto inside = [](int64_t i) { return i / 8 < 4 && i % 8 < 4; };
  const Ran byMask = run(
      makeCase().tensor("keep", makeArray(DType::Bool, {1, 1, 8, 8}, inside)).preset("dense-mask"));
  const Ran byBias =
      run(makeCase()
              .tensor("bias", makeArray(DType::F32, {1, 1, 8, 8},
                                        [&](int64_t i) { return inside(i) ? 0 : -infinity; }))
              .preset("dense-bias"));
  const Ran first4 = run(makeCase().mask("k < 4"));
  EXPECT_THAT(byMask.o, areNear(byBias.o));
  for (size_t i = 0; i < 24; ++i)
    EXPECT_NEAR(byMask.o.at(i), i < 12 ? first4.o.at(i) : 0, i < 12 ? 1e-6 : 0);
  for (size_t row = 4; row < 8; ++row) {
    EXPECT_EQ(byMask.lse.at(row), -infinity);
    EXPECT_EQ(byBias.lse.at(row), -infinity);
  }
}

// flashinfer-ai/flashinfer#4267, #4450
TEST(PublicReports, LargeNegativeScoresAreNotHidden) {
  const Ran ran = run(Case(
      {.keys = 64, .d = 128, .dtype = DType::BF16}, constant(32),
      [](int64_t i) { return i < 128 ? -31 : -32; }, [](int64_t i) { return i == 0 ? 7 : 100; }));
  EXPECT_EQ(ran.o.at(0), 7);
  EXPECT_NEAR(ran.lse.at(0), -126976 / std::sqrt(128.0), 0.01);
}

// flashinfer-ai/flashinfer#3716
TEST(PublicReports, EveryLengthHasItsOwnDenominator) {
  for (const int64_t keys : {1, 100, 255, 256, 257}) {
    const Ran ran =
        run(Case({.keys = keys, .d = 128, .heads = 8, .kvHeads = 8, .dtype = DType::BF16},
                 constant(0), noise(1), constant(1)));
    EXPECT_THAT(ran.o, Each(1));
    EXPECT_THAT(ran.lse,
                areNear(std::vector<double>(8, std::log(static_cast<double>(keys))), 1e-6));
  }
}

// NVIDIA/TransformerEngine#1195
TEST(PublicReports, ViewsOfOnePackedTensorAreReadWithTheirStrides) {
  // [t, b, 18, 64]: 16 heads of queries, one of keys, one of values.
  const reference::Array packed = makeArray(
      DType::F16, {64, 1, 18, 64}, [next = noise(1)](int64_t i) mutable { return 0.25 * next(i); });
  const auto view = [&](int64_t head, int64_t heads) {
    const std::array<int64_t, 4> shape = {1, heads, 64, 64};
    const std::array<int64_t, 4> strides = {18 * 64, 64, 18 * 64, 1};
    return TensorView(static_cast<uint16_t *>(packed.view.data) + head * 64, DType::F16, shape,
                      strides);
  };
  Case aCase({.queries = 64, .keys = 64, .d = 64, .dv = 64, .heads = 16, .dtype = DType::F16},
             constant(0), constant(0), constant(0));
  aCase.preset("causal").scale(1);
  aCase.problem.q = view(0, 16);
  aCase.problem.k = view(16, 1);
  aCase.problem.v = view(17, 1);
  Result<Kernel> kernel = compileKernel(aCase.problem);
  ASSERT_TRUE(kernel) << kernel.error().message();
  Output o(DType::F16, {1, 16, 64, 64}, Layout::Dense), lse(DType::F32, {1, 16, 64}, Layout::Dense);
  Arguments arguments = captured(aCase.problem);
  arguments.query = aCase.problem.q;
  arguments.key = aCase.problem.k;
  arguments.value = aCase.problem.v;
  arguments.out = o.view;
  arguments.lse = lse.view;
  Status done = kernel->run(arguments);
  ASSERT_TRUE(done) << done.error().message();
  const Ran strided{valuesOf(o.view), valuesOf(lse.view)};
  expectSameBits(launch(*kernel, aCase.problem), strided); // launch copies
  expectRight(aCase, strided, {}, reference::allRows(64));
}

// flashinfer-ai/flashinfer#4485, #2113
TEST(PublicReports, LseIsTheNaturalLogarithmInEveryLayout) {
  const Ran ran = expectRight(Case({.queries = 8,
                                    .keys = 256,
                                    .d = 64,
                                    .dv = 64,
                                    .batch = 4,
                                    .heads = 2,
                                    .kvHeads = 2,
                                    .dtype = DType::BF16},
                                   constant(0), noise(2), noise(3)));
  EXPECT_THAT(ran.lse, areNear(std::vector<double>(64, std::log(256.0))));
}

// Dao-AILab/flash-attention#1025
TEST(PublicReports, ASoftcapDoesNotUncoverHiddenKeys) {
  const Ran ran = run(Case({.queries = 2, .keys = 2}, constant(1), constant(1), listed({0, 1000}))
                          .scale(1)
                          .preset("softcap", 1)
                          .preset("causal"));
  EXPECT_EQ(ran.o.at(0), 0);
}

// NVIDIA/cudnn-frontend#804, pytorch/pytorch#105202
TEST(PublicReports, ZeroAndNegativeScalesRespectTheMask) {
  const auto output = [](double scale) {
    return run(Case(
                   {.keys = 4, .dv = 4}, listed({1, 0, 0, 0}),
                   [](int64_t i) { return i % 5 ? 0 : 2; }, [](int64_t i) { return i % 5 ? 0 : 1; })
                   .scale(scale)
                   .mask("k < 2"))
        .o;
  };
  EXPECT_THAT(output(0), areNear({.5, .5, 0, 0}));
  EXPECT_THAT(output(-1), areNear({.119203, .880797, 0, 0}));
}

// pytorch/pytorch#187227, #147585: a row's offset in the mask passes 2^32.
TEST(PublicReports, AMaskMayBeLargerThanFourGibibytes) {
  constexpr int64_t queries = 4097, keys = 64, stride = int64_t{1} << 20;
  constexpr size_t size = (queries - 1) * stride + keys;
  void *memory = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    GTEST_SKIP() << "no " << size << " bytes of address space";
  // Visible as under a causal mask that starts 4040 rows earlier, so that the last rows differ from
  // each other and from the first ones.
  for (int64_t q = 0; q < queries; ++q)
    for (int64_t k = 0; k < keys; ++k)
      static_cast<uint8_t *>(memory)[q * stride + k] = k <= std::abs(q - 4040);
  Case computed({.queries = queries, .keys = keys, .d = 8, .dv = 8}, noise(1), noise(2), noise(3));
  const Ran right = run(computed.mask("k <= abs(q - 4040)"));
  Case stored({.queries = queries, .keys = keys, .d = 8, .dv = 8}, noise(1), noise(2), noise(3));
  const std::array<int64_t, 2> shape = {queries, keys}, strides = {stride, 1};
  ASSERT_TRUE(stored.problem.declarations.addTensor("keep", DType::Bool, 2));
  stored.problem.bindings.tensors.push_back(TensorView(memory, DType::Bool, shape, strides));
  expectSameBits(run(stored.mask("keep[q, k]")), right);
  munmap(memory, size);
}

// pytorch/pytorch#133321, #164931
TEST(PublicReports, HeadDimsThatAreNoPowersOfTwo) {
  for (const int64_t d : {31, 40, 72, 80, 96, 160, 224, 512}) {
    SCOPED_TRACE(d);
    for (const int64_t queries : {70, 1}) // prefill and decoding
      expectRight(Case({.queries = queries,
                        .keys = 70,
                        .d = d,
                        .dv = d,
                        .heads = 2,
                        .kvHeads = 1,
                        .dtype = DType::F16},
                       noise(1), noise(2), noise(3))
                      .preset("causal-lower-right"));
  }
}

// pytorch/pytorch#151359
TEST(PublicReports, GroupsOfAnySize) {
  for (const int64_t group : {3, 5, 6, 7})
    expectRight(Case({.keys = 300, .d = 16, .dv = 16, .heads = 2 * group, .kvHeads = 2}, noise(1),
                     noise(2), noise(3)));
}

// huggingface/transformers#46960
TEST(PublicReports, WideHeadsOfAGroupedProblemTakeLinearMemory) {
  const Case aCase({.queries = 4096,
                    .keys = 4096,
                    .d = 512,
                    .dv = 512,
                    .heads = 2,
                    .kvHeads = 1,
                    .dtype = DType::BF16},
                   noise(1), noise(2), noise(3));
  expectRight(aCase, run(aCase), {}, reference::rowsToCheck(4096));
}

// The score table would take 1 GiB.
TEST(PublicReports, MemoryIsLinear) {
  const Case aCase({.queries = 16384, .keys = 16384, .d = 64, .dv = 64}, noise(1), noise(2),
                   noise(3));
  Result<Kernel> kernel = compileKernel(aCase.problem);
  ASSERT_TRUE(kernel) << kernel.error().message();
  Output o(DType::F32, {1, 1, 16384, 64}, Layout::Dense),
      lse(DType::F32, {1, 1, 16384}, Layout::Dense);
  Arguments arguments;
  arguments.query = aCase.problem.q;
  arguments.key = aCase.problem.k;
  arguments.value = aCase.problem.v;
  arguments.out = o.view;
  arguments.lse = lse.view;
  std::ofstream("/proc/self/clear_refs") << "5"; // the peak starts anew
  const int64_t before = memoryKiB("VmRSS:");
  Status done = kernel->run(arguments);
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_LT(memoryKiB("VmHWM:") - before, 64 * 1024);
  expectRight(aCase, {valuesOf(o.view), valuesOf(lse.view)}, {}, reference::rowsToCheck(16384));
}

// pytorch/torchtitan#3898
TEST(PublicReports, OneKernelServesAllLengths) {
  std::optional<Kernel> kernel;
  for (int64_t queries = 1; queries <= 32; ++queries) {
    const Case aCase({.queries = queries, .keys = 128, .d = 16, .dv = 16}, noise(1), noise(2),
                     noise(3));
    if (!kernel)
      kernel = *compileKernel(aCase.problem);
    expectRight(aCase, launch(*kernel, aCase.problem), {}, reference::allRows(queries));
  }
}

// NVIDIA/TransformerEngine#614, pytorch/pytorch#120668
TEST(PublicReports, TrueIsVisible) {
  const Ran ran = run(
      Case({.keys = 4}, constant(0), noise(1), position)
          .tensor("keep", makeArray(DType::Bool, {1, 1, 1, 4}, [](int64_t i) { return i == 0; }))
          .preset("dense-mask"));
  EXPECT_EQ(ran.o.at(0), 0);
}

// pytorch/pytorch#138864
TEST(PublicReports, AMaskOfOneHeadServesAll) {
  Case aCase({.keys = 257,
              .d = 512,
              .dv = 512,
              .batch = 2,
              .heads = 8,
              .kvHeads = 8,
              .dtype = DType::BF16},
             noise(1), noise(2), noise(3));
  const reference::Array keep =
      makeArray(DType::Bool, {2, 1, 1, 257}, [](int64_t i) { return i % 3 != 0; });
  const expression::Preset &preset = **expression::findPreset("dense-mask");
  Result<TensorView> fitted =
      expression::fitTensor(preset.tensors[0], keep.view, reference::sizesOf(aCase.problem));
  ASSERT_TRUE(fitted) << fitted.error().message();
  ASSERT_TRUE(aCase.problem.declarations.addTensor("keep", DType::Bool, 4));
  aCase.problem.bindings.tensors.push_back(*fitted);
  aCase.mask(preset.text);
  expectRight(aCase);
}

// facebookresearch/xformers#1122, flashinfer-ai/flashinfer#3176
TEST(PublicReports, AMaskThatDoesNotFitIsRefusedWithBothLengths) {
  Case aCase({.queries = 10, .keys = 20, .d = 8, .dv = 8}, noise(1), noise(2), noise(3));
  aCase.tensor("keep", makeArray(DType::Bool, {10, 15}, constant(1))).mask("keep[q, k]");
  Result<Kernel> kernel = compileKernel(aCase.problem);
  ASSERT_TRUE(kernel) << kernel.error().message();
  Output o(DType::F32, {1, 1, 10, 8}, Layout::Dense), lse(DType::F32, {1, 1, 10}, Layout::Dense);
  Arguments arguments = captured(aCase.problem);
  arguments.query = aCase.problem.q;
  arguments.key = aCase.problem.k;
  arguments.value = aCase.problem.v;
  arguments.out = o.view;
  arguments.lse = lse.view;
  Status done = kernel->run(arguments);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message(),
              AllOf(HasSubstr("keep"), HasSubstr("0 to 19"), HasSubstr("15")));
  EXPECT_THAT(valuesOf(o.view), Each(testing::IsNan()));
}

// triton-lang/triton#517
TEST(PublicReports, EveryStageIsTextThatRepeats) {
  const Case aCase({.keys = 2}, constant(1), noise(2), noise(3));
  for (const Stage stage : {Stage::Attn, Stage::Tile, Stage::Vector, Stage::LLVM, Stage::Asm}) {
    const auto text = [&] { return *compile(describe(aCase.problem, {}))->text(stage); };
    EXPECT_FALSE(text().empty());
    EXPECT_EQ(text(), text());
  }
}
