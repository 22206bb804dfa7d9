//===- BlockPicture.h - A block map as text ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_BLOCKPICTURE_H
#define TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_BLOCKPICTURE_H

#include "compiler/Explain/BlockMap.h"

namespace tilewright::tool {

struct BlockPicture {
  /// Blocks that a character stands for.
  int64_t queryBlocks = 1;
  int64_t keyBlocks = 1;
  /// An indented line for each block of queries and in it a character for each block of keys: '#'
  /// full, '+' partial, '.' skipped. Where a character stands for blocks that differ, it is '+'.
  std::string text;
};

/// Draws at most `limit` characters each way.
BlockPicture drawBlocks(const BlockMap &map, int64_t limit);

} // namespace tilewright::tool

#endif // TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_BLOCKPICTURE_H
