//===- DiskCacheTest.cpp - Tests of images found again --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Support/MakeError.h"
#include "tests/unit/Cache/Testing.h"

#include <gmock/gmock.h>

#include <atomic>
#include <fcntl.h>
#include <latch>
#include <sys/stat.h>
#include <thread>

using namespace tilewright;
using namespace tilewright::cache;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {
void setLastUse(const Fixture &cache, const std::string &problem, time_t second) {
  const timespec times[2] = {{.tv_sec = second, .tv_nsec = 0}, {.tv_sec = second, .tv_nsec = 0}};
  const std::string path = cache.folder / cache.entry(problem);
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

bool has(const Fixture &cache, const std::string &problem) {
  return std::filesystem::exists(cache.folder / cache.entry(problem));
}

TEST(DiskCacheTest, HitAndMissGiveTheSameBits) {
  Fixture cache;
  const std::string miss = cache.get("a");
  const std::string hit = cache.get("a");
  EXPECT_EQ(miss, encode(imageOf("a")));
  EXPECT_EQ(hit, miss);
  EXPECT_EQ(cache.made, 1);
  EXPECT_EQ(cache.folder.contents(cache.entry("a")), miss);
  EXPECT_THAT(cache.files(), ElementsAre(keyOf("a").digest() + ".twk"));
  EXPECT_THAT(cache.reports, IsEmpty());
}

TEST(DiskCacheTest, OtherKeysHaveOtherImages) {
  Fixture cache;
  for (int round = 0; round < 2; ++round)
    for (const char *problem : {"a", "b", "c"})
      EXPECT_EQ(cache.get(problem), encode(imageOf(problem)));
  EXPECT_EQ(cache.made, 3);
}

TEST(DiskCacheTest, OneCompileServesFiftyLengths) {
  Fixture cache;
  for (int64_t length = 1; length <= 50 * 97; length += 97) {
    const std::string bytes = cache.get("a");
    const Result<KernelImage> image = decodeImage(std::as_bytes(std::span(bytes)));
    ASSERT_TRUE(image) << image.error().message();
    const int64_t extents[] = {1, 8, length, 64};
    const std::vector<std::span<const int64_t>> arguments(image->arguments.size(), extents);
    EXPECT_EQ(evaluate(image->launches[0].grid[2], arguments).value(), (length + 127) / 128);
  }
  EXPECT_EQ(cache.made, 1);
}

TEST(DiskCacheTest, MakesAndWritesAgainWhatIsDamaged) {
  const std::string whole = encode(imageOf("a"));
  std::vector<std::string> damaged = {"", "no image", whole + "x", whole.substr(0, 19),
                                      whole.substr(0, whole.size() - 1)};
  for (size_t at = 0; at < whole.size(); at += 61) {
    damaged.push_back(whole);
    damaged.back()[at] ^= 0x10;
  }
  for (size_t i = 0; i < damaged.size(); ++i) {
    Fixture cache;
    cache.get("a");
    cache.folder.write(cache.entry("a"), damaged[i]);
    EXPECT_EQ(cache.get("a"), whole);
    EXPECT_EQ(cache.made, 2) << "damage " << i;
    EXPECT_EQ(cache.folder.contents(cache.entry("a")), whole);
    EXPECT_THAT(cache.reports,
                ElementsAre(AllOf(HasSubstr("is made again"), HasSubstr("kernel image: "))));
    cache.get("a");
    EXPECT_EQ(cache.made, 2);
  }
}

TEST(DiskCacheTest, DoesNotTrustAFileThatOthersCouldHaveWritten) {
  Fixture cache;
  cache.get("a");
  const std::string path = cache.folder / cache.entry("a");
  ASSERT_EQ(chmod(path.c_str(), 0622), 0);
  cache.get("a");
  EXPECT_EQ(cache.made, 2);
  EXPECT_THAT(cache.reports, ElementsAre(HasSubstr("others could have written it")));
  struct stat facts;
  ASSERT_EQ(stat(path.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, 0600u);
}

TEST(DiskCacheTest, FollowsNoLinkInTheFolder) {
  Fixture cache;
  cache.get("a");
  const std::string path = cache.folder / cache.entry("a");
  std::filesystem::rename(path, cache.folder / "elsewhere");
  ASSERT_EQ(symlink((cache.folder / "elsewhere").c_str(), path.c_str()), 0);
  ASSERT_EQ(symlink((cache.folder / "victim").c_str(), (cache.folder / cache.partial("b")).c_str()),
            0);
  cache.get("a");
  EXPECT_EQ(cache.made, 2);
  EXPECT_TRUE(std::filesystem::is_regular_file(std::filesystem::symlink_status(path)));
  EXPECT_EQ(cache.get("b"), encode(imageOf("b")));
  EXPECT_FALSE(std::filesystem::exists(cache.folder / "victim"));
}

TEST(DiskCacheTest, KeepsNothingOfACompilationThatFails) {
  Fixture cache;
  for (int round = 0; round < 2; ++round) {
    const Result<KernelImage> image = DiskCache(cache.settings)
                                          .getOrMake(
                                              keyOf("a"),
                                              [&]() -> Result<KernelImage> {
                                                ++cache.made;
                                                return unsupported("too wide");
                                              },
                                              [](std::string) { FAIL(); });
    ASSERT_FALSE(image);
    EXPECT_EQ(image.error().message(), "too wide");
    EXPECT_THAT(cache.files(), IsEmpty());
  }
  EXPECT_EQ(cache.made, 2);
}

TEST(DiskCacheTest, RemovesTheImageNotUsedForLongest) {
  Fixture cache;
  for (const char *problem : {"a", "b", "c"})
    cache.get(problem);
  cache.settings.maxBytes = 3 * encode(imageOf("a")).size();
  setLastUse(cache, "a", 1000);
  setLastUse(cache, "b", 1001);
  setLastUse(cache, "c", 1002);
  cache.get("a"); // a hit counts as a use
  cache.get("d");
  EXPECT_TRUE(has(cache, "a"));
  EXPECT_FALSE(has(cache, "b"));
  EXPECT_TRUE(has(cache, "c"));
  EXPECT_TRUE(has(cache, "d"));
  cache.settings.maxBytes -= 1;
  cache.get("e");
  EXPECT_TRUE(has(cache, "e"));
  EXPECT_EQ(cache.files().size(), 2u);
}

TEST(DiskCacheTest, KeepsNoImageThatIsLargerThanAllMayBe) {
  Fixture cache;
  cache.get("a");
  cache.settings.maxBytes = encode(imageOf("a")).size() - 1;
  EXPECT_EQ(cache.get("b"), encode(imageOf("b")));
  EXPECT_THAT(cache.files(), IsEmpty());
  EXPECT_THAT(cache.reports, ElementsAre(HasSubstr("bytes is not kept")));
  cache.folder.write(cache.entry("a"), encode(imageOf("a")));
  cache.get("a");
  EXPECT_EQ(cache.made, 3);
}

TEST(DiskCacheTest, LeavesFilesWithOtherNamesAlone) {
  Fixture cache;
  cache.get("a");
  const std::string digest = keyOf("a").digest();
  const std::vector<std::string> names = {
      "notes.twk",         "x.partial",           digest,
      digest + ".twk.bak", "0" + digest + ".twk", "0" + digest + ".partial"};
  for (const std::string &name : names)
    cache.folder.write("cache/" + name, std::string(100000, 'x'));
  cache.settings.maxBytes = encode(imageOf("a")).size();
  cache.get("b");
  EXPECT_FALSE(has(cache, "a"));
  for (const std::string &name : names)
    EXPECT_EQ(cache.folder.contents("cache/" + name).size(), 100000u) << name;
}

TEST(DiskCacheTest, WorksWithoutAFolder) {
  Fixture cache;
  cache.settings.folder.clear();
  for (int round = 1; round <= 2; ++round) {
    EXPECT_EQ(cache.get("a"), encode(imageOf("a")));
    EXPECT_EQ(cache.made, round);
  }
  EXPECT_THAT(cache.reports, IsEmpty());
}

TEST(DiskCacheTest, WorksWithoutAFolderThatIsRefusedAndSaysSoOnce) {
  Fixture cache;
  std::filesystem::create_directory(cache.settings.folder);
  ASSERT_EQ(chmod(cache.settings.folder.c_str(), 0777), 0);
  for (const char *problem : {"a", "a", "b"})
    EXPECT_EQ(cache.get(problem), encode(imageOf(problem)));
  EXPECT_EQ(cache.made, 3);
  EXPECT_THAT(cache.files(), IsEmpty());
  EXPECT_THAT(cache.reports,
              ElementsAre(AllOf(HasSubstr("kernels are compiled without the cache: "),
                                HasSubstr("/cache is writable by others"))));
}

TEST(DiskCacheTest, WorksWithoutSettingsAndSaysSoOnce) {
  const DiskCache cache(invalidArgument("the size of DiskCacheTest is wrong"));
  std::vector<std::string> reports;
  for (int round = 0; round < 2; ++round)
    EXPECT_TRUE(cache.getOrMake(
        keyOf("a"), [] { return Result<KernelImage>(imageOf("a")); },
        [&](std::string message) { reports.push_back(std::move(message)); }));
  EXPECT_THAT(reports, ElementsAre("kernels are compiled without the cache: the size of "
                                   "DiskCacheTest is wrong"));
}

TEST(DiskCacheTest, SixteenThreadsCompileOnce) {
  const Fixture fixture;
  constexpr int numThreads = 16;
  std::latch allAreThere(numThreads);
  std::atomic<int> made = 0, reports = 0;
  std::vector<std::string> images(numThreads);
  std::vector<std::thread> threads;
  for (std::string &image : images)
    threads.emplace_back([&] {
      const DiskCache cache(fixture.settings);
      allAreThere.arrive_and_wait();
      image = encode(cache
                         .getOrMake(
                             keyOf("a"),
                             [&]() -> Result<KernelImage> {
                               ++made;
                               std::this_thread::sleep_for(std::chrono::milliseconds(20));
                               return imageOf("a");
                             },
                             [&](std::string) { ++reports; })
                         .value());
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(made, 1);
  EXPECT_EQ(reports, 0);
  for (const std::string &image : images)
    EXPECT_EQ(image, encode(imageOf("a")));
  EXPECT_THAT(fixture.files(), ElementsAre(keyOf("a").digest() + ".twk"));
}

// A compilation that takes no time is over between another thread's look and its lock.
TEST(DiskCacheTest, ThreadsThatMeetOnManyKeysCompileEachOnce) {
  const Fixture fixture;
  constexpr int numThreads = 8, numKeys = 100;
  std::atomic<int> made = 0, wrong = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < numThreads; ++i)
    threads.emplace_back([&] {
      const DiskCache cache(fixture.settings);
      for (int number = 0; number < numKeys; ++number) {
        const std::string problem = std::to_string(number);
        const auto make = [&]() -> Result<KernelImage> {
          ++made;
          return imageOf(problem);
        };
        const auto image = cache.getOrMake(keyOf(problem), make, [&](std::string) { ++wrong; });
        wrong += encode(*image) != encode(imageOf(problem));
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(made, numKeys);
  EXPECT_EQ(wrong, 0);
}
} // namespace
