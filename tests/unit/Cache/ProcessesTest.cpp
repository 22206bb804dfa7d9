//===- ProcessesTest.cpp - Tests of processes that share a cache ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/unit/Cache/Testing.h"

#include <gmock/gmock.h>

#include <csignal>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>

using namespace tilewright;
using namespace tilewright::cache;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

namespace {
/// What one process tells another.
class Signal {
public:
  Signal() { EXPECT_EQ(pipe(ends), 0); }
  ~Signal() {
    close(ends[0]);
    close(ends[1]);
  }
  Signal(const Signal &) = delete;

  void send() const { EXPECT_EQ(write(ends[1], "x", 1), 1); }
  void await() const {
    char byte;
    EXPECT_EQ(read(ends[0], &byte, 1), 1);
  }

private:
  int ends[2];
};

/// A process that has begun to compile `problem` and goes on when it is told to.
class SlowCompiler {
public:
  SlowCompiler(const CacheSettings &settings, const std::string &problem) {
    process = start([&] {
      const auto make = [&]() -> Result<KernelImage> {
        begun.send();
        mayFinish.await();
        return imageOf(problem);
      };
      const auto image = DiskCache(settings).getOrMake(keyOf(problem), make, [](std::string) {});
      return encode(*image) == encode(imageOf(problem)) ? 0 : 1;
    });
    begun.await();
  }

