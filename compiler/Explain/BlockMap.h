//===- BlockMap.h - Which blocks a kernel visits ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_EXPLAIN_BLOCKMAP_H
#define TILEWRIGHT_COMPILER_EXPLAIN_BLOCKMAP_H

#include <tilewright/result.h>
#include <tilewright/runtime.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

/// The key blocks of one block of queries, as numbers of blocks: [begin, fullBegin) and [fullEnd,
/// end) are partial, [fullBegin, fullEnd) is full, all others are skipped.
struct BlockRow {
  int64_t begin = 0;
  int64_t fullBegin = 0;
  int64_t fullEnd = 0;
  int64_t end = 0;
};

/// Each row is folded by itself, so that more would take minutes.
inline constexpr int64_t maxBlockRows = int64_t{1} << 17;

/// The blocks of the first batch and head.
struct BlockMap {
  int64_t blockQ = 0;
  int64_t blockKV = 0;
  int64_t keyBlocks = 0;
  std::vector<BlockRow> rows; // one for each block of queries

  int64_t full() const;
  int64_t partial() const;
  int64_t skipped() const;
};

/// Folds the block ranges of a tile program, the very code that its kernel runs, for the extents
/// and scalars of a launch. `tileText` is the stage `tile` of a compilation; it must hold one
/// program with one tile.block_ranges. Refused: a program whose ranges depend on more than that.
Result<BlockMap> computeBlockMap(std::string_view tileText, const ProblemSizes &sizes,
                                 const std::map<std::string, double, std::less<>> &scalars);

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_EXPLAIN_BLOCKMAP_H
