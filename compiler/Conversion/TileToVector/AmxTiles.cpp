//===- AmxTiles.cpp - Products on AMX and the layouts that feed them ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/TileToVector/AmxTiles.h"

#include "mlir/Dialect/AMX/AMXDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace tilewright;

/// The depth of a product is unrolled this far; sums of more go by way of memory.
static constexpr int64_t mostUnrolledTiles = 8;

//===----------------------------------------------------------------------===//
// Paired tiles
//===----------------------------------------------------------------------===//

MemRefType tilewright::pairedType(VectorBuilder &b, int64_t depth, int64_t queries) {
  const int64_t tiles = llvm::divideCeil(depth, amxDepth) * llvm::divideCeil(queries, amxRows);
  return MemRefType::get({tiles * amxRows, amxDepth}, b.getBF16Type());
}

static Value bitsOf(VectorBuilder &b, Value vector) {
  return arith::BitcastOp::create(b, b.vectorOf(b.getI32Type()), vector);
}

Value tilewright::pair(VectorBuilder &b, Value first, Value second) {
  Value half = b.integer(b.vectorOf(b.getI32Type()), 16);
  // LLVM keeps a funnel shift as it is; of shifts and an or it makes a slow permutation.
  Value high = arith::ShRUIOp::create(b, bitsOf(b, second), half);
  return LLVM::FshlOp::create(b, high, bitsOf(b, first), half);
}

static void storeRow(VectorBuilder &b, Value words, Value buffer, Value row) {
  Value elements =
      vector::BitCastOp::create(b, VectorType::get({amxDepth}, b.getBF16Type()), words);
  b.store(elements, buffer, row, b.index(0));
}

void tilewright::emitPairedTiles(VectorBuilder &b, Value buffer, int64_t depth, Value paired) {
  const int64_t queries = cast<MemRefType>(buffer.getType()).getDimSize(1);
  const int64_t columns = queries / amxRows;
  const int64_t pairs = cast<MemRefType>(paired.getType()).getDimSize(0) / columns;
  for (int64_t j = 0; j < columns; ++j) {
    Value lane = b.index(j * amxRows);
    const auto storePair = [&](Value number, Value words) {
      // Row number % 16 of tile number / 16.
      Value tile = arith::DivUIOp::create(b, number, b.index(amxRows));
      Value row = arith::MulIOp::create(b, tile, b.index((columns - 1) * amxRows));
      row = arith::AddIOp::create(b, row, number);
      storeRow(b, words, paired, b.offset(row, j * amxRows));
    };
    b.loop(b.index(0), b.index(depth / 2), 1, [&](Value number) {
      Value x = arith::MulIOp::create(b, number, b.index(2));
      Value first = b.load(buffer, x, lane), second = b.load(buffer, b.offset(x, 1), lane);
      storePair(number, pair(b, first, second));
    });
    Value zero = b.real(b.vectorOf(b.getF32Type()), 0);
    if (depth % 2 != 0)
      storePair(b.index(depth / 2), pair(b, b.load(buffer, b.index(depth - 1), lane), zero));
    b.loop(b.index(llvm::divideCeil(depth, 2)), b.index(pairs), 1,
           [&](Value number) { storePair(number, bitsOf(b, zero)); });
  }
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Runs over `count` tiles two at a time; `body` gets the number of the first and how many.
static void forEachPair(VectorBuilder &b, int64_t count, function_ref<void(Value, int64_t)> body) {
  if (count >= 2)
    b.loop(b.index(0), b.index(count / 2 * 2), 2, [&](Value first) { body(first, 2); });
  if (count % 2 != 0)
    body(b.index(count - 1), 1);
}

namespace {
/// Four accumulators, two tiles of A and two of B are the eight registers: a load for each
/// product. No tile is carried from one iteration to another, since there is no instruction that
/// moves one.
struct TileRegisters {
  VectorBuilder &b;
  const TileProduct &product;
  TilePosition position;

  amx::TileType operandType() { return amx::TileType::get({amxRows, amxDepth}, b.getBF16Type()); }
  amx::TileType sumType() { return amx::TileType::get({amxRows, amxRows}, b.getF32Type()); }

  Value at(Value tile) { return arith::MulIOp::create(b, tile, b.index(amxRows)); }

  Value loadA(Value i, int64_t k) {
    auto [row, column] = position(i, k);
    return amx::TileLoadOp::create(b, operandType(), product.a, ValueRange{row, column});
  }
  Value loadB(int64_t k, Value j) {
    Value row = b.offset(at(j), k * product.pitch * amxRows);
    return amx::TileLoadOp::create(b, operandType(), product.b, ValueRange{row, b.index(0)});
  }

  /// The depth from `begin` to `end` of rows x columns tiles from (i, j) on.
  void multiply(Value i, int64_t rows, Value j, int64_t columns, int64_t begin, int64_t end) {
    SmallVector<Value> sums;
    SmallVector<SmallVector<Value>> places;
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c) {
        const SmallVector<Value> place = {at(b.offset(i, r)), at(b.offset(j, c))};
        places.push_back(place);
        sums.push_back(begin > 0 || product.accumulates
                           ? amx::TileLoadOp::create(b, sumType(), product.c, place).getResult()
                           : amx::TileZeroOp::create(b, sumType()).getResult());
      }
    for (int64_t k = begin; k < end; ++k) {
      SmallVector<Value> right(columns);
      for (int64_t r = 0; r < rows; ++r) {
        Value left = loadA(b.offset(i, r), k);
        for (int64_t c = 0; c < columns; ++c) {
          if (r == 0)
            right[c] = loadB(k, b.offset(j, c));
          Value &sum = sums[r * columns + c];
          sum = amx::TileMulFOp::create(b, sumType(), left, right[c], sum);
        }
      }
    }
    for (auto [sum, place] : llvm::zip_equal(sums, places))
      amx::TileStoreOp::create(b, product.c, place, sum);
  }
};
} // namespace

