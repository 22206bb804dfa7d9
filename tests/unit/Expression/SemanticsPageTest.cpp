//===- SemanticsPageTest.cpp - docs/semantics.md says what is true --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Expression/Presets.h"
#include "tests/unit/SourceFile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>

using namespace tilewright::expression;

static std::string page() {
  std::ifstream file(tilewright::test::sourceFile("docs/semantics.md"));
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_FALSE(text.str().empty());
  return text.str();
}

TEST(SemanticsPage, NamesTestsThatExist) {
  std::set<std::string> tests;
  const testing::UnitTest &all = *testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const testing::TestSuite &suite = *all.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j)
      tests.insert(std::string(suite.name()) + "." + suite.GetTestInfo(j)->name());
  }
  const std::string text = page();
  const std::regex name("`([A-Z][A-Za-z]+\\.[A-Z][A-Za-z0-9]+)`");
  int count = 0;
  for (std::sregex_iterator match(text.begin(), text.end(), name), end; match != end; ++match) {
    const std::string test = (*match)[1];
    if (test == "Suite.Test")
      continue;
    EXPECT_TRUE(tests.contains(test)) << test;
    ++count;
  }
  EXPECT_GT(count, 40);
}

TEST(SemanticsPage, ListsEveryPreset) {
  const std::string text = page();
  for (const Preset &preset : presets()) {
    // In a table of Markdown a vertical bar is escaped.
    const std::string expression =
        std::regex_replace(std::string(preset.text), std::regex("\\|"), "\\|");
    EXPECT_THAT(text, testing::HasSubstr("| `" + std::string(preset.name) + "` | " +
                                         (preset.role == Role::Mask ? "mask" : "score") + " | `" +
                                         expression + "` |"));
  }
}
