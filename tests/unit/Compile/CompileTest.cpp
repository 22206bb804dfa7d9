//===- CompileTest.cpp - Stages of a compilation --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Driver/CompilationAccess.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <thread>

using namespace tilewright;
using testing::HasSubstr;
using testing::Not;

/// A processor whose code is the same on every machine.
static const CompileOptions portable = {.cpu = "x86-64"};

static Problem slidingWindow() {
  Problem problem;
  problem.headDim = 16;
  problem.masks = {"k <= q && q - k < window"};
  problem.scalars = {{"window", ScalarType::I32}};
  return problem;
}

static std::string textOf(const Result<Compilation> &compilation, Stage stage) {
  EXPECT_TRUE(compilation) << compilation.error().message();
  if (!compilation)
    return "";
  const Result<std::string> text = compilation->text(stage);
  EXPECT_TRUE(text) << nameOf(stage) << ": " << text.error().message();
  return text ? *text : "";
}

template <typename T> static std::string refusal(const Result<T> &result) {
  return result ? "" : result.error().message();
}

TEST(Stage, NamesAreReadBack) {
  for (Stage stage :
       {Stage::Attn, Stage::Tile, Stage::Vector, Stage::SM, Stage::NVVM, Stage::LLVM, Stage::Asm,
        Stage::Object, Stage::Header, Stage::PTX, Stage::Cubin, Stage::SASS})
    EXPECT_EQ(parseStage(nameOf(stage)), stage);
  EXPECT_EQ(nameOf(Stage::Object), "obj");
  EXPECT_EQ(parseStage("tiles"), std::nullopt);
}

TEST(Compile, EachStageIsWhatItsNameSays) {
  const Result<Compilation> compilation = compile(slidingWindow(), portable);
  EXPECT_THAT(textOf(compilation, Stage::Attn), HasSubstr("attn.forward"));
  EXPECT_THAT(textOf(compilation, Stage::Tile), HasSubstr("tile.softmax_step"));
  EXPECT_THAT(textOf(compilation, Stage::Vector), HasSubstr("vector<4xf32>"));
  EXPECT_THAT(textOf(compilation, Stage::LLVM), HasSubstr("define void @attention("));
  EXPECT_THAT(textOf(compilation, Stage::Asm), HasSubstr("attention_items:"));
  EXPECT_THAT(textOf(compilation, Stage::Object), testing::StartsWith("\x7f"
                                                                      "ELF"));
}

TEST(Compile, TwoCompilationsGiveTheSameText) {
  const Result<Compilation> first = compile(slidingWindow(), portable);
  const Result<Compilation> second = compile(slidingWindow(), portable);
  for (Stage stage : {Stage::Asm, Stage::Attn, Stage::Tile, Stage::Vector, Stage::LLVM,
                      Stage::Object}) // the order of asking does not matter either
    EXPECT_EQ(textOf(first, stage), textOf(second, stage)) << nameOf(stage);
}

static void expectTheSameCodeFromEachStage(const Problem &problem, const CompileOptions &options) {
  const Result<Compilation> whole = compile(problem, options);
  const std::string code = textOf(whole, Stage::Asm);
  for (Stage from : {Stage::Attn, Stage::Tile, Stage::Vector}) {
    const Result<Compilation> rest = compileText(textOf(whole, from), from, options);
    EXPECT_EQ(textOf(rest, from), textOf(whole, from)) << nameOf(from);
    EXPECT_EQ(textOf(rest, Stage::Asm), code) << nameOf(from);
  }
}

TEST(Compile, AStageGivenBackLeadsToTheSameCode) {
  expectTheSameCodeFromEachStage(slidingWindow(), portable);
  Problem scored = slidingWindow();
  scored.dtype = DType::BF16;
  scored.headDim = 64;
  scored.scores = {"30.0 * tanh(s / 30.0)"};
  expectTheSameCodeFromEachStage(scored, {.cpu = "sapphirerapids"});
  expectTheSameCodeFromEachStage(scored, {.cpu = "haswell"});
}

TEST(Compile, TheHeaderIsTheSameWithoutTheObject) {
  const Result<Compilation> both = compile(slidingWindow(), portable);
  const Result<Compilation> alone = compile(slidingWindow(), portable);
  textOf(both, Stage::Object);
  EXPECT_THAT(textOf(both, Stage::Header), HasSubstr("attention_run"));
  EXPECT_EQ(textOf(both, Stage::Header), textOf(alone, Stage::Header));
}