void tilewright::emitTileProduct(VectorBuilder &b, const TileProduct &product,
                                 TilePosition position) {
  TileRegisters registers{b, product, position};
  for (int64_t begin = 0; begin < product.depth; begin += mostUnrolledTiles) {
    const int64_t end = std::min(begin + mostUnrolledTiles, product.depth);
    forEachPair(b, product.rows, [&](Value i, int64_t rows) {
      forEachPair(b, product.columns, [&](Value j, int64_t columns) {
        registers.multiply(i, rows, j, columns, begin, end);
      });
    });
  }
}

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

/// Copies `rows` rows of `columns` bf16, zeros behind those of `view`, to where `placeOf` says in
/// `buffer`. Sixteen elements that follow one another stay together.
static void emitPaddedCopy(VectorBuilder &b, View view, int64_t rows, int64_t columns, Value buffer,
                           function_ref<std::pair<Value, Value>(Value, Value)> placeOf) {
  const int64_t width = cast<MemRefType>(view.rows.getType()).getDimSize(1), lanes = b.shape.lanes;
  const int64_t whole = width / lanes * lanes;
  const Type element = cast<MemRefType>(buffer.getType()).getElementType();
  const auto store = [&](Value elements, Value row, Value column) {
    auto [r, c] = placeOf(row, column);
    if (isa<VectorType>(elements.getType()))
      b.store(elements, buffer, r, c);
    else
      memref::StoreOp::create(b, elements, buffer, ValueRange{r, c});
  };
  Value zero = b.real(element, 0), zeros = b.real(b.vectorOf(element), 0);
  b.loop(b.index(0), view.count, 1, [&](Value row) {
    b.loop(b.index(0), b.index(whole), lanes,
           [&](Value column) { store(b.load(view.rows, row, column), row, column); });
    b.loop(b.index(whole), b.index(width), 1, [&](Value column) {
      store(memref::LoadOp::create(b, view.rows, ValueRange{row, column}), row, column);
    });
    b.loop(b.index(width), b.index(columns), 1, [&](Value column) { store(zero, row, column); });
  });
  b.loop(view.count, b.index(rows), 1, [&](Value row) {
    b.loop(b.index(0), b.index(columns), lanes, [&](Value column) { store(zeros, row, column); });
  });
}

