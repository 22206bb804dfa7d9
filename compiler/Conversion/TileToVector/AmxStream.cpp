//===- AmxStream.cpp - Tile instructions to be spread out -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/TileToVector/AmxStream.h"

#include "mlir/Dialect/AMX/AMXDialect.h"

#include <array>

using namespace mlir;
using namespace tilewright;

/// Tiles that instructions define and use when they are emitted.
using Tiles = std::array<Value, 2>;

/// Two sums at a time, which share the tile of A. They are stored when the next two have their
/// first products: to wait for them at once would hold up what follows.
void AmxStream::append(const TileProduct &product, Position position) {
  auto operandType = amx::TileType::get({amxRows, amxDepth}, b.getBF16Type());
  auto sumType = amx::TileType::get({amxRows, amxRows}, b.getF32Type());
  const auto load = [&](std::shared_ptr<Tiles> tiles, int64_t number, amx::TileType type,
                        Value buffer, Value row, Value column) {
    instructions.push_back([=, this] {
      (*tiles)[number] = amx::TileLoadOp::create(b, type, buffer, ValueRange{row, column});
    });
  };
  for (int64_t i = 0; i < product.rows; ++i)
    for (int64_t j = 0; j < product.columns; j += 2) {
      const int64_t width = std::min<int64_t>(2, product.columns - j);
      auto sums = std::make_shared<Tiles>();
      const SmallVector<Value> place = {b.index(i * amxRows), b.index(j * amxRows),
                                        b.index((j + 1) * amxRows)};
      for (int64_t c = 0; c < width; ++c)
        if (product.accumulates)
          load(sums, c, sumType, product.c, place[0], place[1 + c]);
        else
          instructions.push_back([=, this] { (*sums)[c] = amx::TileZeroOp::create(b, sumType); });
      for (int64_t k = 0; k < product.depth; ++k) {
        auto left = std::make_shared<Tiles>(), right = std::make_shared<Tiles>();
        auto [row, column] = position(i, k);
        load(left, 0, operandType, product.a, row, column);
        for (int64_t c = 0; c < width; ++c) {
          load(right, c, operandType, product.b, b.index((k * product.pitch + j + c) * amxRows),
               b.index(0));
          instructions.push_back([=, this] {
            (*sums)[c] = amx::TileMulFOp::create(b, sumType, (*left)[0], (*right)[c], (*sums)[c]);
          });
        }
        flushStores();
      }
      for (int64_t c = 0; c < width; ++c)
        stores.push_back([=, this] {
          amx::TileStoreOp::create(b, product.c, ValueRange{place[0], place[1 + c]}, (*sums)[c]);
        });
    }
}

void AmxStream::flushStores() {
  llvm::append_range(instructions, stores);
  stores.clear();
}

void AmxStream::advance(int64_t numerator, int64_t denominator) {
  flushStores();
  for (const size_t end = instructions.size() * numerator / denominator; emitted < end; ++emitted)
    instructions[emitted]();
}