TEST(Compile, ThereIsNothingAboveTheFirstStage) {
  const Result<Compilation> whole = compile(slidingWindow(), portable);
  const Result<Compilation> rest =
      compileText(textOf(whole, Stage::Vector), Stage::Vector, portable);
  ASSERT_TRUE(rest) << rest.error().message();
  EXPECT_EQ(refusal(rest->text(Stage::Tile)),
            "there is no stage tile: the compilation starts at vector, which comes later");
  EXPECT_EQ(rest->schedule(), "");
  EXPECT_EQ(CompilationAccess::problem(*rest), nullptr);
  EXPECT_EQ(
      refusal(compileText("", Stage::LLVM, portable)),
      "a compilation for this target cannot start at llvm; it starts at attn, tile or vector");
}

TEST(Compile, AProgramOfAnotherStageIsToldByItsOperations) {
  const Result<Compilation> cpu = compile(slidingWindow(), portable);
  CompileOptions gpu;
  gpu.target = "sm_90a";
  Problem problem = slidingWindow();
  problem.headDim = 64;
  problem.dtype = DType::F16;
  const Result<Compilation> hopper = compile(problem, gpu);
  EXPECT_THAT(refusal(compileText(textOf(hopper, Stage::SM), Stage::Tile, gpu)),
              testing::StartsWith(
                  "from is tile, and the program is of stage sm: it has the operation 'sm."));
  EXPECT_THAT(refusal(compileText(textOf(hopper, Stage::Tile), Stage::SM, gpu)),
              testing::StartsWith("from is sm, and the program is of stage tile"));
  EXPECT_THAT(refusal(compileText(textOf(hopper, Stage::SM), Stage::NVVM, gpu)),
              testing::StartsWith("from is nvvm, and the program is of stage sm"));
  EXPECT_THAT(refusal(compileText(textOf(cpu, Stage::Tile), Stage::Vector, portable)),
              testing::StartsWith("from is vector, and the program is of stage tile"));
  EXPECT_THAT(refusal(compileText(textOf(cpu, Stage::Attn), Stage::Tile, portable)),
              testing::StartsWith("from is tile, and the program is of stage attn"));
  EXPECT_EQ(refusal(compileText(textOf(cpu, Stage::Vector), Stage::Tile, portable)),
            "from is tile, and the program has no operation of the dialect tile");
}

TEST(Compile, TheProblemIsKnownHoweverItCame) {
  const Result<Compilation> fromStrings = compile(slidingWindow(), portable);
  const Result<Compilation> fromText =
      compileText(textOf(fromStrings, Stage::Attn), Stage::Attn, portable);
  ASSERT_TRUE(fromText) << fromText.error().message();
  for (const auto *compilation : {&fromStrings, &fromText}) {
    const ParsedProblem *problem = CompilationAccess::problem(**compilation);
    ASSERT_NE(problem, nullptr);
    EXPECT_EQ(problem->headDim, 16);
    EXPECT_EQ(problem->masks.size(), 1u);
    EXPECT_EQ(problem->declarations.findScalar("window"), 0u);
  }
}

TEST(Compile, SchedulesFromOptionsOverrideFilesAndDefaults) {
  CompileOptions options = portable;
  const Result<Compilation> chosen = compile(slidingWindow(), options);
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->schedule(), "block_q=12,block_kv=96,vectors=3,rows=4");

  options.schedule = "block_kv=13";
  const Result<Compilation> overridden = compile(slidingWindow(), options);
  ASSERT_TRUE(overridden);
  EXPECT_EQ(overridden->schedule(), "block_q=12,block_kv=13,vectors=3,rows=4");
  EXPECT_THAT(textOf(overridden, Stage::Tile), HasSubstr("tensor<13x16xf32>"));

  std::string file = textOf(chosen, Stage::Attn);
  const size_t end = file.rfind("}\n    return");
  file.insert(end + 1, " {tile.schedule = #tile.schedule<block_q = 5, block_kv = 7>}");
  options.schedule = "";
  const Result<Compilation> stated = compileText(file, Stage::Attn, options);
  ASSERT_TRUE(stated) << stated.error().message();
  EXPECT_EQ(stated->schedule(), "block_q=5,block_kv=7,vectors=3,rows=4");
  options.schedule = "block_q=6";
  const Result<Compilation> both = compileText(file, Stage::Attn, options);
  ASSERT_TRUE(both) << both.error().message();
  EXPECT_EQ(both->schedule(), "block_q=6,block_kv=7,vectors=3,rows=4");
  EXPECT_THAT(textOf(both, Stage::Tile), HasSubstr("tensor<6x16xf32>"));
  EXPECT_THAT(textOf(both, Stage::Attn), HasSubstr("<block_q = 6, block_kv = 7>"));
}

