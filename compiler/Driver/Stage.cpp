//===- Stage.cpp - The names of the stages --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include <tilewright/compiler.h>

#include <algorithm>
#include <array>

using namespace tilewright;

static constexpr std::array<std::string_view, 12> names = {
    "attn", "tile", "vector", "sm", "nvvm", "llvm", "asm", "obj", "header", "ptx", "cubin", "sass"};

std::string_view tilewright::nameOf(Stage stage) {
  return names[static_cast<size_t>(stage)];
}

std::optional<Stage> tilewright::parseStage(std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end())
    return std::nullopt;
  return static_cast<Stage>(found - names.begin());
}
