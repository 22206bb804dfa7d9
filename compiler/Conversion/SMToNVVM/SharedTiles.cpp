//===- SharedTiles.cpp - Tiles in shared memory and their products --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/SMToNVVM/SharedTiles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::sm90;

static constexpr int64_t rowBytes = 128; // of a chunk
static constexpr int64_t stepDepth = 16; // of one wgmma
static constexpr int64_t unit = 16;      // descriptors count bytes in these

void sm90::fillTile(LocBuilder &b, sm::SharedType tile, Value address, Value tensorMap,
                    Value barrier, ValueRange coordinates) {
  barrierExpect(b, barrier, tile.getBytes());
  for (int64_t column = 0; column < tile.getColumns(); column += chunkColumns) {
    Value destination = arith::AddIOp::create(
        b, address, constant(b, column / chunkColumns * tile.getRows() * rowBytes));
    SmallVector<Value> at = {constant(b, column)};
    at.append(coordinates.begin(), coordinates.end());
    copyBox(b, destination, tensorMap, barrier, at);
  }
}

Value sm90::chunkOf(LocBuilder &b, sm::SharedType tile, Value address, Value chunk) {
  return arith::AddIOp::create(
      b, address, arith::MulIOp::create(b, chunk, constant(b, tile.getRows() * rowBytes)));
}

Value sm90::elementPair(LocBuilder &b, Value chunkAddress, Value first, int64_t next, Value pair) {
  Value row = arith::AddIOp::create(b, first, constant(b, next));
  Value begin =
      arith::AddIOp::create(b, chunkAddress, arith::MulIOp::create(b, row, constant(b, rowBytes)));
  Value column = arith::MulIOp::create(b, pair, constant(b, 2));
  return arith::AddIOp::create(b, begin,
                               arith::XOrIOp::create(b, column, constant(b, next * unit)));
}

namespace {
/// The descriptor of an operand's first step, and where the others begin.
class Descriptor {
public:
  /// `address` is a multiple of 16 below 2^18, i32.
  Descriptor(LocBuilder &b, sm::SharedType tile, Value address, bool rowsByDepth)
      : tile(tile), rowsByDepth(rowsByDepth) {
    const int64_t leading = rowsByDepth ? unit : tile.getRows() * rowBytes;
    const int64_t stride = patternRows * rowBytes;
    const int64_t fixed = int64_t(1) << 62 | (stride / unit) << 32 | (leading / unit) << 16;
    Value start = arith::ShRUIOp::create(b, address, constant(b, 4));
    Value wide = arith::ExtUIOp::create(b, b.getI64Type(), start);
    first = arith::OrIOp::create(b, wide, constant64(b, fixed));
  }

  Value atDepth(LocBuilder &b, int64_t depth) const {
    int64_t bytes = depth * rowBytes;
    if (rowsByDepth)
      bytes = depth / chunkColumns * tile.getRows() * rowBytes + depth % chunkColumns * 2;
    return arith::AddIOp::create(b, first, constant64(b, bytes / unit));
  }

private:
  static Value constant64(LocBuilder &b, int64_t value) {
    return arith::ConstantIntOp::create(b, value, 64);
  }

  sm::SharedType tile;
  bool rowsByDepth;
  Value first;
};
} // namespace

SmallVector<Value> sm90::issueProduct(LocBuilder &b, const LeftOperand &lhs, sm::SharedType rhs,
                                      Value rhsAddress, bool rhsIsColumnsByDepth,
                                      ValueRange accumulator) {
  const int64_t columns = rhsIsColumnsByDepth ? rhs.getRows() : rhs.getColumns();
  const Descriptor right(b, rhs, rhsAddress, rhsIsColumnsByDepth);
  std::optional<Descriptor> left;
  if (lhs.tile) {
    Value offset = arith::MulIOp::create(b, lhs.row, constant(b, rowBytes));
    left.emplace(b, lhs.tile, arith::AddIOp::create(b, lhs.address, offset), /*rowsByDepth=*/true);
  }
  SmallVector<Value> result(accumulator);
  // Depth beyond the operands' columns, up to the next 16, is zero in both.
  for (int64_t depth = 0; depth < lhs.depth; depth += stepDepth) {
    SmallVector<Value> operand;
    if (left)
      operand = {left->atDepth(b, depth)};
    else
      operand.append(lhs.registers.begin() + depth / 4, lhs.registers.begin() + depth / 4 + 4);
    result = product(b, columns, rhs.getElementType(), operand, right.atDepth(b, depth),
                     rhsIsColumnsByDepth, result);
  }
  return result;
}
