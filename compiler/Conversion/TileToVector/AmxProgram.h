//===- AmxProgram.h - Which tile programs a matrix unit can run -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// AMX multiplies bf16 and is fed from memory in two layouts, so it takes more than a product of its
// own: weights must be rounded and paired where they are made, and keys and values be packed before
// the program starts. That is known how to do for one shape of loop, the recurrence of attention
// with nothing else in it. A program all of whose softmax steps are in such loops runs on AMX; any
// other runs in f32, as without AMX.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_CONVERSION_TILETOVECTOR_AMXPROGRAM_H
#define TILEWRIGHT_COMPILER_CONVERSION_TILETOVECTOR_AMXPROGRAM_H

#include "dialect/Tile/Tile.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilewright {

/// The sides of a tile register: rows, pairs of bf16 of a row, and so f32 of one.
constexpr int64_t amxRows = 16, amxDepth = 32;

/// A loop over blocks of keys that is the recurrence and nothing else: scores of loaded queries and
/// keys, any elementwise code, a step, and the rescaled accumulator plus weights times values.
struct AmxLoop {
  tile::LoadOp query, key, value;
  tile::MmaOp scores, output;
  tile::SoftmaxStepOp step;
  /// The tile that is rescaled: an argument of the loop.
  mlir::Value accumulator;
};

struct AmxProgram {
  llvm::DenseMap<mlir::Operation *, AmxLoop> loops;
  /// Arguments [batch, kv_heads, key_length, width] of the function.
  mlir::Value key, value;
  int64_t blockKV, headDim, valueDim;
  /// Temporary tensors [batch, kv_heads, block, ...]: tiles of K, padded with zeros, and of V^T. A
  /// processor fetches ahead of what is read in the order of addresses, so all depths of a tile of
  /// keys follow one another.
  mlir::Value packedKey, packedValue;

  int64_t depthTiles() const { return llvm::divideCeil(headDim, amxDepth); }
  int64_t valueTiles() const { return llvm::divideCeil(valueDim, amxRows); }

  const AmxLoop *find(mlir::Operation *loop) const {
    auto found = loops.find(loop);
    return found == loops.end() ? nullptr : &found->second;
  }
};

/// Finds the recurrences of a program in bf16, or says in a remark why it will run in f32. Nothing
/// is said of programs in other types.
std::optional<AmxProgram> matchAmxProgram(mlir::scf::ForallOp program);

/// Adds the temporary tensors that `program` needs, before the forall. They are empty where the
/// forall has no iterations.
void allocatePacked(AmxProgram &program, mlir::scf::ForallOp forall);

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_CONVERSION_TILETOVECTOR_AMXPROGRAM_H
