//===- Testing.h - What tests of the cache share ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_TESTS_UNIT_CACHE_TESTING_H
#define TILEWRIGHT_TESTS_UNIT_CACHE_TESTING_H

#include "compiler/Cache/DiskCache.h"
#include "tests/unit/Image/Testing.h"
#include "tests/unit/TensorFile/TemporaryFolder.h"

#include <sys/wait.h>
#include <unistd.h>

namespace tilewright::cache {

inline CacheKey keyOf(std::string problem) {
  return {.compiler = "0123abcd",
          .stage = "attn",
          .problem = std::move(problem),
          .schedule = "block_q=128,block_kv=128,stages=2",
          .target = "sm_90a",
          .assembler = "ptxas 13.0",
          .flags = "-O3"};
}

/// Stands for the image that `problem` compiles to.
inline KernelImage imageOf(const std::string &problem) {
  KernelImage image = smallImage();
  image.source = problem;
  return image;
}

/// A cache in a folder of its own, a compiler that counts, and what was reported.
class Fixture {
public:
  explicit Fixture(std::string name = "cache") : name(std::move(name)) {
    settings.folder = folder / this->name;
  }

  /// The bytes of the image for `problem`.
  std::string get(const std::string &problem) {
    const Result<KernelImage> image = DiskCache(settings).getOrMake(
        keyOf(problem),
        [&]() -> Result<KernelImage> {
          ++made;
          return imageOf(problem);
        },
        [&](std::string message) { reports.push_back(std::move(message)); });
    EXPECT_TRUE(image) << image.error().message();
    return image ? encode(*image) : std::string();
  }

  std::string entry(const std::string &problem) const {
    return name + "/" + keyOf(problem).digest() + ".twk";
  }
  std::string partial(const std::string &problem) const {
    return name + "/" + keyOf(problem).digest() + ".partial";
  }

  /// The names of all files in the cache, sorted.
  std::vector<std::string> files() const {
    std::vector<std::string> result;
    for (const auto &item : std::filesystem::directory_iterator(settings.folder))
      result.push_back(item.path().filename().string());
    std::ranges::sort(result);
    return result;
  }

  TemporaryFolder folder;
  std::string name;
  CacheSettings settings;
  int made = 0;
  std::vector<std::string> reports;
};

/// Runs `body` in a process of its own, which exits with the number that it returns.
template <typename Body> pid_t start(const Body &body) {
  const pid_t child = fork();
  if (child == 0)
    _exit(body());
  return child;
}

/// How a process ended, as waitpid() tells.
inline int wait(pid_t child) {
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

} // namespace tilewright::cache

#endif // TILEWRIGHT_TESTS_UNIT_CACHE_TESTING_H
