//===- ReportsTest.cpp - Inputs that failed users elsewhere, on a GPU -----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rows of tests/unit/Target/PublicReportsTest.cpp in a GPU's dtypes and widths,
// and those that only a GPU can show. Each test names its source.
//
//===----------------------------------------------------------------------===//

#include "tests/gpu/GpuAttention.h"

#include <cmath>

using namespace tilewright;
using namespace tilewright::gpu;
using reference::Case;
using reference::constant;
using reference::infinity;
using reference::makeArray;
using reference::noise;
using testing::Each;
using testing::HasSubstr;

namespace {
/// As wide as the value's row, so that a column of the output is what the report has.
constexpr int64_t width = 16;

double row(int64_t i) {
  return static_cast<double>(i / width);
}

std::function<double(int64_t)> rows(std::vector<double> values) {
  return [values](int64_t i) { return values.at(static_cast<size_t>(i / width)); };
}

/// The first column of an output.
std::vector<double> column(const Ran &ran) {
  std::vector<double> values;
  for (size_t i = 0; i < ran.o.size(); i += width)
    values.push_back(ran.o[i]);
  return values;
}

testing::Matcher<std::vector<double>> areNear(const std::vector<double> &values, double tolerance) {
  return testing::Pointwise(testing::DoubleNear(tolerance), values);
}

class Reports : public OnGpu<testing::TestWithParam<DType>> {
protected:
  static Case::Shape shape(int64_t queries, int64_t keys) {
    return {.queries = queries, .keys = keys, .d = width, .dv = width, .dtype = GetParam()};
  }
  /// Half a unit in the last place of numbers as large as `largest`.
  static double rounding(double largest) {
    return std::exp2(std::floor(std::log2(largest)) - (GetParam() == DType::BF16 ? 8 : 11));
  }
};
} // namespace

// microsoft/onnxruntime#29020, NVIDIA/cutlass#2336
TEST_P(Reports, CausalAlignmentOfFewQueries) {
  const auto output = [](std::string_view preset, int64_t queries, int64_t keys) {
    return column(run(Case(shape(queries, keys), constant(0), noise(1), row).preset(preset)));
  };
  EXPECT_THAT(output("causal-lower-right", 1, 8), areNear({3.5}, 0));
  EXPECT_THAT(output("causal-lower-right", 3, 128), areNear({62.5, 63.0, 63.5}, rounding(63)));
  EXPECT_THAT(output("causal", 1, 8), areNear({0}, 0));
  EXPECT_THAT(output("causal", 3, 128), areNear({0, 0.5, 1}, 0));
}

// Dao-AILab/flash-attention#1778
TEST_P(Reports, LeadingRowsWithoutKeysAreZero) {
  const Ran ran =
      run(Case(shape(5, 2), constant(0), noise(1), rows({1, 3})).preset("causal-lower-right"));
  EXPECT_THAT(column(ran), areNear({0, 0, 0, 1, 2}, 0));
  EXPECT_THAT(std::vector<double>(ran.lse.begin(), ran.lse.begin() + 3), Each(-infinity));
  EXPECT_NEAR(ran.lse.at(3), 0, 1e-6);
  EXPECT_NEAR(ran.lse.at(4), std::log(2.0), 1e-6);
}

// sgl-project/sglang#32087: a radius of 3 is a window of 4.
TEST_P(Reports, AWindowIsTheSameInPrefillAndDecoding) {
  const auto last = [](std::string_view preset, int64_t queries, int64_t keys, double window) {
    return column(
               run(Case(shape(queries, keys), constant(0), noise(1), row).preset(preset, window)))
        .back();
  };
  EXPECT_NEAR(last("sliding-window-lower-right", 1, 10, 4), 7.5, rounding(7.5));
  EXPECT_NEAR(last("sliding-window", 10, 10, 4), 7.5, rounding(7.5));
  EXPECT_NEAR(last("sliding-window-lower-right", 1, 2048, 1025), (1023 + 2047) / 2.0,
              4 * rounding(2047));
}

// pytorch/pytorch#103963, iree-org/iree#24175
TEST_P(Reports, FullyMaskedRowsAreZeroWithEitherKindOfMask) {
  const auto makeCase = [] { return Case(shape(8, 8), noise(1), noise(2), noise(3)); };
  const auto inside = [](int64_t i) { return i / 8 < 4 && i % 8 < 4; };
  const Ran byMask = run(
      makeCase().tensor("keep", makeArray(DType::Bool, {1, 1, 8, 8}, inside)).preset("dense-mask"));
  const Ran byBias =
      run(makeCase()
              .tensor("bias", makeArray(DType::F32, {1, 1, 8, 8},
                                        [&](int64_t i) { return inside(i) ? 0 : -infinity; }))
              .preset("dense-bias"));
  const Ran first4 = run(makeCase().mask("k < 4"));
  EXPECT_EQ(byMask.o, byBias.o);
  for (size_t i = 0; i < 8 * width; ++i)
    EXPECT_EQ(byMask.o.at(i), i < 4 * width ? first4.o.at(i) : 0);
  for (size_t query = 4; query < 8; ++query) {
    EXPECT_EQ(byMask.lse.at(query), -infinity);
    EXPECT_EQ(byBias.lse.at(query), -infinity);
  }
}

