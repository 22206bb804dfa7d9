//===- CacheKey.cpp - What an image is found by ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Cache/CacheKey.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"

using namespace tilewright;

std::string CacheKey::digest() const {
  llvm::SHA256 hash;
  for (const std::string *field :
       {&compiler, &stage, &problem, &schedule, &target, &assembler, &flags}) {
    hash.update(std::to_string(field->size()) + ":");
    hash.update(*field);
  }
  return llvm::toHex(hash.final(), /*LowerCase=*/true);
}
