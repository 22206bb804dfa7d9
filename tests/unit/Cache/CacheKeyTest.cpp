//===- CacheKeyTest.cpp - Tests of what an image is found by --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Cache/CacheKey.h"
#include "tests/unit/Cache/Testing.h"

#include <set>

using namespace tilewright;
using namespace tilewright::cache;

namespace {
// By Python: sha256(b"".join(b"%d:%s" % (len(f), f) for f in fields)).
TEST(CacheKeyTest, IsSha256OfTheFieldsWithTheirLengths) {
  EXPECT_EQ(keyOf("module {}").digest(),
            "b9270828aa269df7a6a97c9dd3ff3d5484583997ee26826a1742c602ff3ce05a");
}

TEST(CacheKeyTest, ChangesWithEveryField) {
  using Field = std::string CacheKey::*;
  std::set<std::string> digests = {keyOf("module {}").digest()};
  for (Field field :
       {&CacheKey::compiler, &CacheKey::stage, &CacheKey::problem, &CacheKey::schedule,
        &CacheKey::target, &CacheKey::assembler, &CacheKey::flags}) {
    CacheKey other = keyOf("module {}");
    other.*field += '5';
    digests.insert(other.digest());
  }
  EXPECT_EQ(digests.size(), 8u);
}

TEST(CacheKeyTest, TellsFieldsApart) {
  CacheKey a, b, c;
  a.stage = "attn";
  a.problem = "4:tile";
  b.stage = "attn6";
  b.problem = ":tile";
  c.problem = "attn4:tile";
  EXPECT_NE(a.digest(), b.digest());
  EXPECT_NE(a.digest(), c.digest());
}
} // namespace
