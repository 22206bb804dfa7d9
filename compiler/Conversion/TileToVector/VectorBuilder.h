//===- VectorBuilder.h - Emission of explicit vector code -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All vector code of a kernel is one-dimensional vectors of one length, loops that carry them as
// SSA values, and scratch that is read and written a whole vector at a time. That is what LLVM
// turns into the code one would write with intrinsics, without any pass of its own (docs/cpu.md).
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_CONVERSION_TILETOVECTOR_VECTORBUILDER_H
#define TILEWRIGHT_COMPILER_CONVERSION_TILETOVECTOR_VECTORBUILDER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tilewright {

/// What a register tile may have: far more than any machine has registers for.
inline constexpr int64_t maxTileVectors = 16, maxTileRows = 16;

/// The shape of all vector code of one kernel.
struct VectorShape {
  int64_t lanes;   ///< queries of one vector, whatever the element type
  int64_t vectors; ///< vectors of queries of a register tile
  int64_t rows;    ///< broadcast rows of a register tile
  /// Whether a multiply-add is one operation. Without it LLVM would call a library function for
  /// each element, so the two halves are left for the target to contract.
  bool fusedMultiplyAdd;
  /// Columns of a tile rest in a multiple of so many rows of scratch.
  int64_t columnMultiple = 1;
  /// Whether tiles of more queries than a register tile rest as several, one after the other: each
  /// is then dense in the cache.
  bool restsInGroups = true;
  /// Whether a vector is of columns of one row and not of queries of one column.
  bool columnsOnLanes = false;

  int64_t padded(int64_t queries) const { return llvm::alignTo(queries, lanes); }
  /// Queries of a row of scratch.
  int64_t groupWidth(int64_t queries) const {
    return restsInGroups ? std::min(padded(queries), vectors * lanes) : padded(queries);
  }
};

/// Queries that are computed together.
struct QueryGroup {
  mlir::Value first; ///< of the queries that rest with them
  mlir::Value lane;  ///< of the first of them, counted from `first`
  int64_t vectors;
};

class VectorBuilder : public mlir::ImplicitLocOpBuilder {
public:
  /// Constants and scratch go to the start of `entry`, code to its end.
  VectorBuilder(mlir::Location location, mlir::Block *entry, VectorShape shape);

  const VectorShape shape;

  mlir::VectorType vectorOf(mlir::Type element);

  // Constants, each made once per function.
  mlir::Value constant(mlir::TypedAttr value);
  mlir::Value index(int64_t value);
  /// A number as a scalar or, for a vector type, in every lane.
  mlir::Value real(mlir::Type type, double value);
  mlir::Value integer(mlir::Type type, int64_t value);

  /// A constant by way of the function's frame. LLVM takes a constant that it knows for cheap
  /// enough to load wherever it is used, in each iteration of a loop too; this one it keeps in a
  /// register.
  mlir::Value pinned(mlir::Value constant);

  /// A new array in the function's frame.
  mlir::Value allocate(mlir::MemRefType type);

  mlir::Value offset(mlir::Value index, int64_t distance);
  mlir::Value broadcast(mlir::Value scalar);
  /// Of a vector of booleans those of the first `count` lanes are true, of which there may be more.
  mlir::Value lanesBelow(mlir::Value count);
  mlir::Value load(mlir::Value buffer, mlir::Value row, mlir::Value lane);
  void store(mlir::Value vector, mlir::Value buffer, mlir::Value row, mlir::Value lane);

  /// The part of scratch that holds the group of queries from `first` on, [columns][width].
  mlir::Value slice(mlir::Value buffer, mlir::Value first);

  /// rows x columns elements of a rank-2 tensor in memory, from [row, column] on. The address is
  /// computed here and not, as that of a subview, wherever an element is read.
  mlir::Value window(mlir::Value tensor, mlir::Value row, mlir::Value column, int64_t rows,
                     int64_t columns);

  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value subtract(mlir::Value a, mlir::Value b);
  mlir::Value multiply(mlir::Value a, mlir::Value b);
  mlir::Value multiplyAdd(mlir::Value a, mlir::Value b, mlir::Value c);
  /// a > b ? a : b, which is one instruction; a NaN in `a` gives b.
  mlir::Value maximum(mlir::Value a, mlir::Value b);
  mlir::Value choose(mlir::arith::CmpFPredicate predicate, mlir::Value a, mlir::Value b,
                     mlir::Value then, mlir::Value otherwise);

  /// A float as f32 or f64, exactly: `type` is at least as wide.
  mlir::Value widen(mlir::Value value, mlir::Type element);

  /// An instruction that may do anything, and does nothing: loads and stores do not cross it.
  void barrier();
  /// An index as one that LLVM knows nothing of: it computes addresses from it again, instead of
  /// keeping those that it has in registers.
  mlir::Value forget(mlir::Value index);

  using Body = llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::ValueRange)>;
  /// for (i = low; i < high; i += step), carrying values; returns them after the loop.
  llvm::SmallVector<mlir::Value> loop(mlir::Value low, mlir::Value high, int64_t step,
                                      mlir::ValueRange carried, Body body);
  void loop(mlir::Value low, mlir::Value high, int64_t step,
            llvm::function_ref<void(mlir::Value)> body);

  void branch(mlir::Value condition, llvm::function_ref<void()> then,
              llvm::function_ref<void()> otherwise = nullptr);

  /// Runs over queries in groups of at most shape.vectors vectors. Groups from query `used` on are
  /// left out.
  void forEachGroup(int64_t queries, llvm::function_ref<void(QueryGroup)> body,
                    mlir::Value used = {});
  /// Runs over queries vector by vector: `body` gets QueryGroup's `first` and `lane`. Those from
  /// `used` on may be left out.
  void forEachVector(int64_t queries, llvm::function_ref<void(mlir::Value, mlir::Value)> body,
                     mlir::Value used = {});

private:
  mlir::Block *entry;
  mlir::Operation *lastPrologue = nullptr;
  llvm::DenseMap<mlir::Attribute, mlir::Value> constants;
  llvm::DenseMap<mlir::Value, mlir::Value> pinnedConstants;

  template <typename Make> mlir::Value inPrologue(Make make);
};

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_CONVERSION_TILETOVECTOR_VECTORBUILDER_H