Value tilewright::packedBlock(VectorBuilder &b, Value packed, ValueRange position) {
  const auto type = cast<MemRefType>(packed.getType());
  const int64_t rows = type.getDimSize(3), columns = type.getDimSize(4);
  SmallVector<OpFoldResult> offsets = llvm::to_vector_of<OpFoldResult>(position);
  offsets.append(2, b.getIndexAttr(0));
  SmallVector<OpFoldResult> sizes(3, b.getIndexAttr(1));
  sizes.append({b.getIndexAttr(rows), b.getIndexAttr(columns)});
  const SmallVector<OpFoldResult> strides(5, b.getIndexAttr(1));
  MemRefType block =
      memref::SubViewOp::inferRankReducedResultType({rows, columns}, type, offsets, sizes, strides);
  return memref::SubViewOp::create(b, block, packed, offsets, sizes, strides);
}

/// Sixteen columns of `rows`, from `column` on, as the rows of the A tile at `row` of `packed`.
static void emitTransposedTile(VectorBuilder &b, Value rows, Value column, Value packed,
                               Value row) {
  const auto word = b.vectorOf(b.getI32Type());
  const auto load = [&](int64_t key) -> Value {
    Value half =
        arith::BitcastOp::create(b, b.vectorOf(b.getI16Type()), b.load(rows, b.index(key), column));
    return arith::ExtUIOp::create(b, word, half);
  };
  SmallVector<Value> pairs;
  for (int64_t key = 0; key < amxDepth; key += 2) {
    Value high = arith::ShLIOp::create(b, load(key + 1), b.integer(word, 16));
    pairs.push_back(arith::OrIOp::create(b, load(key), high));
  }
  for (auto [i, words] : llvm::enumerate(transpose(b, pairs)))
    storeRow(b, words, packed, b.offset(row, i));
}

void tilewright::emitPacking(VectorBuilder &b, const AmxProgram &program, const IRMapping &scalars,
                             ValueRange position) {
  Value firstKey = arith::MulIOp::create(b, position[2], b.index(program.blockKV));
  const auto rowsOf = [&](Value tensor, int64_t width, Value first, int64_t rows) {
    return emitView(b, scalars.lookup(tensor), {position[0], position[1], first},
                    RankedTensorType::get({rows, width}, b.getBF16Type()));
  };
  emitPaddedCopy(
      b, rowsOf(program.key, program.headDim, firstKey, program.blockKV), program.blockKV,
      program.depthTiles() * amxDepth, packedBlock(b, scalars.lookup(program.packedKey), position),
      [&](Value key, Value column) {
        const auto tileOf = [&](Value number, int64_t size) {
          return std::pair<Value, Value>(arith::DivUIOp::create(b, number, b.index(size)),
                                         arith::RemUIOp::create(b, number, b.index(size)));
        };
        auto [i, row] = tileOf(key, amxRows);
        auto [k, columnOfTile] = tileOf(column, amxDepth);
        Value tile = arith::MulIOp::create(b, i, b.index(program.depthTiles()));
        tile = arith::AddIOp::create(b, tile, k);
        tile = arith::MulIOp::create(b, tile, b.index(amxRows));
        return std::pair<Value, Value>(arith::AddIOp::create(b, tile, row), columnOfTile);
      });

  Value packed = packedBlock(b, scalars.lookup(program.packedValue), position);
  const int64_t width = program.valueTiles() * amxRows;
  Value rows = b.allocate(MemRefType::get({amxDepth, width}, b.getBF16Type()));
  b.loop(b.index(0), b.index(program.blockKV), amxDepth, [&](Value key) {
    emitPaddedCopy(
        b,
        rowsOf(program.value, program.valueDim, arith::AddIOp::create(b, firstKey, key), amxDepth),
        amxDepth, width, rows, [](Value row, Value column) { return std::pair(row, column); });
    b.loop(b.index(0), b.index(width), amxRows, [&](Value column) {
      // Key tile key / 32 has width rows, of which those of this tile start at `column`.
      Value row = arith::DivUIOp::create(b, key, b.index(amxDepth));
      row = arith::MulIOp::create(b, row, b.index(width));
      emitTransposedTile(b, rows, column, packed, arith::AddIOp::create(b, row, column));
    });
  });
}
