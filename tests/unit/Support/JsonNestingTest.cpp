//===- JsonNestingTest.cpp - Tests of counting brackets -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Support/JsonNesting.h"

#include <gtest/gtest.h>

using namespace tilewright;

namespace {
TEST(JsonNestingTest, CountsBracketsOutsideOfStrings) {
  EXPECT_EQ(jsonNesting(""), 0u);
  EXPECT_EQ(jsonNesting("{}[]"), 1u);
  EXPECT_EQ(jsonNesting("{\"a\":[{}, []]}"), 3u);
  EXPECT_EQ(jsonNesting("[\"[[[\", \"\\\"[[\"]"), 1u);
  EXPECT_EQ(jsonNesting("]]]["), 1u);
  EXPECT_EQ(jsonNesting("\"\\"), 0u);
}
} // namespace
