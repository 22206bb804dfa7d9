//===- PresetsTest.cpp - The table of named masks and scores --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Expression/Presets.h"

#include "tests/unit/Expression/Testing.h"

using namespace tilewright;
using namespace tilewright::expression;
using testing::HasSubstr;

/// Declares and binds what a preset needs: scalars to `value`, tensors as given in order.
static Names namesOf(const Preset &preset, double value, std::vector<TensorView> tensors = {}) {
  Names names;
  for (const PresetScalar &scalar : preset.scalars)
    if (scalar.type == Type::I32)
      names.scalar(scalar.name, static_cast<int32_t>(value));
    else
      names.scalar(scalar.name, value);
  for (size_t i = 0; i < preset.tensors.size(); ++i)
    names.tensor(preset.tensors[i].name, tensors.at(i));
  return names;
}

/// The keys that query `q` sees.
static std::vector<int64_t> visibleKeys(std::string_view presetName, int64_t q, Sizes sizes,
                                        double value = 0, std::vector<TensorView> tensors = {}) {
  const Preset &preset = **findPreset(presetName);
  const Names names = namesOf(preset, value, std::move(tensors));
  const Expression mask = parsed(preset.text, names.declarations, Role::Mask);
  Result<Bounds> bounds = checkBounds(mask, names.declarations, sizes, names.bindings);
  EXPECT_TRUE(bounds) << bounds.error().message();
  std::vector<uint8_t> visible(static_cast<size_t>(sizes.keyLength), 1);
  Evaluator(mask, sizes, names.bindings).mask({0, 0, q}, 0, visible);
  std::vector<int64_t> keys;
  for (int64_t k = 0; k < sizes.keyLength; ++k)
    if (visible[static_cast<size_t>(k)])
      keys.push_back(k);
  return keys;
}

using Keys = std::vector<int64_t>;

TEST(Presets, EveryRowParses) {
  EXPECT_EQ(presets().size(), 10u);
  for (const Preset &preset : presets()) {
    Declarations names;
    for (const PresetScalar &scalar : preset.scalars)
      EXPECT_TRUE(names.addScalar(scalar.name, scalar.type));
    for (const PresetTensor &tensor : preset.tensors)
      EXPECT_TRUE(names.addTensor(tensor.name, tensor.dtypes.front(), tensor.extents.size()));
    EXPECT_TRUE(parse(preset.text, names, preset.role)) << preset.name;
    EXPECT_FALSE(preset.doc.empty());
  }
}

TEST(Presets, UnknownNamesAreRefusedWithTheKnownOnes) {
  Result<const Preset *> preset = findPreset("casual");
  ASSERT_FALSE(preset);
  EXPECT_THAT(preset.error().message(), HasSubstr("unknown preset 'casual'; known are causal, "));
}

// W01: the alignment is in the name.
TEST(Presets, CausalIsUpperLeft) {
  EXPECT_EQ(visibleKeys("causal", 0, {1, 1, 1, 1, 8}), (Keys{0}));
  EXPECT_EQ(visibleKeys("causal", 2, {1, 1, 1, 3, 7}), (Keys{0, 1, 2}));
}

