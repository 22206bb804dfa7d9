//===- CachedImageTest.cpp - Compilations whose image is on disk ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Driver/CompilationAccess.h"
#include "tests/unit/TensorFile/TemporaryFolder.h"

#include <gmock/gmock.h>

#include <thread>

using namespace tilewright;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {
Problem causal(std::string mask = "k <= q") {
  Problem problem;
  problem.dtype = DType::BF16;
  problem.masks = {std::move(mask)};
  return problem;
}

/// Compilations go through a cache of their own and a stand-in for ptxas that counts.
class CachedImageTest : public testing::Test {
protected:
  CachedImageTest() {
    options.target = "sm_90a";
    options.ptxas = writeAssembler("ptxas");
    setenv("TILEWRIGHT_CACHE_DIR", (folder / "cache").c_str(), 1);
  }
  ~CachedImageTest() override { setenv("TILEWRIGHT_CACHE_DIR", "", 1); }

  std::string writeAssembler(const std::string &name) const {
    folder.write(name, R"(#!/bin/sh
if [ "$1" = --version ]; then echo 'release 13.0, V13.0.88'; exit; fi
echo x >> )" + folder / "count" +
                           R"(
while [ "$1" != -o ]; do shift; done
echo code > "$2"
echo "ptxas info    : Used 100 registers"
)");
    std::filesystem::permissions(folder / name, std::filesystem::perms::owner_all);
    return folder / name;
  }

  static std::string imageOf(const Result<Compilation> &compilation) {
    EXPECT_TRUE(compilation) << compilation.error().message();
    const Result<std::string> bytes = compilation->image();
    EXPECT_TRUE(bytes) << bytes.error().message();
    return bytes ? *bytes : std::string();
  }
  std::string imageOf(const Problem &problem) const { return imageOf(compile(problem, options)); }

  size_t compiled() const { return folder.contents("count").size() / 2; }

  TemporaryFolder folder;
  CompileOptions options;
};

TEST_F(CachedImageTest, HitAndMissGiveTheBitsOfACompilationWithoutCache) {
  const std::string miss = imageOf(causal()), hit = imageOf(causal());
  EXPECT_EQ(compiled(), 1u);
  setenv("TILEWRIGHT_CACHE_DIR", "", 1);
  const std::string off = imageOf(causal());
  EXPECT_EQ(compiled(), 2u);
  EXPECT_EQ(miss, off);
  EXPECT_EQ(hit, off);
}

TEST_F(CachedImageTest, OneCompileServesFiftyLengths) {
  for (int64_t length = 1; length <= 50 * 89; length += 89) {
    const std::string bytes = imageOf(causal());
    const Result<KernelImage> image = decodeImage(std::as_bytes(std::span(bytes)));
    ASSERT_TRUE(image) << image.error().message();
    const int64_t extents[] = {2, 8, length, 64};
    const std::vector<std::span<const int64_t>> arguments(image->arguments.size(), extents);
    int64_t blocks = 1;
    for (const SizeFormula &formula : image->launches[0].grid)
      blocks *= evaluate(formula, arguments).value();
    EXPECT_EQ(blocks, 2 * 8 * ((length + 127) / 128));
  }
  EXPECT_EQ(compiled(), 1u);
}

TEST_F(CachedImageTest, AnotherSpellingIsTheSameKernelAndKeepsItsOwnText) {
  imageOf(causal("k <= q"));
  const std::string bytes = imageOf(causal("k<=q"));
  EXPECT_EQ(compiled(), 1u);
  const Result<KernelImage> image = decodeImage(std::as_bytes(std::span(bytes)));
  ASSERT_TRUE(image) << image.error().message();
  EXPECT_EQ(image->expressions.masks.at(0).text(), "k<=q");
}

TEST_F(CachedImageTest, CommentsAndNamesInAFileDoNotMatter) {
  const Result<Compilation> problem = compile(causal(), options);
  std::string text = "// The problem of this test\n" + *problem->text(Stage::Attn);
  for (size_t at = 0; (at = text.find("%query", at)) != std::string::npos;)
    text.replace(at, 6, "%QUERY");
  ASSERT_THAT(text, HasSubstr("%QUERY"));
  imageOf(problem);
  const std::string bytes = imageOf(compileText(text, Stage::Attn, options));
  EXPECT_EQ(compiled(), 1u);
  EXPECT_THAT(bytes, HasSubstr("// The problem of this test\n"));
}

TEST_F(CachedImageTest, OtherProblemsSchedulesAndAssemblersAreCompiled) {
  imageOf(causal());
  imageOf(causal("k < q"));
  EXPECT_EQ(compiled(), 2u);
  CompileOptions other = options;
  other.schedule = "block_kv=64";
  imageOf(compile(causal(), other));
  EXPECT_EQ(compiled(), 3u);
  other = options;
  other.ptxas = writeAssembler("ptxas-of-another-version");
  imageOf(compile(causal(), other));
  EXPECT_EQ(compiled(), 4u);
  const std::string tile = *compile(causal(), options)->text(Stage::Tile);
  imageOf(compileText(tile, Stage::Tile, options));
  EXPECT_EQ(compiled(), 5u);
  imageOf(compileText(tile, Stage::Tile, options));
  EXPECT_EQ(compiled(), 5u);
}

TEST_F(CachedImageTest, SixteenThreadsCompileOnce) {
  std::vector<std::string> images(16);
  std::vector<std::thread> threads;
  for (std::string &image : images)
    threads.emplace_back([&] { image = imageOf(causal()); });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(compiled(), 1u);
  for (const std::string &image : images)
    EXPECT_EQ(image, images[0]);
}

TEST_F(CachedImageTest, RemarksOfPassesAreThereForAHitToo) {
  const Problem problem = causal("k <= q || k < 3"); // not affine, which a pass remarks
  const Result<Compilation> miss = compile(problem, options), hit = compile(problem, options);
  EXPECT_EQ(imageOf(miss), imageOf(hit));
  EXPECT_EQ(compiled(), 1u);
  EXPECT_THAT(miss->remarks(), testing::Not(IsEmpty()));
  EXPECT_EQ(hit->remarks().size(), miss->remarks().size());
}

TEST_F(CachedImageTest, ARefusedFolderIsARemark) {
  std::filesystem::create_directory(folder / "cache");
  std::filesystem::permissions(folder / "cache", std::filesystem::perms::all);
  const Result<Compilation> compilation = compile(causal(), options);
  imageOf(compilation);
  EXPECT_EQ(compiled(), 1u);
  const std::vector<Remark> remarks = compilation->remarks();
  const auto isOurs = [](const Remark &remark) { return remark.pass == "disk-cache"; };
  const auto said = std::ranges::find_if(remarks, isOurs);
  ASSERT_NE(said, remarks.end());
  EXPECT_THAT(said->message, HasSubstr("/cache is writable by others"));
  const Result<Compilation> next = compile(causal(), options);
  imageOf(next);
  EXPECT_TRUE(std::ranges::none_of(next->remarks(), isOurs));
}

TEST_F(CachedImageTest, WhatIsWrongWithTheProblemIsSaidBeforeThatThereIsNoAssembler) {
  Problem wide = causal();
  wide.headDim = 4096;
  options.ptxas = folder / "nothing";
  const Result<Compilation> compilation = compile(wide, options);
  const std::string message =
      compilation ? compilation->image().error().message() : compilation.error().message();
  EXPECT_THAT(message, HasSubstr("4096"));
}
} // namespace
