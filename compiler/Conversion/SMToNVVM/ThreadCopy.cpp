//===- ThreadCopy.cpp - A warp copies what the copy engine cannot ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/SMToNVVM/ThreadCopy.h"
#include "compiler/Conversion/SMToNVVM/SharedTiles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::sm90;

/// Whose loads are under way at the same time; more would take registers that consumers need.
static constexpr int64_t rowsAtOnce = 4;

static Value constant64(LocBuilder &b, int64_t value) {
  return arith::ConstantIntOp::create(b, value, 64);
}

void sm90::copyByThreads(LocBuilder &b, Parameters &parameters, Value tensor, ValueRange indices,
                         sm::SharedType tile, Value address, Value lane) {
  auto type = cast<MemRefType>(tensor.getType());
  const int64_t rank = type.getRank(), width = type.getShape().back();
  Value outer = constant64(b, 0);
  for (int64_t dim = 0; dim < rank - 2; ++dim)
    outer = arith::AddIOp::create(b, outer,
                                  arith::MulIOp::create(b, indices[static_cast<size_t>(dim)],
                                                        parameters.stride(tensor, dim)));
  Value base = parameters.address(tensor);
  Value head =
      LLVM::GEPOp::create(b, base.getType(), b.getI16Type(), base, ArrayRef<LLVM::GEPArg>{outer});
  Value rowStride = parameters.stride(tensor, rank - 2);
  Value rows = parameters.extent(tensor, rank - 2);
  Value lastRow = arith::SubIOp::create(b, rows, constant64(b, 1));
  Value pair = arith::MulIOp::create(b, lane, constant(b, 2));

  auto loop =
      scf::ForOp::create(b, constant(b, 0), constant(b, tile.getRows()), constant(b, patternRows));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value first = loop.getInductionVar();
  Value firstRow =
      arith::AddIOp::create(b, indices.back(), arith::ExtUIOp::create(b, b.getI64Type(), first));
  const int64_t chunks = (tile.getColumns() + chunkColumns - 1) / chunkColumns;
  // Or else ptxas unrolls the loop, and spills.
  auto chunkLoop = scf::ForOp::create(
      b, constant(b, 0), chunks == 1 ? constant(b, 1) : hiddenConstant(b, chunks), constant(b, 1));
  b.setInsertionPointToStart(chunkLoop.getBody());
  Value chunk = chunkLoop.getInductionVar();
  Value chunkAddress = chunkOf(b, tile, address, chunk);
  Value column =
      arith::AddIOp::create(b, pair, arith::MulIOp::create(b, chunk, constant(b, chunkColumns)));

  /// The element, or zero; what is read lies inside of the tensor in any case.
  auto load = [&](Value rowAddress, Value rowInside, int64_t next) -> Value {
    Value at = arith::AddIOp::create(b, column, constant(b, next));
    Value last = constant(b, width - 1);
    Value inside = arith::AndIOp::create(
        b, rowInside, arith::CmpIOp::create(b, arith::CmpIPredicate::ule, at, last));
    Value clamped = arith::ExtUIOp::create(b, b.getI64Type(), arith::MinUIOp::create(b, at, last));
    Value element =
        LLVM::LoadOp::create(b, b.getI16Type(),
                             LLVM::GEPOp::create(b, base.getType(), b.getI16Type(), rowAddress,
                                                 ArrayRef<LLVM::GEPArg>{clamped}));
    Value zero = arith::ConstantIntOp::create(b, 0, 16);
    return arith::ExtUIOp::create(b, b.getI32Type(),
                                  arith::SelectOp::create(b, inside, element, zero));
  };

  for (int64_t group = 0; group < patternRows; group += rowsAtOnce) {
    SmallVector<Value> words;
    for (int64_t next = group; next < group + rowsAtOnce; ++next) {
      Value row = arith::AddIOp::create(b, firstRow, constant64(b, next));
      Value inside = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, row, rows);
      Value offset = arith::MulIOp::create(b, arith::MinSIOp::create(b, row, lastRow), rowStride);
      Value rowAddress = LLVM::GEPOp::create(b, base.getType(), b.getI16Type(), head,
                                             ArrayRef<LLVM::GEPArg>{offset});
      Value low = load(rowAddress, inside, 0), high = load(rowAddress, inside, 1);
      words.push_back(
          arith::OrIOp::create(b, low, arith::ShLIOp::create(b, high, constant(b, 16))));
    }
    for (auto [number, word] : llvm::enumerate(words)) {
      const int64_t next = group + static_cast<int64_t>(number);
      storeShared(b, elementPair(b, chunkAddress, first, next, pair), word);
    }
  }
}
