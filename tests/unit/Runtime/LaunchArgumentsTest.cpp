//===- LaunchArgumentsTest.cpp - What a launch refuses, and with which words =//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/LaunchArguments.h"
#include "lib/Expression/Parse.h"

#include <gmock/gmock.h>

#include <functional>
#include <limits>

using namespace tilewright;
using testing::AllOf;
using testing::HasSubstr;

namespace {
constexpr int64_t open = KernelArgument::dynamic;
constexpr double infinity = std::numeric_limits<double>::infinity();

KernelArgument tensor(std::string name, std::vector<int64_t> shape, DType dtype = DType::F32) {
  std::vector<int64_t> strides(shape.size(), open);
  strides.back() = 1;
  return {std::move(name), KernelArgument::Kind::Tensor, dtype, std::move(shape),
          std::move(strides)};
}

/// A kernel of head dim 4 and value dim 3 with an i32, a real and two captured tensors.
std::vector<KernelArgument> kernel() {
  return {
      tensor("query", {open, open, open, 4}),
      tensor("key", {open, open, open, 4}),
      tensor("value", {open, open, open, 3}),
      tensor("out", {open, open, open, 3}),
      tensor("lse", {open, open, open}),
      {"scale", KernelArgument::Kind::F32, DType::F32, {}, {}},
      {"window", KernelArgument::Kind::I32, DType::F32, {}, {}},
      {"slope", KernelArgument::Kind::F32, DType::F32, {}, {}},
      {"bias", KernelArgument::Kind::Tensor, DType::F32, {open}, {open}},
      {"keep", KernelArgument::Kind::Tensor, DType::U8, {open, open}, {open, open}},
  };
}

LaunchExpressions expressions() {
  LaunchExpressions result;
  EXPECT_TRUE(result.declarations.addScalar("window", expression::Type::I32));
  EXPECT_TRUE(result.declarations.addScalar("slope", expression::Type::Real));
  EXPECT_TRUE(result.declarations.addTensor("bias", DType::F32, 1));
  EXPECT_TRUE(result.declarations.addTensor("keep", DType::Bool, 2));
  auto parse = [&](const char *text, expression::Role role) {
    return *expression::parse(text, result.declarations, role);
  };
  result.scores.push_back(parse("s + slope * bias[k]", expression::Role::Score));
  result.masks.push_back(parse("keep[q, k] && q - k < window", expression::Role::Mask));
  return result;
}

/// Batch 2, 4 query and 2 key heads, 5 queries, 7 keys: all as it should be.
struct Launch {
  std::vector<float> query = std::vector<float>(2 * 4 * 5 * 4);
  std::vector<float> key = std::vector<float>(2 * 2 * 7 * 4);
  std::vector<float> value = std::vector<float>(2 * 2 * 7 * 3);
  std::vector<float> out = std::vector<float>(2 * 4 * 5 * 3);
  std::vector<float> lse = std::vector<float>(2 * 4 * 5);
  std::vector<float> bias = std::vector<float>(7);
  std::vector<uint8_t> keep = std::vector<uint8_t>(5 * 7);
  Arguments arguments;

  Launch() {
    arguments.query = TensorView(query.data(), DType::F32, {2, 4, 5, 4});
    arguments.key = TensorView(key.data(), DType::F32, {2, 2, 7, 4});
    arguments.value = TensorView(value.data(), DType::F32, {2, 2, 7, 3});
    arguments.out = TensorView(out.data(), DType::F32, {2, 4, 5, 3});
    arguments.lse = TensorView(lse.data(), DType::F32, {2, 4, 5});
    arguments.scalars = {{"window", 3}, {"slope", 0.25}};
    arguments.tensors["bias"] = TensorView(bias.data(), DType::F32, {7});
    arguments.tensors["keep"] = TensorView(keep.data(), DType::Bool, {5, 7});
  }

  std::string error() const {
    LaunchArguments launch;
    Status checked = launch.check({kernel(), expressions()}, arguments);
    return checked ? "" : checked.error().message();
  }
};

struct RefusedCase {
  const char *name;
  std::function<void(Launch &)> spoil;
  testing::Matcher<std::string> message;
};

void PrintTo(const RefusedCase &refused, std::ostream *stream) {
  *stream << refused.name;
}

class Refused : public testing::TestWithParam<RefusedCase> {};

TensorView &bias(Launch &launch) {
  return launch.arguments.tensors["bias"];
}
} // namespace

TEST(LaunchArguments, AcceptsARightLaunch) {
  EXPECT_EQ(Launch().error(), "");
}

