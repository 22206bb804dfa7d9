//===- Elementwise.h - Tile code on one vector of queries -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ops on tiles that rest nowhere are evaluated where their value is needed, for one column and one
// vector of queries at a time. What is the same for all queries stays a scalar (a key's position,
// its document), and what is the same for all columns is computed once, before the loop over
// columns. With columns on lanes (ColumnTiles.h) it is the other way round: one row and one vector
// of columns at a time, what all columns share being a scalar.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_CONVERSION_TILETOVECTOR_ELEMENTWISE_H
#define TILEWRIGHT_COMPILER_CONVERSION_TILETOVECTOR_ELEMENTWISE_H

#include "compiler/Conversion/TileToVector/Homes.h"

#include "mlir/IR/IRMapping.h"

namespace tilewright {

/// Evaluates tiles for one vector of queries, the one that starts at `lane` of the group of queries
/// from `first` on; with columns on lanes, for the query `lane`.
class LaneCode {
public:
  /// `scalars` maps the program's scalars to the function's.
  LaneCode(VectorBuilder &builder, const Homes &homes, const mlir::IRMapping &scalars,
           mlir::Value lane, mlir::Value first = {})
      : b(&builder), homes(&homes), scalars(&scalars), lane(lane), first(first) {}

  /// Computes here whatever `tile` is made from that is the same for all columns.
  void hoist(mlir::Value tile);
  /// From now on values are those of this column.
  void moveTo(mlir::Value column);
  /// States the value of a tile in this column.
  void define(mlir::Value tile, mlir::Value vector) { inColumn[tile] = vector; }
  /// The tile's elements in this column.
  mlir::Value vector(mlir::Value tile);
  /// The one element of a row of one, with columns on lanes.
  mlir::Value scalar(mlir::Value tile);
  /// As it rests in a buffer.
  mlir::Value restingVector(mlir::Value tile, mlir::Type element);

private:
  VectorBuilder *b;
  const Homes *homes;
  const mlir::IRMapping *scalars;
  mlir::Value lane, first;
  mlir::Value column;
  /// The parts of homes that hold the group, as far as their addresses are computed already.
  llvm::DenseMap<mlir::Value, mlir::Value> slices;
  /// Values, of which those that all queries share are scalars.
  llvm::DenseMap<mlir::Value, mlir::Value> forAllColumns, inColumn;
  /// Of the sums of rows that are finalized: divisions are slow.
  llvm::DenseMap<mlir::Operation *, mlir::Value> reciprocals;

  mlir::Value known(mlir::Value value) const;
  mlir::Value evaluate(mlir::Value tile);
  mlir::Value emit(mlir::OpResult tile);
  /// The dimension of a tile that lies on the lanes.
  uint64_t laneDimension() const { return b->shape.columnsOnLanes ? 1 : 0; }
  bool isConsecutive(mlir::Value tile) const;
  mlir::Value emitGather(tile::GatherOp gather);
  mlir::Value reciprocalOf(mlir::Value sum);
  mlir::Value emitElementwise(mlir::Operation *op);
  mlir::Value sliceOf(mlir::Value tile) const;
  mlir::Value load(mlir::Value tile);
  mlir::Value asVector(mlir::Value value);
};

/// Evaluates a group of `tile` into `part`, the slice of its home, column by column.
void emitGroupInto(VectorBuilder &builder, const Homes &homes, const mlir::IRMapping &scalars,
                   mlir::Value tile, QueryGroup group, mlir::Value part);

/// Evaluates `tile` into `buffer`. Groups of queries from `used` on are left out.
void emitInto(VectorBuilder &builder, const Homes &homes, const mlir::IRMapping &scalars,
              mlir::Value tile, mlir::Value buffer, mlir::Value used = {});

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_CONVERSION_TILETOVECTOR_ELEMENTWISE_H
