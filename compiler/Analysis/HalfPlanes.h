//===- HalfPlanes.h - The affine part of a mask -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A mask is a conjunction. A conjunct that compares integers affine in the query
// and key positions is a half-plane
//
//     q * query + k * key + offset >= 0
//
// with constant q and k; its offset may be anything that depends on no position,
// such as a window given at launch or a difference of lengths. Half-planes decide
// in closed form which blocks of keys a block of queries visits, and which it
// visits without looking at the mask at all.
//
//     k <= q && q - k < window    ->    (q = 1, k = -1) and (q = -1, k = 1)
//
// All other conjuncts are residual: they may hide any key, so they leave no block
// full. A conjunct that reads a captured tensor is always residual, since the
// arithmetic around what it reads may wrap.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_ANALYSIS_HALFPLANES_H
#define TILEWRIGHT_COMPILER_ANALYSIS_HALFPLANES_H

#include "dialect/Attn/Attn.h"

namespace tilewright {

/// One half-plane. Its offset is `greater - smaller - slack`, taken at query = key = 0; where
/// `condition` is set instead, the half-plane is everything if that holds and nothing if not.
struct HalfPlane {
  int64_t q = 0;
  int64_t k = 0;
  /// i32 values of the mask region, or from outside of it.
  mlir::Value greater = {}, smaller = {};
  /// 1 for a strict comparison, otherwise 0.
  int64_t slack = 0;
  /// An i1 value that depends on no position.
  mlir::Value condition = {};
};

struct MaskAnalysis {
  llvm::SmallVector<HalfPlane> halfPlanes;
  /// Conjuncts that are not half-planes, in the order of the mask.
  llvm::SmallVector<mlir::Value> residual;
};

/// Splits the mask of `op`; an op without a mask has neither half-planes nor a residue. Linear in
/// the size of the region.
MaskAnalysis analyzeMask(attn::ForwardOp op);

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_ANALYSIS_HALFPLANES_H
