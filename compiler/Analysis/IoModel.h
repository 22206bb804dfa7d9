//===- IoModel.h - How much memory attention needs and moves ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model in closed form of what tiling saves, for people; nothing is decided by
// it. A kernel that stores the scores of T queries and keys of width d moves
// about T^2 + T d elements between a large slow memory and a small fast one. A
// tiled kernel keeps blocks of about M / d rows in a fast memory of M elements
// and so moves T^2 d^2 / M + T d (Dao et al., FlashAttention, 2022,
// https://arxiv.org/abs/2205.14135, theorem 2, constants dropped). For example,
// d = 64 and M = 48,000:
//
//   T        1024   8192   65536   524288   limit M / d^2
//   ratio    7.19   10.82  11.60   11.70    11.72
//
// With Tq queries and Tk keys T^2 is Tq Tk and T their mean; with values of
// another width d is the mean of both.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_ANALYSIS_IOMODEL_H
#define TILEWRIGHT_COMPILER_ANALYSIS_IOMODEL_H

#include <tilewright/runtime.h>

namespace tilewright {

/// The problem of one launch. Counts are doubles: they may be past 2^63.
struct IoModel {
  ProblemSizes sizes;
  int64_t headDim = 0;
  int64_t valueDim = 0;
  DType dtype = DType::F32;

  /// Bytes of query, key and value, of all batches and heads.
  double inputBytes() const;
  /// Bytes of a score for each pair of positions, which a tiled kernel never stores.
  double scoreTableBytes() const;

  /// Elements that one head moves when its scores are stored, and when it works in tiles with a
  /// fast memory of `memory` elements.
  double tableAccesses() const;
  double tiledAccesses(double memory) const;
  /// Their ratio, and what it tends to for long sequences.
  double accessRatio(double memory) const { return tableAccesses() / tiledAccesses(memory); }
  double accessRatioLimit(double memory) const;

  enum class Range {
    Holds,
    /// M < d^2: not even d rows of width d fit, and tiling as modelled does not pay.
    MemoryTooSmall,
    /// M > T d: a whole operand fits, and the model counts less traffic than reading inputs takes.
    AllFits,
  };
  Range range(double memory) const;

private:
  double length() const { return (double(sizes.queryLength) + double(sizes.keyLength)) / 2; }
  double width() const { return (double(headDim) + double(valueDim)) / 2; }
};

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_ANALYSIS_IOMODEL_H
