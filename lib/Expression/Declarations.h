//===- Declarations.h - What an expression may name -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The built-in names, the scalars and tensors that a problem declares, and the
// values they are bound to for one launch. Declarations are enough to parse and
// to compile; sizes and bindings are known only at launch.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_LIB_EXPRESSION_DECLARATIONS_H
#define TILEWRIGHT_LIB_EXPRESSION_DECLARATIONS_H

#include <tilewright/result.h>
#include <tilewright/tensor.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::expression {

/// I64 is the type of i64 elements alone: they can be compared, and no more. Real is f32, or f64
/// where the problem's inputs are f64.
enum class Type : uint8_t { I1, I32, I64, Real };

/// "i1", "i32", "i64", "real".
std::string_view nameOf(Type type);

/// The names that every expression knows. S is the scaled score (scores only); B, H, HKV, Q and K
/// are the positions of one score; QLen and KVLen the lengths of the launch.
enum class Variable : uint8_t { S, B, H, HKV, Q, K, QLen, KVLen };

/// "s", "b", "h", "hkv", "q", "k", "q_len", "kv_len".
std::string_view nameOf(Variable variable);

struct Scalar {
  std::string name;
  Type type; // I32 or Real
};

struct Tensor {
  std::string name;
  DType dtype;
  size_t rank; // 1 to TensorView::maxRank
};

/// The type that an element of a tensor has in an expression: bool is I1, u8 and i32 are I32 (a u8
/// becomes I1 where a condition is wanted), i64 is I64, the floating types are Real.
Type elementType(DType dtype);

/// Scalars and tensors in the order of their declaration; expressions refer to them by index.
class Declarations {
public:
  /// Refused: a name that is no identifier, is built in (a variable, function or literal), or is
  /// declared already. Both return the index of the new declaration.
  Result<uint32_t> addScalar(std::string_view name, Type type);
  Result<uint32_t> addTensor(std::string_view name, DType dtype, size_t rank);

  const std::vector<Scalar> &scalars() const { return scalarList; }
  const std::vector<Tensor> &tensors() const { return tensorList; }

  std::optional<uint32_t> findScalar(std::string_view name) const;
  std::optional<uint32_t> findTensor(std::string_view name) const;

private:
  Status checkNewName(std::string_view name) const;

  std::vector<Scalar> scalarList;
  std::vector<Tensor> tensorList;
};

/// The extents of one launch. Each is from 0 to maxExtent; heads is a multiple of kvHeads.
struct Sizes {
  static constexpr int64_t maxExtent = int64_t{1} << 30;

  int64_t batch = 0;
  int64_t heads = 0;
  int64_t kvHeads = 0;
  int64_t queryLength = 0;
  int64_t keyLength = 0;

  /// There is no (b, h, q, k) at all, so no expression is ever evaluated.
  bool empty() const {
    return batch == 0 || heads == 0 || kvHeads == 0 || queryLength == 0 || keyLength == 0;
  }
};

Status checkSizes(const Sizes &sizes);

/// The values of the declared names for one launch, in the order of their declaration.
struct Bindings {
  /// A double holds every i32 exactly.
  std::vector<double> scalars;
  std::vector<TensorView> tensors;
};

/// The same where the values lie, for checks that must not allocate; no pointer is null.
struct BindingsView {
  std::span<const double> scalars;
  std::span<const TensorView *const> tensors;
};

/// Each declaration is bound, scalars of type i32 to integers in range, tensors to views of the
/// declared dtype and rank. A missing tensor is named.
Status checkBindings(const Declarations &declarations, const Bindings &bindings);
Status checkBindings(const Declarations &declarations, const BindingsView &bindings);

/// A number as options spell it: "5" and "-5" are I32 (range checked), "5.0", "1e-3", ".5", "-inf"
/// are Real.
struct Number {
  Type type;
  double value;
};
Result<Number> parseNumber(std::string_view text);

} // namespace tilewright::expression

#endif // TILEWRIGHT_LIB_EXPRESSION_DECLARATIONS_H
