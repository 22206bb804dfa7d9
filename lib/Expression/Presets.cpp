//===- Presets.cpp - The table of named masks and scores ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Expression/Presets.h"

#include "lib/Expression/Spelling.h"
#include "lib/Support/MakeError.h"

#include <algorithm>
#include <array>

using namespace tilewright;
using namespace tilewright::expression;

static constexpr DType conditions[] = {DType::Bool, DType::U8};
static constexpr DType integers[] = {DType::I32, DType::I64, DType::U8};
static constexpr DType reals[] = {DType::F64, DType::F32, DType::F16, DType::BF16};

static constexpr Extent perScore[] = {Extent::Batch, Extent::Heads, Extent::Queries, Extent::Keys};
static constexpr Extent perHead[] = {Extent::Heads};
static constexpr Extent perKey[] = {Extent::Batch, Extent::Keys};

static constexpr PresetScalar window[] = {
    {"window", Type::I32, "visible keys, the query's own position included (a radius plus one)"}};
static constexpr PresetScalar prefix[] = {
    {"prefix", Type::I32, "leading keys that every query sees"}};
static constexpr PresetScalar cap[] = {{"cap", Type::Real, "bound of the absolute score"}};

static constexpr PresetTensor document[] = {{"document", integers, perKey}};
static constexpr PresetTensor slope[] = {{"slope", reals, perHead}};
static constexpr PresetTensor keep[] = {{"keep", conditions, perScore}};
static constexpr PresetTensor bias[] = {{"bias", reals, perScore}};

static constexpr Preset table[] = {
    {"causal", Role::Mask, "k <= q", {}, {}, "keys up to the query; upper-left aligned"},
    {"causal-lower-right",
     Role::Mask,
     "k <= q + (kv_len - q_len)",
     {},
     {},
     "causal with the last query at the last key (decoding, chunked prefill)"},
    {"sliding-window",
     Role::Mask,
     "k <= q && q - k < window",
     window,
     {},
     "the last `window` keys up to the query; upper-left aligned"},
    {"sliding-window-lower-right",
     Role::Mask,
     "k <= q + (kv_len - q_len) && q + (kv_len - q_len) - k < window",
     window,
     {},
     "sliding-window with the last query at the last key"},
    {"prefix-lm",
     Role::Mask,
     "k < prefix || k <= q",
     prefix,
     {},
     "causal, and every query sees the first `prefix` keys"},
    {"document",
     Role::Mask,
     "document[b, q + (kv_len - q_len)] == document[b, k]",
     {},
     document,
     "keys of the query's own document; the last query is at the last key"},
    {"alibi", Role::Score, "s + slope[h] * (k - q)", {}, slope, "a bias linear in the distance"},
    {"softcap", Role::Score, "cap * tanh(s / cap)", cap, {}, "scores bounded smoothly by `cap`"},
    {"dense-mask", Role::Mask, "keep[b, h, q, k]", {}, keep, "a mask tensor; true is visible"},
    {"dense-bias", Role::Score, "s + bias[b, h, q, k]", {}, bias, "an additive bias tensor"},
};

std::span<const Preset> tilewright::expression::presets() {
  return table;
}

std::string_view tilewright::expression::nameOf(Extent extent) {
  constexpr std::array<std::string_view, 4> names = {"batch", "heads", "q_len", "kv_len"};
  return names[static_cast<size_t>(extent)];
}

Result<const Preset *> tilewright::expression::findPreset(std::string_view name) {
  const auto found = std::ranges::find(presets(), name, &Preset::name);
  if (found != presets().end())
    return &*found;
  std::vector<std::string_view> names;
  for (const Preset &preset : presets())
    names.push_back(preset.name);
  return invalidArgument("unknown preset '{}'; known are {}", printable(name, 40),
                         fmt::join(names, ", "));
}

static int64_t extentOf(Extent extent, const Sizes &sizes) {
  switch (extent) {
  case Extent::Batch:
    return sizes.batch;
  case Extent::Heads:
    return sizes.heads;
  case Extent::Queries:
    return sizes.queryLength;
  case Extent::Keys:
    return sizes.keyLength;
  }
  return 0;
}

Result<TensorView> tilewright::expression::fitTensor(const PresetTensor &tensor,
                                                     const TensorView &view, const Sizes &sizes) {
  std::vector<std::string_view> dtypes, extents;
  for (DType dtype : tensor.dtypes)
    dtypes.push_back(tilewright::nameOf(dtype));
  for (Extent extent : tensor.extents)
    extents.push_back(nameOf(extent));
  if (view.rank != tensor.extents.size())
    return invalidArgument("tensor '{}' is {}, which has rank {}; it must have rank {}: [{}]",
                           tensor.name, view.describe(), view.rank, tensor.extents.size(),
                           fmt::join(extents, ", "));
  if (std::ranges::find(tensor.dtypes, view.dtype) == tensor.dtypes.end())
    return invalidArgument("tensor '{}' is {}; its dtype must be one of {}", tensor.name,
                           view.describe(), fmt::join(dtypes, ", "));
  TensorView fitted = view;
  for (size_t i = 0; i < view.rank; ++i) {
    const int64_t wanted = extentOf(tensor.extents[i], sizes);
    if (view.shape[i] != wanted && view.shape[i] != 1)
      return invalidArgument("tensor '{}' is {}: dimension {} has extent {}, but {} is {}; it must "
                             "be equal or 1",
                             tensor.name, view.describe(), i, view.shape[i], extents[i], wanted);
    if (view.shape[i] != wanted) {
      fitted.shape[i] = wanted;
      fitted.strides[i] = 0;
    }
  }
  return fitted;
}
