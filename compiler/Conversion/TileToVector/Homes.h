//===- Homes.h - What rests where -------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The op that makes a tile decides where it rests; there is no analysis that could decide
// otherwise:
//
//   tile.load          as rhs of a product: a view of memory, read in place
//                      otherwise: scratch, transposed
//   tile.mma           scratch: the accumulator's home if it has one, or a new one
//   tile.softmax_step  weights: the home of the scores; reference and sum: the homes of the old
//   ones scf.for            a carried tile has one home for start, argument and yield all others
//   nowhere: they are evaluated, lane by lane, where somebody needs them
//
// A tile of queries x columns rests as [column][query], the queries padded to whole vectors; one
// value a query rests as [1][query]. More queries than a register tile has rest group by group, as
// [group][column][query], and what only the ops of one run over the groups need has a home for one
// group. With columns on lanes (ColumnTiles.h) a tile rests as [query][column], the columns padded.
// f16 and bf16 rest widened to f32, i1 as bytes. An op takes
// over the home of an operand only if nobody reads the operand later; a tile that would have to be
// in two places, or in one place with another, is refused.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_CONVERSION_TILETOVECTOR_HOMES_H
#define TILEWRIGHT_COMPILER_CONVERSION_TILETOVECTOR_HOMES_H

#include "compiler/Conversion/TileToVector/VectorBuilder.h"
#include "dialect/Tile/Tile.h"

namespace tilewright {

/// A tile where it lies: its rows that exist, as a tensor of the tile's rank.
struct View {
  mlir::Value rows;
  mlir::Value count;
  /// Where rows run over two dimensions, `rows` has one more: the second one's extent, and the
  /// number of the tile's first row.
  mlir::Value group = {}, first = {};
};

class Homes {
public:
  Homes(VectorBuilder &builder, mlir::Block *program);

  // What holds for the program, before any code is emitted.

  /// Whether the op's results rest nowhere.
  bool isEvaluatedOnUse(mlir::Operation *op) const;
  /// The step that takes the product's scores while they are in registers, if there is one.
  tile::SoftmaxStepOp stepOf(tile::MmaOp product) const { return steps.lookup(product); }
  tile::MmaOp productOf(tile::SoftmaxStepOp step) const { return products.lookup(step); }
  /// The ops that read a tile or what is evaluated from it.
  llvm::SmallVector<mlir::Operation *> readersOf(mlir::Value tile) const;
  /// Whether the tile's elements differ along its columns.
  bool dependsOnColumn(mlir::Value tile) const { return columnDependent.contains(tile); }

  // What rests where, while code is emitted.

  mlir::Value bufferOf(mlir::Value tile) const { return buffers.lookup(tile); }
  const View *viewOf(mlir::Value tile) const;
  void setView(mlir::Value tile, View view) { views[tile] = view; }

  /// States that the tile's home need not hold more than one group at a time.
  void keepForOneGroup(mlir::Value tile) { forOneGroup.insert(tile); }

  /// With columns on lanes: how many rows of a tile are computed.
  mlir::Value rowsOf(mlir::RankedTensorType tile) const;
  void setRowCounts(llvm::DenseMap<int64_t, mlir::Value> counts) { rowCounts = std::move(counts); }

  /// The scratch type of a tile with elements of `element`, and of one group of it.
  mlir::MemRefType bufferType(mlir::RankedTensorType tile, mlir::Type element) const;
  mlir::MemRefType groupType(mlir::RankedTensorType tile, mlir::Type element) const;
  bool isOneGroup(mlir::RankedTensorType tile) const;
  mlir::Type restingType(mlir::Type element) const;

  /// Scratch of this type until the end of the current scope.
  mlir::Value acquire(mlir::MemRefType type);
  /// A new home for `tile`.
  mlir::Value settle(mlir::Value tile);
  /// Makes `buffer` the home of `tile` from now on.
  void settle(mlir::Value tile, mlir::Value buffer);
  /// Gives `result` the home of a tile that `source` is evaluated from and that `op` is the last to
  /// read, `except` one; null if there is none.
  mlir::Value takeOver(mlir::Value result, mlir::Value source, mlir::Operation *op,
                       mlir::Value except = {});

  /// The tiles with a home that `tile` is evaluated from.
  llvm::SmallVector<mlir::Value> sourcesOf(mlir::Value tile) const;

  /// A scope's scratch is free for others after it.
  size_t openScope() const { return acquired.size(); }
  void closeScope(size_t scope);

  uint64_t getScratchBytes() const { return scratchBytes; }

private:
  VectorBuilder &builder;
  llvm::DenseMap<tile::MmaOp, tile::SoftmaxStepOp> steps;
  llvm::DenseMap<tile::SoftmaxStepOp, tile::MmaOp> products;
  llvm::DenseSet<mlir::Value> columnDependent, forOneGroup;
  llvm::DenseMap<mlir::Value, mlir::Value> buffers;
  llvm::DenseMap<mlir::Value, mlir::Value> owners;
  llvm::DenseMap<mlir::Value, View> views;
  llvm::SmallVector<mlir::Value> acquired;
  llvm::DenseMap<mlir::Type, llvm::SmallVector<mlir::Value>> released;
  llvm::DenseMap<int64_t, mlir::Value> rowCounts;
  uint64_t scratchBytes = 0;

  void fuse(tile::SoftmaxStepOp step);
  mlir::MemRefType homeType(mlir::Value tile) const;
  bool isLastReader(mlir::Operation *op, mlir::Value tile) const;
};

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_CONVERSION_TILETOVECTOR_HOMES_H
