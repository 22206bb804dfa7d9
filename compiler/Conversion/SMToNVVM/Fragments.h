//===- Fragments.h - Register tiles as one thread holds them ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one place that knows which thread holds which element. A tensor of the sm
// dialect becomes the vector of the elements that a thread holds, in the order
// that its layout's description gives (dialect/SM/SMOps.td; source: PTX ISA 8.7,
// "Register Fragments and Shared Memory Matrix Layouts" of wgmma):
//
//   #sm.accumulator        64 x N    vector<N/2 x element>
//   #sm.operand            64 x K    vector<K/4 x i32>, two elements each, the first in the low
//   half #sm.row, partial_row   64        vector<2 x element>
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_CONVERSION_SMTONVVM_FRAGMENTS_H
#define TILEWRIGHT_COMPILER_CONVERSION_SMTONVVM_FRAGMENTS_H

#include "compiler/Conversion/SMToNVVM/Instructions.h"

namespace tilewright::sm90 {

/// A thread's place in its warpgroup, i32 values.
struct Place {
  Value warp;    // of the warpgroup, 0 to 3
  Value lane;    // of the warp, 0 to 31
  Value group;   // lane / 4
  Value inGroup; // lane % 4

  static Place of(LocBuilder &b, Value threadIndex);
};

/// The vector type for a tensor or a product in flight; any other type as it is.
Type fragmentType(Type type);

llvm::SmallVector<Value> elements(LocBuilder &b, Value vector);
Value fromElements(LocBuilder &b, ValueRange elements);

/// The row (0 or 1 of a thread's two) and the column of element i of an accumulator, where the
/// column is `columnOf(i) + 2 * inGroup` of the tile and row r is `firstRow + 8 * r`.
inline int64_t rowOf(int64_t i) {
  return i / 2 % 2;
}
inline int64_t columnOf(int64_t i) {
  return 8 * (i / 4) + i % 2;
}
Value firstRow(LocBuilder &b, const Place &place);
Value firstColumn(LocBuilder &b, const Place &place);

/// The positions of an accumulator's rows (dim 0) or columns, from `first`, i32.
Value coordinates(LocBuilder &b, const Place &place, mlir::VectorType type, Value first,
                  int64_t dim);
/// One value in all elements, or a row vector's value in all of its row.
Value broadcast(LocBuilder &b, Value source, mlir::VectorType type);
/// Rounds an accumulator to a left operand.
Value pack(LocBuilder &b, Value accumulator, Type element);

/// A thread's two row values combined over the quad, so that all four hold the same.
enum class Combine { Sum, Maximum };
Value overQuad(LocBuilder &b, Value row, Combine combine);
/// An accumulator's elements of each row in one thread combined with `start`.
Value alongRows(LocBuilder &b, Value accumulator, Value start, Combine combine);

} // namespace tilewright::sm90

#endif // TILEWRIGHT_COMPILER_CONVERSION_SMTONVVM_FRAGMENTS_H