// flashinfer-ai/flashinfer#4267, #4450
TEST_P(Reports, LargeNegativeScoresAreNotHidden) {
  const Ran ran = run(Case(
      {.keys = 64, .d = 128, .dv = 16, .dtype = GetParam()}, constant(32),
      [](int64_t i) { return i < 128 ? -31 : -32; }, [](int64_t i) { return i < 16 ? 7 : 100; }));
  EXPECT_THAT(ran.o, Each(7));
  EXPECT_NEAR(ran.lse.at(0), -126976 / std::sqrt(128.0), 0.02);
}

// flashinfer-ai/flashinfer#3716
TEST_P(Reports, EveryLengthHasItsOwnDenominator) {
  for (const int64_t keys : {1, 100, 255, 256, 257}) {
    const Ran ran =
        run(Case({.keys = keys, .d = 128, .dv = 128, .heads = 8, .kvHeads = 8, .dtype = GetParam()},
                 constant(0), noise(1), constant(1)));
    EXPECT_THAT(ran.o, Each(1));
    EXPECT_THAT(ran.lse,
                areNear(std::vector<double>(8, std::log(static_cast<double>(keys))), 1e-5));
  }
}

// NVIDIA/TransformerEngine#1195
TEST_P(Reports, ViewsOfOnePackedTensorAreReadWithTheirStrides) {
  // [t, b, 18, 64]: 16 heads of queries, one of keys, one of values.
  const reference::Array packed = makeArray(
      GetParam(), {64, 1, 18, 64}, [next = noise(1)](int64_t i) mutable { return 0.25 * next(i); });
  const auto view = [](void *data, int64_t head, int64_t heads) {
    const std::array<int64_t, 4> shape = {1, heads, 64, 64}, strides = {18 * 64, 64, 18 * 64, 1};
    return TensorView(static_cast<uint16_t *>(data) + head * 64, GetParam(), shape, strides);
  };
  Case aCase({.queries = 64, .keys = 64, .d = 64, .dv = 64, .heads = 16, .dtype = GetParam()},
             constant(0), constant(0), constant(0));
  aCase.preset("causal").scale(1);
  aCase.problem.q = view(packed.view.data, 0, 16);
  aCase.problem.k = view(packed.view.data, 16, 1);
  aCase.problem.v = view(packed.view.data, 17, 1);
  Result<Kernel> kernel = compileKernel(aCase.problem);
  ASSERT_TRUE(kernel) << kernel.error().message();
  const Written copied = launch(*kernel, aCase.problem);
  DeviceProblem device(aCase.problem);
  const DeviceTensor packedOnDevice(packed.view, packed.view);
  device.arguments.query = view(packedOnDevice.view.data, 0, 16);
  device.arguments.key = view(packedOnDevice.view.data, 16, 1);
  device.arguments.value = view(packedOnDevice.view.data, 17, 1);
  Status done = device.launch(*kernel);
  ASSERT_TRUE(done) << done.error().message();
  synchronize();
  expectSameBits({device.o.read(), device.lse.read()}, copied);
  expectRight(aCase.problem, copied);
}

// flashinfer-ai/flashinfer#4485, #2113
TEST_P(Reports, LseIsTheNaturalLogarithmInEveryLayout) {
  const Ran ran = expectRight(Case({.queries = 8,
                                    .keys = 256,
                                    .d = 64,
                                    .dv = 64,
                                    .batch = 4,
                                    .heads = 2,
                                    .kvHeads = 2,
                                    .dtype = GetParam()},
                                   constant(0), noise(2), noise(3)));
  EXPECT_THAT(ran.lse, areNear(std::vector<double>(64, std::log(256.0)), 1e-5));
}

// Dao-AILab/flash-attention#1025
TEST_P(Reports, ASoftcapDoesNotUncoverHiddenKeys) {
  const Ran ran = run(Case(shape(2, 2), constant(1), constant(1), rows({0, 1000}))
                          .scale(1)
                          .preset("softcap", 1)
                          .preset("causal"));
  EXPECT_EQ(ran.o.at(0), 0);
}

// NVIDIA/cudnn-frontend#804, pytorch/pytorch#105202
TEST_P(Reports, ZeroAndNegativeScalesRespectTheMask) {
  const auto output = [](double scale) {
    const auto diagonal = [](double value) {
      return [value](int64_t i) { return i % (width + 1) ? 0 : value; };
    };
    const Ran ran = run(Case(
                            shape(1, 4), [](int64_t i) { return i == 0; }, diagonal(2), diagonal(1))
                            .scale(scale)
                            .mask("k < 2"));
    return std::vector<double>(ran.o.begin(), ran.o.begin() + 4);
  };
  EXPECT_THAT(output(0), areNear({.5, .5, 0, 0}, 0));
  EXPECT_THAT(output(-1), areNear({.119203, .880797, 0, 0}, rounding(1)));
}