TEST(Compile, OptionsAreChecked) {
  CompileOptions options = portable;
  options.target = "tpu";
  EXPECT_EQ(refusal(compile(slidingWindow(), options)),
            "unknown target 'tpu'; targets are cpu, sm_90a");
  options = portable;
  options.cpu = "z80";
  EXPECT_THAT(refusal(compile(slidingWindow(), options)), HasSubstr("z80"));
  options = portable;
  options.schedule = "block_q=0";
  EXPECT_THAT(refusal(compile(slidingWindow(), options)), HasSubstr("block_q = '0'"));
  EXPECT_EQ(refusal(compileText("module {}", Stage::Tile, options)),
            "schedule has the unknown field 'block_q'; fields are vectors, rows");
  EXPECT_EQ(refusal(compileText("module {}", Stage::Vector, options)),
            "schedule 'block_q=0' comes too late: at stage vector the blocks are chosen");
}

TEST(Compile, WhatCannotBeLoweredNamesThePassAndThePlace) {
  const Result<Compilation> compilation = compileText(R"(
func.func private @g()
func.func @f(%n: index {attn.name = "n"}) {
  scf.forall (%i) in (%n) {
    func.call @g() : () -> ()
  }
  return
})",
                                                      Stage::Tile, portable);
  ASSERT_TRUE(compilation) << compilation.error().message();
  EXPECT_THAT(refusal(compilation->text(Stage::Vector)),
              testing::StartsWith("convert-tile-to-vector: 5:5: "));
}

TEST(Compile, RemarksAreData) {
  Problem problem = slidingWindow();
  EXPECT_TRUE(compile(problem, portable)->remarks().empty());
  problem.masks.push_back("keep[q, k]");
  problem.tensors = {{"keep", DType::Bool, 2}};
  const Result<Compilation> compilation = compile(problem, portable);
  textOf(compilation, Stage::Tile);
  textOf(compilation, Stage::Tile); // not remarked twice
  const std::vector<Remark> remarks = compilation->remarks();
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_EQ(remarks[0].pass, "convert-attn-to-tile");
  EXPECT_THAT(remarks[0].message, HasSubstr("every visited block is partial"));
}

TEST(Compile, ThePipelineStartsAtTheFirstStage) {
  const Result<Compilation> whole = compile(slidingWindow(), portable);
  EXPECT_THAT(whole->pipeline(),
              testing::StartsWith("builtin.module(canonicalize,cse,assign-schedule{block-q=12 "
                                  "block-kv=96},convert-attn-to-tile{decode-q="));
  const Result<Compilation> rest = compileText(textOf(whole, Stage::Tile), Stage::Tile, portable);
  EXPECT_THAT(rest->pipeline(), Not(HasSubstr("attn")));
  EXPECT_THAT(rest->pipeline(), HasSubstr("convert-tile-to-vector{lanes=4 vectors=3 rows=4}"));

  CompileOptions options = portable;
  options.schedule = "vectors=1,rows=7";
  EXPECT_THAT(compileText(textOf(whole, Stage::Tile), Stage::Tile, options)->pipeline(),
              HasSubstr("convert-tile-to-vector{lanes=4 vectors=1 rows=7}"));
}

TEST(Compile, ThreadsMayCompileAtOnce) {
  CompileOptions options = portable;
  options.schedule = "block_q=4,block_kv=8"; // little code
  const std::string expected = textOf(compile(slidingWindow(), options), Stage::Asm);
  const Result<Compilation> shared = compile(slidingWindow(), options);
  std::array<std::string, 8> own, common;
  std::vector<std::thread> threads;
  for (size_t i = 0; i < own.size(); ++i)
    threads.emplace_back([&, i] {
      own[i] = textOf(compile(slidingWindow(), options), Stage::Asm);
      common[i] = textOf(shared, Stage::Asm);
    });
  for (std::thread &thread : threads)
    thread.join();
  for (size_t i = 0; i < own.size(); ++i) {
    EXPECT_EQ(own[i], expected) << i;
    EXPECT_EQ(common[i], expected) << i;
  }
}
