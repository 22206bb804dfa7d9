//===- FewQueriesTest.cpp - Tiles with columns on lanes -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/unit/Target/Attention.h"
#include "tests/unit/Target/EmulatedAmx.h"

#include <fmt/format.h>

using namespace tilewright;
using namespace tilewright::test;
using reference::Case;
using reference::noise;

namespace {
Case caseOf(int64_t queries, int64_t keys, int64_t d, int64_t dv, DType dtype, int64_t heads,
            int64_t keyHeads) {
  return Case({.queries = queries,
               .keys = keys,
               .d = d,
               .dv = dv,
               .heads = heads,
               .kvHeads = keyHeads,
               .dtype = dtype},
              noise(1), noise(2), noise(3));
}

/// `text` with every forall's columns, or no forall's, on the lanes of vectors.
std::string withColumnsOnLanes(std::string text, bool columnsOnLanes) {
  const std::string attribute = " {tile.columns_on_lanes}";
  for (size_t at; (at = text.find(attribute)) != std::string::npos;)
    text.erase(at, attribute.size());
  if (!columnsOnLanes)
    return text;
  // A forall of the function's ends where the function's indentation is reached again.
  for (size_t at = 0; (at = text.find("\n    }\n", at)) != std::string::npos; at += 6)
    text.insert(at + 6, attribute);
  return text;
}
} // namespace

TEST(FewQueries, AnyNumberOfKeysInEveryDType) {
  for (const DType dtype : {DType::F64, DType::F32, DType::F16, DType::BF16}) {
    Result<Kernel> kernel = compileKernel(caseOf(1, 1, 64, 64, dtype, 1, 1).problem);
    for (const int64_t keys : {1, 2, 7, 8, 9, 31, 47, 48, 49, 64, 95, 97, 2047, 2048, 2049, 4097})
      expectRight(kernel, caseOf(1, keys, 64, 64, dtype, 1, 1));
  }
}

TEST(FewQueries, AnyNumberOfRows) {
  for (const DType dtype : {DType::F32, DType::BF16}) {
    Result<Kernel> kernel = compileKernel(caseOf(1, 1, 32, 48, dtype, 1, 1).problem);
    for (const int64_t group : {1, 2, 3, 5, 7, 8})
      for (const int64_t queries : {1, 2, 7, 12})
        expectRight(kernel, caseOf(queries, 61, 32, 48, dtype, 2 * group, 2));
  }
}

TEST(FewQueries, AnyWidthWithNothingReadBehindARow) {
  for (const DType dtype : {DType::F64, DType::F32, DType::F16, DType::BF16})
    for (const auto &[d, dv] :
         {std::pair<int64_t, int64_t>{1, 3}, {5, 1}, {8, 15}, {17, 9}, {33, 100}, {80, 96}})
      expectRight(caseOf(3, 53, d, dv, dtype, 3, 1));
}

TEST(FewQueries, InfiniteElementsOfARowAreMultipliedOnce) {
  // The ends of rows are read again from where a whole vector fits; an element that another vector
  // has must not count.
  Case aCase(
      {.queries = 1, .keys = 5, .d = 13, .dv = 11}, [](int64_t) { return 1.0; },
      [](int64_t i) { return i == 2 * 13 + 6 ? -reference::infinity : 0.5; }, noise(3));
  expectRight(aCase);
}

TEST(FewQueries, EveryKindOfMaskAndScore) {
  for (const DType dtype : {DType::F64, DType::F32, DType::F16, DType::BF16}) {
    const auto check = [&](int64_t queries, const auto &add) {
      Case aCase({.queries = queries,
                  .keys = 150,
                  .d = 20,
                  .dv = 36,
                  .batch = 2,
                  .heads = 6,
                  .kvHeads = 2,
                  .dtype = dtype},
                 noise(1), noise(2), noise(3));
      add(aCase);
      expectRight(aCase);
    };
    check(1, [](Case &c) { c.preset("causal-lower-right").preset("softcap", 2); });
    check(5, [](Case &c) { c.mask("k <= q + 100 && q + 100 - k < 30"); });
    check(4, [](Case &c) { c.mask("(k + h) % 3 != 0 || k == q").score("s - 0.1 * abs(k - q)"); });
    check(3, [](Case &c) { c.mask("k % 150 > 150"); });
  }
}

