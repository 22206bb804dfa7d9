//===- CacheSettingsTest.cpp - Tests of the cache's variables -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Cache/CacheSettings.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <map>
#include <optional>

using namespace tilewright;
using testing::HasSubstr;

namespace {
/// The variables have the values of one test, and afterwards those from before.
class CacheSettingsTest : public testing::Test {
protected:
  CacheSettingsTest() {
    for (const char *name :
         {"TILEWRIGHT_CACHE_DIR", "TILEWRIGHT_CACHE_SIZE", "XDG_CACHE_HOME", "HOME"}) {
      const char *value = std::getenv(name);
      before[name] = value ? std::optional<std::string>(value) : std::nullopt;
      unsetenv(name);
    }
    setenv("HOME", "/home/ada", 1);
  }
  ~CacheSettingsTest() override {
    for (const auto &[name, value] : before)
      value ? setenv(name.c_str(), value->c_str(), 1) : unsetenv(name.c_str());
  }

  static std::string folder() { return CacheSettings::fromEnvironment().value().folder; }

private:
  std::map<std::string, std::optional<std::string>> before;
};

TEST_F(CacheSettingsTest, KeepsHalfAGigabyteBelowHome) {
  EXPECT_EQ(folder(), "/home/ada/.cache/tilewright");
  EXPECT_EQ(CacheSettings::fromEnvironment()->maxBytes, 536870912u);
}

TEST_F(CacheSettingsTest, PrefersTheFolderOfAllCaches) {
  setenv("XDG_CACHE_HOME", "/scratch/ada", 1);
  EXPECT_EQ(folder(), "/scratch/ada/tilewright");
}

TEST_F(CacheSettingsTest, IgnoresAFolderOfAllCachesThatIsNoAbsolutePath) {
  for (const char *value : {"", "caches"}) {
    setenv("XDG_CACHE_HOME", value, 1);
    EXPECT_EQ(folder(), "/home/ada/.cache/tilewright") << value;
  }
}

TEST_F(CacheSettingsTest, PrefersItsOwnVariable) {
  setenv("XDG_CACHE_HOME", "/scratch/ada", 1);
  setenv("TILEWRIGHT_CACHE_DIR", "/kernels", 1);
  EXPECT_EQ(folder(), "/kernels");
}

TEST_F(CacheSettingsTest, IsTurnedOffByAnEmptyVariable) {
  setenv("TILEWRIGHT_CACHE_DIR", "", 1);
  EXPECT_EQ(folder(), "");
}

TEST_F(CacheSettingsTest, ReadsSizes) {
  const std::map<std::string, uint64_t> sizes = {
      {"0", 0}, {"1000", 1000}, {"3K", 3072}, {"64M", 67108864}, {"2G", 2147483648}};
  for (const auto &[text, bytes] : sizes) {
    setenv("TILEWRIGHT_CACHE_SIZE", text.c_str(), 1);
    EXPECT_EQ(CacheSettings::fromEnvironment()->maxBytes, bytes) << text;
  }
}

TEST_F(CacheSettingsTest, RefusesOtherSizes) {
  for (const char *text :
       {"", "M", "-1", "1.5G", "10MB", "10 M", "1T", "17179869184G", "18446744073709551616"}) {
    setenv("TILEWRIGHT_CACHE_SIZE", text, 1);
    const Result<CacheSettings> settings = CacheSettings::fromEnvironment();
    ASSERT_FALSE(settings) << text;
    EXPECT_THAT(settings.error().message(),
                HasSubstr("TILEWRIGHT_CACHE_SIZE is '" + std::string(text) + "'"));
  }
}
} // namespace
