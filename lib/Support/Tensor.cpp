//===- Tensor.cpp - Element types and views of host tensors ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tilewright/tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cassert>

using namespace tilewright;

namespace {
struct DTypeFacts {
  DType dtype;
  std::string_view name;
  size_t size;
};
constexpr DTypeFacts dtypes[] = {
    {DType::F64, "f64", 8},   {DType::F32, "f32", 4},   {DType::F16, "f16", 2},
    {DType::BF16, "bf16", 2}, {DType::I64, "i64", 8},   {DType::I32, "i32", 4},
    {DType::U8, "u8", 1},     {DType::Bool, "bool", 1},
};
} // namespace

/// What a caller may have cast to a DType is not always one.
static bool isKnown(DType dtype) {
  return static_cast<size_t>(dtype) < std::size(dtypes);
}

size_t tilewright::sizeOf(DType dtype) {
  return isKnown(dtype) ? dtypes[static_cast<size_t>(dtype)].size : 0;
}

std::string_view tilewright::nameOf(DType dtype) {
  return isKnown(dtype) ? dtypes[static_cast<size_t>(dtype)].name : "no dtype";
}

std::optional<DType> tilewright::parseDType(std::string_view name) {
  for (const DTypeFacts &facts : dtypes)
    if (facts.name == name)
      return facts.dtype;
  return std::nullopt;
}

TensorView::TensorView(void *data, DType dtype, std::span<const int64_t> sizes)
    : data(data), dtype(dtype), rank(sizes.size()) {
  assert(rank <= maxRank && "a tensor has at most eight dimensions");
  int64_t stride = 1;
  for (size_t i = rank; i-- > 0;) {
    shape[i] = sizes[i];
    strides[i] = stride;
    // An overflowing product belongs to a tensor that elementCount() refuses.
    stride = static_cast<int64_t>(static_cast<uint64_t>(stride) * static_cast<uint64_t>(sizes[i]));
  }
}

TensorView::TensorView(void *data, DType dtype, std::span<const int64_t> sizes,
                       std::span<const int64_t> steps)
    : data(data), dtype(dtype), rank(sizes.size()) {
  assert(rank <= maxRank && sizes.size() == steps.size() && "one stride for each extent");
  for (size_t i = 0; i < rank; ++i) {
    shape[i] = sizes[i];
    strides[i] = steps[i];
  }
}

std::optional<int64_t> TensorView::elementCount() const {
  int64_t count = 1;
  for (int64_t extent : sizes())
    if (extent < 0 || __builtin_mul_overflow(count, extent, &count))
      return std::nullopt;
  return count;
}

TensorView TensorView::transposed(size_t a, size_t b) const {
  TensorView result = *this;
  std::swap(result.shape[a], result.shape[b]);
  std::swap(result.strides[a], result.strides[b]);
  return result;
}

std::string TensorView::describe() const {
  return fmt::format("{}[{}]", nameOf(dtype), fmt::join(sizes(), ", "));
}