  int finish() const {
    mayFinish.send();
    return wait(process);
  }
  void killNow() const {
    kill(process, SIGKILL);
    EXPECT_EQ(WTERMSIG(wait(process)), SIGKILL);
  }

private:
  Signal begun, mayFinish;
  pid_t process;
};

TEST(CacheProcessesTest, EightProcessesCompileOnce) {
  const Fixture cache;
  const Signal go;
  std::vector<pid_t> processes;
  for (int i = 0; i < 8; ++i)
    processes.push_back(start([&] {
      go.await();
      const auto make = [&]() -> Result<KernelImage> {
        std::ofstream(cache.folder / "compiles", std::ios::app) << 'x';
        usleep(20000);
        return imageOf("a");
      };
      const auto image = DiskCache(cache.settings).getOrMake(keyOf("a"), make, [](std::string) {});
      return encode(*image) == encode(imageOf("a")) ? 0 : 1;
    }));
  for (size_t i = 0; i < processes.size(); ++i)
    go.send();
  for (pid_t process : processes)
    EXPECT_EQ(wait(process), 0);
  EXPECT_EQ(cache.folder.contents("compiles"), "x");
  EXPECT_THAT(cache.files(), ElementsAre(keyOf("a").digest() + ".twk"));
}

TEST(CacheProcessesTest, StartsCleanAfterACompilerWasKilled) {
  Fixture cache;
  SlowCompiler(cache.settings, "a").killNow();
  EXPECT_THAT(cache.files(), ElementsAre(keyOf("a").digest() + ".partial"));
  cache.folder.write(cache.partial("a"), std::string(100000, 'x'));
  cache.settings.patience = {}; // there is nothing to wait for
  EXPECT_EQ(cache.get("a"), encode(imageOf("a")));
  EXPECT_EQ(cache.made, 1);
  EXPECT_THAT(cache.files(), ElementsAre(keyOf("a").digest() + ".twk"));
  EXPECT_EQ(cache.folder.contents(cache.entry("a")), encode(imageOf("a")));
  EXPECT_THAT(cache.reports, IsEmpty());
}

TEST(CacheProcessesTest, StartsCleanAfterAWriterWasKilled) {
  Fixture cache;
  constexpr rlim_t writtenBytes = 100;
  const pid_t writer = start([&] {
    // The system kills who writes beyond the limit, in the middle of the write.
    const rlimit none{.rlim_cur = 0, .rlim_max = 0};
    const rlimit some{.rlim_cur = writtenBytes, .rlim_max = writtenBytes};
    setrlimit(RLIMIT_CORE, &none);
    setrlimit(RLIMIT_FSIZE, &some);
    cache.get("a");
    return 0;
  });
  EXPECT_EQ(WTERMSIG(wait(writer)), SIGXFSZ);
  EXPECT_EQ(cache.folder.contents(cache.partial("a")).size(), writtenBytes);
  EXPECT_EQ(cache.get("a"), encode(imageOf("a")));
  EXPECT_EQ(cache.made, 1);
  EXPECT_THAT(cache.files(), ElementsAre(keyOf("a").digest() + ".twk"));
  EXPECT_EQ(cache.folder.contents(cache.entry("a")), encode(imageOf("a")));
}

TEST(CacheProcessesTest, WhoWaitsForAKilledCompilerTakesOver) {
  const Fixture cache;
  const SlowCompiler first(cache.settings, "a");
  const pid_t second = start([&] {
    Fixture &same = const_cast<Fixture &>(cache);
    return same.get("a") == encode(imageOf("a")) && same.made == 1 ? 0 : 1;
  });
  first.killNow();
  EXPECT_EQ(wait(second), 0);
  EXPECT_THAT(cache.files(), ElementsAre(keyOf("a").digest() + ".twk"));
}

TEST(CacheProcessesTest, RemovesWhatKilledCompilersLeftAndNotWhatOthersMake) {
  Fixture cache;
  SlowCompiler(cache.settings, "killed").killNow();
  const SlowCompiler alive(cache.settings, "alive");
  cache.get("a");
  EXPECT_THAT(cache.files(), UnorderedElementsAre(keyOf("a").digest() + ".twk",
                                                  keyOf("alive").digest() + ".partial"));
  EXPECT_EQ(alive.finish(), 0);
  EXPECT_THAT(cache.files(),
              UnorderedElementsAre(keyOf("a").digest() + ".twk", keyOf("alive").digest() + ".twk"));
}

TEST(CacheProcessesTest, CompilesItselfWhenItHasWaitedLongEnough) {
  Fixture cache;
  cache.settings.patience = {};
  const SlowCompiler other(cache.settings, "a");
  EXPECT_EQ(cache.get("a"), encode(imageOf("a")));
  EXPECT_EQ(cache.made, 1);
  EXPECT_THAT(cache.reports, ElementsAre(HasSubstr("is made elsewhere for more than 0 ms")));
  EXPECT_EQ(other.finish(), 0);
}

/// Runs `body` with the cache on a file system of its own with `bytes` of space.
template <typename Body>
void onSmallFileSystem(const Fixture &cache, const char *options, const Body &body) {
  constexpr int notAllowed = 77;
  std::filesystem::create_directory(cache.settings.folder);
  const int status = wait(start([&] {
    if (unshare(CLONE_NEWNS) != 0 ||
        mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("none", cache.settings.folder.c_str(), "tmpfs", 0, options) != 0)
      return notAllowed;
    body();
    return testing::Test::HasFailure() ? 1 : 0;
  }));
  if (WEXITSTATUS(status) == notAllowed)
    GTEST_SKIP() << "only root can mount file systems";
  EXPECT_EQ(status, 0);
}

TEST(CacheProcessesTest, LeavesNothingWhereItCannotWriteAndSaysSoOnce) {
  Fixture cache;
  EXPECT_EQ(wait(start([&] {
              signal(SIGXFSZ, SIG_IGN);
              const rlimit limit{.rlim_cur = 100, .rlim_max = 100};
              setrlimit(RLIMIT_FSIZE, &limit);
              for (const char *problem : {"a", "b", "a"})
                EXPECT_EQ(cache.get(problem), encode(imageOf(problem)));
              EXPECT_EQ(cache.made, 3);
              EXPECT_THAT(cache.reports, ElementsAre(HasSubstr("kernels are not kept: cannot write "
                                                               "a file: File too large")));
              EXPECT_THAT(cache.files(), IsEmpty());
              return testing::Test::HasFailure() ? 1 : 0;
            })),
            0);
}

TEST(CacheProcessesTest, WorksOnAFullFileSystemAndSaysSoOnce) {
  Fixture cache;
  onSmallFileSystem(cache, "mode=700,size=16k", [&] {
    cache.get("a");
    std::ofstream(cache.settings.folder + "/filler") << std::string(20000, 'x') << std::flush;
    for (const char *problem : {"b", "c", "b", "a"})
      EXPECT_EQ(cache.get(problem), encode(imageOf(problem)));
    EXPECT_EQ(cache.made, 4);
    EXPECT_THAT(cache.reports, ElementsAre(HasSubstr("kernels are not kept: cannot write a file: "
                                                     "No space left on device")));
    EXPECT_THAT(cache.files(), ElementsAre(keyOf("a").digest() + ".twk", "filler"));
  });
}

TEST(CacheProcessesTest, ReadsFromAReadOnlyFileSystemAndSaysOnceThatItKeepsNothing) {
  Fixture cache;
  onSmallFileSystem(cache, "mode=700,size=16k", [&] {
    cache.get("a");
    ASSERT_EQ(
        mount("none", cache.settings.folder.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr), 0);
    for (const char *problem : {"a", "b", "c", "b"})
      EXPECT_EQ(cache.get(problem), encode(imageOf(problem)));
    EXPECT_EQ(cache.made, 4);
    EXPECT_THAT(cache.reports, ElementsAre(HasSubstr("kernels are not kept: cannot create a file: "
                                                     "Read-only file system")));
  });
}

TEST(CacheProcessesTest, WorksWhereItsFolderCannotBeCreatedAndSaysSoOnce) {
  Fixture cache;
  onSmallFileSystem(cache, "mode=700,ro", [&] {
    cache.settings.folder += "/deeper/cache";
    for (const char *problem : {"a", "a"})
      EXPECT_EQ(cache.get(problem), encode(imageOf(problem)));
    EXPECT_EQ(cache.made, 2);
    EXPECT_THAT(cache.reports, ElementsAre(HasSubstr("kernels are compiled without the cache: "
                                                     "cannot create ")));
  });
}
} // namespace