TEST_P(Refused, NamesArgumentValueAndLimit) {
  Launch launch;
  GetParam().spoil(launch);
  EXPECT_THAT(launch.error(), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Names, Refused,
    testing::Values(
        RefusedCase{"missing_query", [](Launch &l) { l.arguments.query = {}; },
                    HasSubstr("query is missing; this kernel takes f32[?, ?, ?, 4]")},
        RefusedCase{"missing_lse", [](Launch &l) { l.arguments.lse.reset(); },
                    HasSubstr("lse is missing")},
        RefusedCase{"missing_scalar", [](Launch &l) { l.arguments.scalars.erase("window"); },
                    HasSubstr("scalar 'window' is missing")},
        RefusedCase{"missing_tensor", [](Launch &l) { l.arguments.tensors.erase("keep"); },
                    HasSubstr("tensor 'keep' is missing; this kernel takes u8[?, ?]")},
        RefusedCase{"unknown_scalar", [](Launch &l) { l.arguments.scalars["widow"] = 1; },
                    HasSubstr("unknown scalar 'widow'; this kernel takes: window, slope")},
        RefusedCase{"unknown_tensor", [](Launch &l) { l.arguments.tensors["bia"] = bias(l); },
                    HasSubstr("unknown tensor 'bia'; this kernel takes: bias, keep")},
        RefusedCase{"scale_as_scalar", [](Launch &l) { l.arguments.scalars["scale"] = 1; },
                    HasSubstr("unknown scalar 'scale'")},
        RefusedCase{"query_as_tensor", [](Launch &l) { l.arguments.tensors["query"] = bias(l); },
                    HasSubstr("unknown tensor 'query'")}));

INSTANTIATE_TEST_SUITE_P(
    Types, Refused,
    testing::Values(
        RefusedCase{"rank", [](Launch &l) { l.arguments.query.rank = 3; },
                    HasSubstr("query has 3 dimensions, and this kernel takes 4")},
        RefusedCase{"mixed_dtypes", [](Launch &l) { l.arguments.key.dtype = DType::F16; },
                    HasSubstr("key is f16[2, 2, 7, 4], and this kernel takes f32[?, ?, ?, 4]")},
        RefusedCase{"integer_dtype", [](Launch &l) { l.arguments.value.dtype = DType::I32; },
                    HasSubstr("value is i32[2, 2, 7, 3], and this kernel takes f32")},
        RefusedCase{"captured_dtype", [](Launch &l) { bias(l).dtype = DType::I32; },
                    HasSubstr("tensor 'bias' is i32[7], and this kernel takes f32[?]")},
        RefusedCase{"query_width", [](Launch &l) { l.arguments.query.shape[3] = 5; },
                    HasSubstr("query is f32[2, 4, 5, 5], and this kernel takes f32[?, ?, ?, 4]: "
                              "head_dim is 5 instead of 4")},
        RefusedCase{"zero_width", [](Launch &l) { l.arguments.key.shape[3] = 0; },
                    HasSubstr("head_dim is 0 instead of 4")},
        RefusedCase{"negative_extent", [](Launch &l) { l.arguments.query.shape[2] = -1; },
                    HasSubstr("query: query_length is -1; the limit is 0 to 1073741824")},
        RefusedCase{"huge_extent",
                    [](Launch &l) { l.arguments.key.shape[2] = (int64_t{1} << 30) + 1; },
                    HasSubstr("key: key_length is 1073741825; the limit is 0 to 1073741824")},
        RefusedCase{"innermost_stride", [](Launch &l) { l.arguments.query.strides[3] = 2; },
                    HasSubstr("query has stride 2 in dimension 3; it must be 1")}));

INSTANTIATE_TEST_SUITE_P(
    Extents, Refused,
    testing::Values(
        RefusedCase{"batch", [](Launch &l) { l.arguments.key.shape[0] = 1; },
                    HasSubstr("batch is 2 in query and 1 in key")},
        RefusedCase{"key_and_value_length", [](Launch &l) { l.arguments.value.shape[2] = 6; },
                    HasSubstr("key_length is 7 in key and 6 in value")},
        RefusedCase{"key_and_value_heads", [](Launch &l) { l.arguments.value.shape[1] = 1; },
                    HasSubstr("kv_heads is 2 in key and 1 in value")},
        RefusedCase{"out_length", [](Launch &l) { l.arguments.out.shape[2] = 4; },
                    HasSubstr("query_length is 5 in query and 4 in out")},
        RefusedCase{"lse_heads", [](Launch &l) { l.arguments.lse->shape[1] = 2; },
                    HasSubstr("heads is 4 in query and 2 in lse")},
        RefusedCase{"head_multiple",
                    [](Launch &l) {
                      for (TensorView *view : {&l.arguments.query, &l.arguments.out})
                        view->shape[1] = 3;
                      l.arguments.lse->shape[1] = 3;
                    },
                    HasSubstr("query has 3 heads and key has 2")},
        RefusedCase{"no_key_heads",
                    [](Launch &l) { l.arguments.key.shape[1] = l.arguments.value.shape[1] = 0; },
                    HasSubstr("query has 4 heads and key has 0")}));

INSTANTIATE_TEST_SUITE_P(
    Memory, Refused,
    testing::Values(
        RefusedCase{"null", [](Launch &l) { l.arguments.query.data = nullptr; },
                    HasSubstr("query has 160 elements and no data")},
        RefusedCase{"null_captured", [](Launch &l) { bias(l).data = nullptr; },
                    HasSubstr("tensor 'bias' has 7 elements and no data")},
        RefusedCase{
            "misaligned",
            [](Launch &l) { l.arguments.key.data = reinterpret_cast<char *>(l.key.data()) + 2; },
            AllOf(HasSubstr("key starts at address"), HasSubstr("4 bytes"))},
        RefusedCase{
            "stride_overflow", [](Launch &l) { l.arguments.query.strides[0] = int64_t{1} << 62; },
            AllOf(HasSubstr("query: extents [2, 4, 5, 4] with strides [4611686018427387904"),
                  HasSubstr("do not fit the address space"))},
        RefusedCase{"negative_overflow",
                    [](Launch &l) { bias(l).strides[0] = std::numeric_limits<int64_t>::min(); },
                    HasSubstr("tensor 'bias': extents [7]")},
        RefusedCase{"before_the_start_of_memory",
                    [](Launch &l) { bias(l).strides[0] = -(int64_t{1} << 58); },
                    HasSubstr("do not fit the address space")},
        RefusedCase{"product_overflow",
                    [](Launch &l) {
                      l.arguments.query.shape = {1 << 30, 1 << 30, 1 << 30, 4};
                      l.arguments.query.strides = {0, 0, 0, 1};
                    },
                    HasSubstr("query: extents [1073741824, 1073741824, 1073741824, 4]")}));

INSTANTIATE_TEST_SUITE_P(
    Overlap, Refused,
    testing::Values(
        RefusedCase{"out_is_query", [](Launch &l) { l.arguments.out.data = l.query.data() + 3; },
                    HasSubstr("out overlaps query")},
        RefusedCase{"out_is_value", [](Launch &l) { l.arguments.out.data = l.value.data(); },
                    HasSubstr("out overlaps value")},
        RefusedCase{"lse_in_out", [](Launch &l) { l.arguments.lse->data = l.out.data() + 119; },
                    HasSubstr("out overlaps lse")},
        RefusedCase{"lse_in_captured",
                    [](Launch &l) {
                      bias(l).data = l.lse.data() + 20;
                      bias(l).strides[0] = -1;
                    },
                    HasSubstr("lse overlaps tensor 'bias'")},
        RefusedCase{"expanded_output", [](Launch &l) { l.arguments.out.strides[1] = 0; },
                    AllOf(HasSubstr("out: extents [2, 4, 5, 3] with strides [60, 0, 3, 1]"),
                          HasSubstr("share memory"))},
        RefusedCase{"output_rows_meet", [](Launch &l) { l.arguments.out.strides[2] = 2; },
                    HasSubstr("share memory")}));

INSTANTIATE_TEST_SUITE_P(
    Scalars, Refused,
    testing::Values(
        RefusedCase{"infinite_scale", [](Launch &l) { l.arguments.scale = infinity; },
                    HasSubstr("scale is inf; it must be finite")},
        RefusedCase{"nan_scale", [](Launch &l) { l.arguments.scale = std::nan(""); },
                    HasSubstr("scale is nan; it must be finite")},
        RefusedCase{"scale_beyond_f32", [](Launch &l) { l.arguments.scale = 1e300; },
                    HasSubstr("scale is 1e+300, which is beyond the f32")},
        RefusedCase{"fraction", [](Launch &l) { l.arguments.scalars["window"] = 2.5; },
                    HasSubstr("scalar 'window' is 2.5; it must be an integer from -2147483648 to "
                              "2147483647")},
        RefusedCase{"too_large", [](Launch &l) { l.arguments.scalars["window"] = 2147483648.0; },
                    HasSubstr("scalar 'window' is 2147483648")},
        RefusedCase{"nan_integer", [](Launch &l) { l.arguments.scalars["window"] = std::nan(""); },
                    HasSubstr("scalar 'window' is nan")}));

INSTANTIATE_TEST_SUITE_P(
    Expressions, Refused,
    testing::Values(
        RefusedCase{"index_past_the_end", [](Launch &l) { bias(l).shape[0] = 6; },
                    AllOf(HasSubstr("bias"), HasSubstr("6"))},
        RefusedCase{"mask_too_small", [](Launch &l) { l.arguments.tensors["keep"].shape[1] = 5; },
                    AllOf(HasSubstr("keep"), HasSubstr("from 0 to 6"), HasSubstr("extent 5"))}));

TEST(LaunchArguments, AcceptsExpandedInputsAndReversedCapturedTensors) {
  Launch launch;
  launch.arguments.key.strides = {0, 0, 0, 1};
  launch.arguments.query.strides[0] = 0;
  bias(launch).data = launch.bias.data() + 6;
  bias(launch).strides[0] = -1;
  EXPECT_EQ(launch.error(), "");
}

TEST(LaunchArguments, AcceptsAnyStrideWhereThereIsOneElement) {
  std::vector<KernelArgument> small = kernel();
  small[0] = tensor("query", {open, open, open, 1});
  small[1] = tensor("key", {open, open, open, 1});
  Launch launch;
  for (TensorView *view : {&launch.arguments.query, &launch.arguments.key}) {
    view->shape[3] = 1;
    view->strides[3] = 77;
  }
  LaunchArguments bound;
  const KernelInterface interface(small, expressions());
  Status checked = bound.check(interface, launch.arguments);
  EXPECT_TRUE(checked) << checked.error().message();
}

TEST(LaunchArguments, OutputsMayBeTransposedAndTouchTheirNeighbours) {
  // [b, t, h, d] in memory, and lse right behind out.
  std::vector<float> memory(120 + 40);
  Launch launch;
  launch.arguments.out = TensorView(memory.data(), DType::F32, {2, 5, 4, 3}).transposed(1, 2);
  launch.arguments.lse = TensorView(memory.data() + 120, DType::F32, {2, 4, 5});
  EXPECT_EQ(launch.error(), "");
}

TEST(LaunchArguments, BindsInTheOrderOfTheKernel) {
  Launch launch;
  launch.arguments.scale = 0.5;
  const KernelInterface interface(kernel(), expressions());
  const std::span<const KernelArgument> arguments = interface.arguments();
  LaunchArguments bound;
  Status checked = bound.check(interface, launch.arguments);
  ASSERT_TRUE(checked) << checked.error().message();
  ASSERT_EQ(bound.arguments().size(), arguments.size());
  const BoundArgument &key = bound.arguments()[1];
  EXPECT_EQ(key.argument, &arguments[1]);
  EXPECT_EQ(key.view, &launch.arguments.key);
  EXPECT_EQ(key.begin, reinterpret_cast<uintptr_t>(launch.key.data()));
  EXPECT_EQ(key.end - key.begin, launch.key.size() * sizeof(float));
  EXPECT_FALSE(key.isOutput());
  EXPECT_TRUE(bound.arguments()[4].isOutput());
  EXPECT_THAT(bound.extents()[1], testing::ElementsAre(2, 2, 7, 4));
  EXPECT_TRUE(bound.extents()[5].empty());
  EXPECT_EQ(bound.arguments()[5].scalar.f32, 0.5f);
  EXPECT_EQ(bound.arguments()[6].scalar.i32, 3);
}

TEST(LaunchArguments, TakesExpressionsOfAnySize) {
  LaunchExpressions large = expressions();
  std::string mask = "k <= q";
  for (int i = 0; i < 200; ++i)
    mask += " || k == " + std::to_string(i);
  large.masks.push_back(*expression::parse(mask, large.declarations, expression::Role::Mask));
  ASSERT_GT(large.masks.back().nodes().size(), LaunchArguments::maxNodes);
  LaunchArguments bound;
  Status checked = bound.check({kernel(), large}, Launch().arguments);
  EXPECT_TRUE(checked) << checked.error().message();
}

TEST(LaunchArguments, EmptyLaunchesAreFoundAndStillChecked) {
  Launch launch;
  launch.arguments.query.shape[2] = launch.arguments.out.shape[2] = 0;
  launch.arguments.lse->shape[2] = 0;
  launch.arguments.query.data = nullptr;
  LaunchArguments bound;
  Status checked = bound.check({kernel(), expressions()}, launch.arguments);
  ASSERT_TRUE(checked) << checked.error().message();
  EXPECT_TRUE(bound.nothingToDo());
  launch.arguments.value.shape[2] = 6;
  EXPECT_THAT(launch.error(), HasSubstr("key_length is 7 in key and 6 in value"));
}

TEST(LaunchArguments, NoKeysIsALaunch) {
  Launch launch;
  launch.arguments.key = TensorView(nullptr, DType::F32, {2, 2, 0, 4});
  launch.arguments.value = TensorView(nullptr, DType::F32, {2, 2, 0, 3});
  LaunchArguments bound;
  Status checked = bound.check({kernel(), expressions()}, launch.arguments);
  ASSERT_TRUE(checked) << checked.error().message();
  EXPECT_FALSE(bound.nothingToDo());
}