// pytorch/pytorch#187227, #147585: a row's offset in the mask passes 2^32.
TEST_P(Reports, AMaskMayBeLargerThanFourGibibytes) {
  constexpr int64_t queries = 4097, keys = 64, stride = int64_t{1} << 20;
  const auto visible = [](int64_t q, int64_t k) { return k <= std::abs(q - 4040); };
  Case computed({.queries = queries, .keys = keys, .d = 64, .dv = 64, .dtype = GetParam()},
                noise(1), noise(2), noise(3));
  const Written right = write(computed.mask("k <= abs(q - 4040)"));
  Case stored({.queries = queries, .keys = keys, .d = 64, .dv = 64, .dtype = GetParam()}, noise(1),
              noise(2), noise(3));
  stored
      .tensor("keep", makeArray(DType::Bool, {queries, keys},
                                [&](int64_t i) { return visible(i / keys, i % keys); }))
      .mask("keep[q, k]");
  Result<Kernel> kernel = compileKernel(stored.problem);
  ASSERT_TRUE(kernel) << kernel.error().message();
  DeviceProblem device(stored.problem);
  const std::array<int64_t, 2> shape = {queries, keys}, strides = {stride, 1};
  const DeviceTensor keep(stored.problem.bindings.tensors[0],
                          TensorView(nullptr, DType::Bool, shape, strides));
  device.arguments.tensors["keep"] = keep.view;
  Status done = device.launch(*kernel);
  ASSERT_TRUE(done) << done.error().message();
  synchronize();
  expectSameBits({device.o.read(), device.lse.read()}, right);
}

// pytorch/pytorch#133321, #164931
TEST_P(Reports, HeadDimsThatAreNoPowersOfTwo) {
  for (const int64_t d : {24, 40, 72, 80, 96, 160, 224}) {
    SCOPED_TRACE(d);
    const Case prefill({.queries = 256,
                        .keys = 256,
                        .d = d,
                        .dv = d,
                        .heads = 16,
                        .kvHeads = 16,
                        .dtype = GetParam()},
                       noise(1), noise(2), noise(3));
    Result<Kernel> kernel = compileKernel(prefill.problem);
    ASSERT_TRUE(kernel) << kernel.error().message();
    expectRight(prefill.problem, launch(*kernel, prefill.problem));
    const Case decoding(
        {.keys = 256, .d = d, .dv = d, .heads = 16, .kvHeads = 16, .dtype = GetParam()}, noise(1),
        noise(2), noise(3));
    expectRight(decoding.problem, launch(*kernel, decoding.problem));
  }
}

// pytorch/torchtitan#3898, vllm-project/vllm#27178
TEST_P(Reports, OneKernelServesAllLengths) {
  std::optional<Kernel> kernel;
  for (int64_t queries = 1; queries <= 32; ++queries) {
    const Case aCase({.queries = queries, .keys = 128, .d = 64, .dv = 64, .dtype = GetParam()},
                     noise(1), noise(2), noise(3));
    if (!kernel) {
      Result<Kernel> compiled = compileKernel(aCase.problem);
      ASSERT_TRUE(compiled) << compiled.error().message();
      kernel = *compiled;
    }
    expectRight(aCase.problem, launch(*kernel, aCase.problem));
  }
}

// Dao-AILab/flash-attention#54
TEST_P(Reports, OnesGiveOnes) {
  const Ran ran = run(Case({.queries = 16,
                            .keys = 16,
                            .d = 64,
                            .dv = 64,
                            .batch = 4,
                            .heads = 32,
                            .kvHeads = 32,
                            .dtype = GetParam()},
                           constant(1), constant(1), constant(1))
                          .scale(1));
  double sum = 0;
  for (const double value : ran.o)
    sum += value;
  EXPECT_EQ(sum, 131072);
}

// NVIDIA/TransformerEngine#614, pytorch/pytorch#120668
TEST_P(Reports, TrueIsVisible) {
  const Ran ran = run(
      Case(shape(1, 4), constant(0), noise(1), row)
          .tensor("keep", makeArray(DType::Bool, {1, 1, 1, 4}, [](int64_t i) { return i == 0; }))
          .preset("dense-mask"));
  EXPECT_EQ(ran.o.at(0), 0);
}

// facebookresearch/xformers#1122, flashinfer-ai/flashinfer#3176
TEST_P(Reports, AMaskThatDoesNotFitIsRefusedWithBothLengths) {
  Case aCase(shape(10, 20), noise(1), noise(2), noise(3));
  aCase.tensor("keep", makeArray(DType::Bool, {10, 15}, constant(1))).mask("keep[q, k]");
  Result<Kernel> kernel = compileKernel(aCase.problem);
  ASSERT_TRUE(kernel) << kernel.error().message();
  DeviceProblem device(aCase.problem);
  Status done = device.launch(*kernel);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message(),
              testing::AllOf(HasSubstr("keep"), HasSubstr("0 to 19"), HasSubstr("15")));
  synchronize();
  EXPECT_THAT(test::valuesOf(device.o.read().view), Each(testing::IsNan()));
}

INSTANTIATE_TEST_SUITE_P(OnGpu, Reports, testing::Values(DType::F16, DType::BF16),
                         [](const auto &info) { return std::string(nameOf(info.param)); });