TEST(FewQueries, CapturedTensorsByKeyQueryAndHead) {
  Case aCase({.queries = 4, .keys = 77, .d = 16, .dv = 16, .heads = 4, .kvHeads = 2}, noise(1),
             noise(2), noise(3));
  aCase.tensor("bias", reference::makeArray(DType::F32, {4, 4, 77}, noise(4)))
      .tensor("length", reference::makeArray(DType::F32, {4}, [](int64_t i) { return 20.0 * i; }))
      .tensor("order", reference::makeArray(DType::F32, {77}, noise(5)))
      .score("s + bias[h, q, k] + order[76 - k]")
      .mask("k >= length[q] || order[k] > 0.5");
  expectRight(aCase);
}

TEST(FewQueries, AnyRegisterTile) {
  // Of bf16 two vectors of columns are read at once, also where half a register tile is odd.
  for (const char *schedule : {"rows=1", "rows=2", "vectors=1,rows=1", "vectors=1,rows=6",
                               "vectors=2,rows=3", "vectors=2,rows=5", "vectors=5,rows=2"})
    for (const DType dtype : {DType::F32, DType::BF16})
      for (const int64_t width : {24, 80, 256}) {
        SCOPED_TRACE(fmt::format("{} {}", schedule, width));
        const Case aCase = caseOf(2, 15, width, width, dtype, 1, 1);
        expectRight(compileKernel(aCase.problem, {.schedule = schedule}), aCase);
      }
}

TEST(FewQueries, BothOrientationsOfAProgramAreRight) {
  const CompileOptions forHost, forAmx{"cpu", "sapphirerapids"};
  for (const auto &[dtype, options] :
       {std::pair{DType::F32, forHost}, {DType::BF16, forHost}, {DType::BF16, forAmx}})
    for (const int64_t queries : {2, 70}) {
      Case aCase = caseOf(queries, 90, 24, 21, dtype, 4, 2);
      aCase.preset("causal-lower-right").preset("softcap", 2);
      Result<Compilation> compilation = compile(describe(aCase.problem, {}), options);
      ASSERT_TRUE(compilation) << compilation.error().message();
      for (const bool columnsOnLanes : {false, true}) {
        SCOPED_TRACE(fmt::format("{} queries {} {}", queries, options.cpu, columnsOnLanes));
        const std::string text =
            withColumnsOnLanes(*compilation->text(Stage::Tile), columnsOnLanes);
        Result<Compilation> edited = compileText(text, Stage::Tile, options);
        ASSERT_TRUE(edited) << edited.error().message() << text;
        expectRight(options.cpu.empty() ? edited->kernel() : emulateAmx(*edited), aCase);
      }
    }
}

TEST(FewQueries, VectorsOfOtherLengthsAreRightToo) {
  // Vector code is for any machine that has its instructions: what else it does not have is made of
  // what it has.
  for (const auto &[cpu, dtype] : {std::pair{"x86-64", DType::F64},
                                   {"x86-64", DType::F32},
                                   {"x86-64", DType::BF16},
                                   {"x86-64-v4", DType::F64}}) {
    Case aCase = caseOf(3, 100, 73, 50, dtype, 3, 1);
    Result<Compilation> compilation =
        compile(describe(aCase.problem, {}), {.target = "cpu", .cpu = cpu});
    ASSERT_TRUE(compilation) << compilation.error().message();
    Result<Compilation> code = compileText(*compilation->text(Stage::Vector), Stage::Vector);
    ASSERT_TRUE(code) << code.error().message();
    expectRight(code->kernel(), aCase);
  }
}
