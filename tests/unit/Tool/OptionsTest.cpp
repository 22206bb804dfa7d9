//===- OptionsTest.cpp - Tests for compiler/tools/tilewright/Options.h ----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/tilewright/Options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace tilewright;
using namespace tilewright::tool;
using testing::HasSubstr;
using testing::Not;

static Result<Options> parse(std::initializer_list<const char *> arguments) {
  return parseOptions({arguments.begin(), arguments.size()});
}

static std::string errorOf(std::initializer_list<const char *> arguments) {
  Result<Options> options = parse(arguments);
  return options ? "no error" : options.error().message();
}

TEST(Options, TakeValuesWithAnEqualsSignOrAsTheNextArgument) {
  Result<Options> options = parse({"compile", "--head-dim=80", "--dtype", "bf16", "-o", "x"});
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_EQ(options->subcommand, Subcommand::Compile);
  EXPECT_EQ(options->problem.headDim, 80);
  EXPECT_EQ(options->problem.valueDim, 80);
  EXPECT_EQ(options->problem.dtype, DType::BF16);
  EXPECT_EQ(options->output, "x");
}

TEST(Options, KeepMasksScoresAndPresetsInTheirOrder) {
  Result<Options> options = parse({"compile", "--score", "s + 1.0", "--preset", "softcap=30",
                                   "--mask", "k <= q", "--score=-s"});
  ASSERT_TRUE(options) << options.error().message();
  std::vector<std::string> texts;
  for (const FunctionOption &function : options->problem.functions)
    texts.push_back(function.text);
  EXPECT_THAT(texts, testing::ElementsAre("s + 1.0", "softcap=30", "k <= q", "-s"));
}

TEST(Options, TakeNegativeValues) {
  Result<Options> options = parse({"run", "--scale", "-0.5", "--scalar", "w=-3"});
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_EQ(options->problem.scale, -0.5);
  EXPECT_EQ(options->problem.scalars.front().value, "-3");
}

TEST(Options, RandomSizesAndLengths) {
  Result<Options> run = parse({"run", "--random", "1,8,2,100,200"});
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_EQ(run->random->kvHeads, 2);
  EXPECT_EQ(run->random->keyLength, 200);
  Result<Options> explain = parse({"explain", "--lengths=3,4", "--heads=8"});
  ASSERT_TRUE(explain) << explain.error().message();
  EXPECT_EQ(explain->sizes.queryLength, 3);
  EXPECT_EQ(explain->sizes.kvHeads, 8);
  EXPECT_THAT(errorOf({"run", "--random", "1,8,2,100"}),
              "--random is '1,8,2,100'; it must be B,Hq,Hkv,Tq,Tk, five numbers from 0 to 2^30");
  EXPECT_THAT(errorOf({"run", "--random", "1,8,2,100,99999999999999999999"}), HasSubstr("2^30"));
  EXPECT_THAT(errorOf({"explain", "--lengths", "-1,5"}), HasSubstr("two numbers from 0"));
}

TEST(Options, RefuseWhatIsUnknownAndSuggestTheNearest) {
  EXPECT_EQ(errorOf({"complie"}), "unknown subcommand 'complie'; did you mean 'compile'?");
  EXPECT_EQ(errorOf({"frobnicate"}), "unknown subcommand 'frobnicate'");
  EXPECT_EQ(errorOf({"compile", "--head-din=5"}),
            "unknown option '--head-din'; did you mean '--head-dim'?");
  EXPECT_EQ(errorOf({"compile", "--windows-size"}), "unknown option '--windows-size'");
  EXPECT_EQ(errorOf({"compile", "--check"}),
            "'compile' has no option --check; see tilewright --help");
}

TEST(Options, RefuseRepeatedMissingAndMalformedValues) {
  EXPECT_EQ(errorOf({"compile", "--dtype", "f16", "--dtype=f32"}), "--dtype is given twice");
  EXPECT_EQ(errorOf({"compile", "--dtype"}), "--dtype needs a value");
  EXPECT_EQ(errorOf({"compile", "--dtype=i32"}),
            "--dtype is 'i32'; it must be f64, f32, f16 or bf16");
  EXPECT_EQ(errorOf({"compile", "--head-dim", "0"}),
            "--head-dim is '0'; it must be D or D,DV, each from 1 to 65536");
  EXPECT_EQ(errorOf({"compile", "--scale=nan"}), "--scale is 'nan'; it must be a finite number");
  EXPECT_EQ(errorOf({"compile", "--scale=inf"}), "--scale is 'inf'; it must be a finite number");
  EXPECT_EQ(errorOf({"compile", "--scalar", "w"}), "--scalar is 'w'; it must be NAME=VALUE");
  EXPECT_EQ(errorOf({"compile", "--from=tiles", "x"}),
            "--from is 'tiles'; it must be attn, tile or vector, and for a GPU attn, tile, sm, "
            "nvvm or ptx");
  EXPECT_EQ(errorOf({"compile", "--emit=tiles"}),
            "--emit is 'tiles'; it must be attn, tile, vector, llvm, asm, obj or header, and for a "
            "GPU attn, tile, sm, nvvm, llvm, ptx, cubin or sass");
  EXPECT_EQ(errorOf({"compile", "a.mlir", "b.mlir"}),
            "'a.mlir' and 'b.mlir': one file of IR at most");
  EXPECT_THAT(errorOf({}), HasSubstr("a subcommand is missing"));
  EXPECT_THAT(errorOf({"--mask", "k"}), HasSubstr("'tilewright' has no option --mask"));
}

TEST(Options, HelpListsTheOptionsOfTheSubcommandAlone) {
  EXPECT_THAT(helpText(Subcommand::Run), HasSubstr("--random"));
  EXPECT_THAT(helpText(Subcommand::Run), Not(HasSubstr("--emit")));
  EXPECT_THAT(helpText(Subcommand::Compile), HasSubstr("--emit"));
  EXPECT_THAT(helpText(Subcommand::Explain), HasSubstr("sliding-window"));
  EXPECT_THAT(helpText(std::nullopt), HasSubstr("EXIT CODES"));
}