TEST(Presets, CausalLowerRightEndsAtTheLastKey) {
  EXPECT_EQ(visibleKeys("causal-lower-right", 0, {1, 1, 1, 1, 8}), (Keys{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(visibleKeys("causal-lower-right", 2, {1, 1, 1, 5, 2}), (Keys{}));
  EXPECT_EQ(visibleKeys("causal-lower-right", 4, {1, 1, 1, 5, 2}), (Keys{0, 1}));
}

// W03: a radius of 3 is a window of 4 keys, in prefill and in decoding.
TEST(Presets, AWindowCountsTheQuerysOwnKey) {
  EXPECT_EQ(visibleKeys("sliding-window", 9, {1, 1, 1, 10, 10}, 4), (Keys{6, 7, 8, 9}));
  EXPECT_EQ(visibleKeys("sliding-window-lower-right", 0, {1, 1, 1, 1, 10}, 4), (Keys{6, 7, 8, 9}));
  EXPECT_EQ(visibleKeys("sliding-window-lower-right", 9, {1, 1, 1, 10, 10}, 4), (Keys{6, 7, 8, 9}));
  EXPECT_EQ(visibleKeys("sliding-window", 1, {1, 1, 1, 10, 10}, 1), (Keys{1}));
}

TEST(Presets, APrefixIsSeenByAll) {
  EXPECT_EQ(visibleKeys("prefix-lm", 0, {1, 1, 1, 6, 6}, 3), (Keys{0, 1, 2}));
  EXPECT_EQ(visibleKeys("prefix-lm", 4, {1, 1, 1, 6, 6}, 3), (Keys{0, 1, 2, 3, 4}));
}

TEST(Presets, DocumentsSeeThemselves) {
  for (DType dtype : {DType::I32, DType::I64}) {
    const int32_t narrow[] = {7, 7, 3, 3, 3, 9};
    const int64_t wide[] = {7, 7, 3, 3, 3, 9};
    const void *data = dtype == DType::I32 ? static_cast<const void *>(narrow) : wide;
    const TensorView document(const_cast<void *>(data), dtype, {1, 6});
    EXPECT_EQ(visibleKeys("document", 1, {1, 1, 1, 6, 6}, 0, {document}), (Keys{0, 1}));
    EXPECT_EQ(visibleKeys("document", 3, {1, 1, 1, 6, 6}, 0, {document}), (Keys{2, 3, 4}));
    // Two queries of which the last is at the last key.
    EXPECT_EQ(visibleKeys("document", 0, {1, 1, 1, 2, 6}, 0, {document}), (Keys{2, 3, 4}));
    EXPECT_EQ(visibleKeys("document", 1, {1, 1, 1, 2, 6}, 0, {document}), (Keys{5}));
  }
}

TEST(Presets, Scores) {
  float slopes[] = {0.5f, 0.25f};
  const auto evaluate = [](std::string_view name, double value, std::vector<TensorView> tensors) {
    const Preset &preset = **findPreset(name);
    const Names names = namesOf(preset, value, std::move(tensors));
    return score(preset.text, {.h = 1, .q = 10, .k = 6, .s = 3}, names);
  };
  EXPECT_EQ(evaluate("alibi", 0, {TensorView(slopes, DType::F32, {2})}), 3 - 0.25 * 4);
  EXPECT_DOUBLE_EQ(evaluate("softcap", 5, {}), 5 * std::tanh(0.6));
}

TEST(Presets, DenseTensorsBroadcastExtentsOfOne) {
  constexpr Sizes sizes = {2, 4, 2, 10, 20};
  float bias[20] = {};
  const PresetTensor &tensor = (*findPreset("dense-bias"))->tensors[0];
  Result<TensorView> fitted = fitTensor(tensor, TensorView(bias, DType::F32, {1, 1, 1, 20}), sizes);
  ASSERT_TRUE(fitted);
  EXPECT_THAT(fitted->sizes(), testing::ElementsAre(2, 4, 10, 20));
  EXPECT_THAT(fitted->strides, testing::ElementsAre(0, 0, 0, 1, 0, 0, 0, 0));
}

// A04: a mask for more keys than there are is refused, with both lengths.
TEST(Presets, DenseTensorsMustFitTheProblem) {
  const PresetTensor &tensor = (*findPreset("dense-mask"))->tensors[0];
  const auto message = [&](const TensorView &view) {
    Result<TensorView> fitted = fitTensor(tensor, view, {1, 10, 10, 4, 17});
    return fitted ? "" : fitted.error().message();
  };
  EXPECT_EQ(message(TensorView(nullptr, DType::Bool, {1, 10, 4, 20})),
            "tensor 'keep' is bool[1, 10, 4, 20]: dimension 3 has extent 20, but kv_len is 17; it "
            "must be equal or 1");
  EXPECT_THAT(message(TensorView(nullptr, DType::Bool, {4, 17})), HasSubstr("rank 4: [batch, "));
  EXPECT_THAT(message(TensorView(nullptr, DType::F32, {1, 10, 4, 17})),
              HasSubstr("one of bool, u8"));
  EXPECT_EQ(message(TensorView(nullptr, DType::U8, {1, 1, 4, 17})), "");
}
