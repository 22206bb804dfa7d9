//===- tensor.h - Element types and views of host tensors -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_TENSOR_H
#define TILEWRIGHT_TENSOR_H

#include <tilewright/export.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tilewright {

/// The element types that tensors have. Bool is one byte, 0 or 1.
enum class DType : uint8_t { F64, F32, F16, BF16, I64, I32, U8, Bool };

/// Bytes of one element; 0 of a number that is none of the enum's.
TILEWRIGHT_EXPORT size_t sizeOf(DType dtype);

/// The spelling used in options, messages and JSON: "f32", "bf16", "bool", ...; "no dtype" of a
/// number that is none.
TILEWRIGHT_EXPORT std::string_view nameOf(DType dtype);

/// The inverse of nameOf; nothing for an unknown name.
TILEWRIGHT_EXPORT std::optional<DType> parseDType(std::string_view name);

inline bool isFloat(DType dtype) {
  return dtype <= DType::BF16;
}

/// A view of a tensor in host memory; it owns nothing.
///
/// Strides count elements, not bytes, and may be zero (an expanded dimension). `data` points at
/// the element with all indices zero.
struct TILEWRIGHT_EXPORT TensorView {
  static constexpr size_t maxRank = 8;

  void *data = nullptr;
  DType dtype = DType::F32;
  size_t rank = 0;
  std::array<int64_t, maxRank> shape{};
  std::array<int64_t, maxRank> strides{};

  TensorView() = default;

  /// A row-major tensor without gaps. `shape` has at most maxRank entries.
  TensorView(void *data, DType dtype, std::span<const int64_t> shape);
  TensorView(void *data, DType dtype, std::initializer_list<int64_t> shape)
      : TensorView(data, dtype, std::span(shape.begin(), shape.size())) {}

  /// A tensor with stated strides, as many as `shape` has entries.
  TensorView(void *data, DType dtype, std::span<const int64_t> shape,
             std::span<const int64_t> strides);

  std::span<const int64_t> sizes() const { return {shape.data(), rank}; }

  /// The product of the extents, or nothing where it does not fit 63 bits.
  std::optional<int64_t> elementCount() const;

  /// The same elements with dimensions `a` and `b` exchanged.
  TensorView transposed(size_t a, size_t b) const;

  /// "f32[2, 8, 1024, 64]", for messages.
  std::string describe() const;
};

} // namespace tilewright

#endif // TILEWRIGHT_TENSOR_H
