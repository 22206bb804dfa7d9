//===- DLPack.cpp - Tensors of other frameworks ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include <tilewright/c/tilewright.h>

#include "lib/Support/MakeError.h"
#include "runtime/CInterface.h"

#include <tilewright/tensor.h>

#include <dlpack/dlpack.h>

#include <algorithm>
#include <array>
#include <optional>

using namespace tilewright;

/// DLPack's code of truth values, which Debian's header of version 0.6 does not have yet.
static constexpr uint8_t boolCode = 6;

static std::optional<tilewright_dtype> toDType(DLDataType type) {
  struct Row {
    uint8_t code, bits;
    tilewright_dtype dtype;
  };
  static constexpr std::array<Row, 8> rows = {{{kDLFloat, 64, TILEWRIGHT_F64},
                                               {kDLFloat, 32, TILEWRIGHT_F32},
                                               {kDLFloat, 16, TILEWRIGHT_F16},
                                               {kDLBfloat, 16, TILEWRIGHT_BF16},
                                               {kDLInt, 64, TILEWRIGHT_I64},
                                               {kDLInt, 32, TILEWRIGHT_I32},
                                               {kDLUInt, 8, TILEWRIGHT_U8},
                                               {boolCode, 8, TILEWRIGHT_BOOL}}};
  const auto *found = std::ranges::find_if(
      rows, [&](const Row &row) { return row.code == type.code && row.bits == type.bits; });
  if (found == rows.end() || type.lanes != 1)
    return std::nullopt;
  return found->dtype;
}

static Result<tilewright_tensor> convert(const DLTensor &from) {
  if (from.ndim < 0 || from.ndim > TILEWRIGHT_MAX_RANK)
    return invalidArgument("the DLTensor has {} dimensions; the limit is {}", from.ndim,
                           TILEWRIGHT_MAX_RANK);
  const std::optional<tilewright_dtype> dtype = toDType(from.dtype);
  if (!dtype)
    return unsupported("the DLTensor has type code {} with {} bits and {} lanes; types are f64, "
                       "f32, f16, bf16, i64, i32, u8 and bool with one lane",
                       from.dtype.code, from.dtype.bits, from.dtype.lanes);
  const std::array<DLDeviceType, 4> devices = {kDLCPU, kDLCUDA, kDLCUDAHost, kDLCUDAManaged};
  if (std::ranges::find(devices, from.device.device_type) == devices.end())
    return unsupported("the DLTensor is on a device of type {}; types are 1 (CPU), 2 (CUDA), 3 "
                       "(CUDA host) and 13 (CUDA managed)",
                       static_cast<int>(from.device.device_type));
  if (!from.shape && from.ndim != 0)
    return invalidArgument("the DLTensor has {} dimensions, and its shape is NULL", from.ndim);
  const auto rank = static_cast<uint32_t>(from.ndim);
  tilewright_tensor tensor{};
  tensor.data = static_cast<std::byte *>(from.data) + from.byte_offset;
  tensor.dtype = *dtype;
  tensor.rank = rank;
  std::copy_n(from.shape, rank, tensor.shape);
  if (from.strides)
    std::copy_n(from.strides, rank, tensor.strides);
  else // by DLPack's convention row-major without gaps, which is what this makes
    std::ranges::copy(
        TensorView(nullptr, DType::U8, std::span<const int64_t>(from.shape, rank)).strides,
        tensor.strides);
  return tensor;
}

tilewright_status *tilewright_tensor_from_dlpack(const void *dl_tensor, tilewright_tensor *tensor) {
  if (!dl_tensor || !tensor)
    return toStatus(invalidArgument("{} is NULL", dl_tensor ? "tensor" : "dl_tensor"));
  Result<tilewright_tensor> converted = convert(*static_cast<const DLTensor *>(dl_tensor));
  if (!converted)
    return toStatus(converted.error());
  *tensor = *converted;
  return nullptr;
}
