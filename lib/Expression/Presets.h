//===- Presets.h - Named masks and scores -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A preset is a row of one table: an expression with the scalars and tensors that
// it reads. Nothing else in the compiler knows presets; a new one is a new row.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_LIB_EXPRESSION_PRESETS_H
#define TILEWRIGHT_LIB_EXPRESSION_PRESETS_H

#include "lib/Expression/Expression.h"

#include <span>

namespace tilewright::expression {

/// A scalar that the expression reads; all are required. `--preset NAME=VALUE` gives the first.
struct PresetScalar {
  std::string_view name;
  Type type;
  std::string_view doc;
};

/// An extent of the problem that a dimension of a preset's tensor must equal, or be 1.
enum class Extent : uint8_t { Batch, Heads, Queries, Keys };

/// "batch", "heads", "q_len", "kv_len".
std::string_view nameOf(Extent extent);

struct PresetTensor {
  std::string_view name;
  std::span<const DType> dtypes; // those accepted
  std::span<const Extent> extents;
};

struct Preset {
  std::string_view name;
  Role role;
  std::string_view text;
  std::span<const PresetScalar> scalars;
  std::span<const PresetTensor> tensors;
  std::string_view doc; // one line
};

std::span<const Preset> presets();

/// An unknown name is refused with a list of the known ones.
Result<const Preset *> findPreset(std::string_view name);

/// Checks a tensor given for a preset: dtype, rank, and each extent, which must be the problem's or
/// 1; the message names the tensor, the dimension and both lengths. Returns the view with every
/// broadcast dimension expanded (stride 0), ready to be bound.
Result<TensorView> fitTensor(const PresetTensor &tensor, const TensorView &view,
                             const Sizes &sizes);

} // namespace tilewright::expression

#endif // TILEWRIGHT_LIB_EXPRESSION_PRESETS_H
