//===- CacheSizes.cpp - The fast memories of a processor ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/CPU/CacheSizes.h"

#include <fmt/format.h>

#include <fstream>
#include <string>

using namespace tilewright;

/// The first word of a file of sysfs; empty if there is none.
static std::string readWord(const std::string &path) {
  std::string word;
  std::ifstream(path) >> word;
  return word;
}

CacheSizes CacheSizes::ofThisMachine() {
  int64_t sizes[3] = {};
  for (int index = 0; index < 8; ++index) {
    const std::string folder = fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/", index);
    const std::string level = readWord(folder + "level");
    const std::string size = readWord(folder + "size"); // "48K"
    if ((level != "1" && level != "2") || readWord(folder + "type") == "Instruction" ||
        size.size() < 2 || size.size() > 8 || size.back() != 'K' ||
        size.find_first_not_of("0123456789") != size.size() - 1)
      continue;
    sizes[level[0] - '0'] = std::stoll(size) << 10;
  }
  if (sizes[1] == 0 || sizes[2] == 0)
    return {};
  return {.level1 = sizes[1], .level2 = sizes[2], .measured = true};
}
