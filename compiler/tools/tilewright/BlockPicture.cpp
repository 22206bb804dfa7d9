//===- BlockPicture.cpp - A block map as text -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/tilewright/BlockPicture.h"

#include <algorithm>

using namespace tilewright;

/// The class of the blocks [first, last) of one row.
static char classOf(const BlockRow &row, int64_t first, int64_t last) {
  if (row.begin >= row.end || last <= row.begin || first >= row.end)
    return '.';
  return first >= row.fullBegin && last <= row.fullEnd ? '#' : '+';
}

tool::BlockPicture tool::drawBlocks(const BlockMap &map, int64_t limit) {
  const int64_t rows = static_cast<int64_t>(map.rows.size());
  const auto blocksPerCharacter = [limit](int64_t blocks) {
    return std::max<int64_t>(1, (blocks + limit - 1) / limit);
  };
  BlockPicture picture = {blocksPerCharacter(rows), blocksPerCharacter(map.keyBlocks), ""};
  for (int64_t top = 0; top < rows; top += picture.queryBlocks) {
    const int64_t bottom = std::min(top + picture.queryBlocks, rows);
    picture.text += "  ";
    for (int64_t left = 0; left < map.keyBlocks; left += picture.keyBlocks) {
      const int64_t right = std::min(left + picture.keyBlocks, map.keyBlocks);
      char shown = classOf(map.rows[top], left, right);
      for (int64_t row = top + 1; row < bottom && shown != '+'; ++row)
        if (classOf(map.rows[row], left, right) != shown)
          shown = '+';
      picture.text += shown;
    }
    picture.text += '\n';
  }
  return picture;
}
