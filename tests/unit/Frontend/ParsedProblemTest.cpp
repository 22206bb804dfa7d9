//===- ParsedProblemTest.cpp - What a problem may say ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/ParsedProblem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace tilewright;
using testing::HasSubstr;

static std::string refusal(const Problem &problem) {
  const Result<ParsedProblem> parsed = parseProblem(problem);
  return parsed ? "" : parsed.error().message();
}

TEST(ParsedProblem, DefaultsFollowFromOtherFields) {
  Problem problem;
  problem.headDim = 80;
  problem.dtype = DType::BF16;
  const Result<ParsedProblem> parsed = parseProblem(problem);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->valueDim, 80);
  EXPECT_EQ(parsed->outDType, DType::BF16);
  EXPECT_TRUE(parsed->lse);
  EXPECT_FALSE(parsed->scale);
}

TEST(ParsedProblem, HeadDimsHaveLimits) {
  Problem problem;
  problem.headDim = 0;
  EXPECT_EQ(refusal(problem), "headDim is 0; it must be from 1 to 65536");
  problem.headDim = 65537;
  EXPECT_EQ(refusal(problem), "headDim is 65537; it must be from 1 to 65536");
  problem.headDim = 65536;
  EXPECT_EQ(refusal(problem), "");
  problem.valueDim = -1;
  EXPECT_EQ(refusal(problem), "valueDim is -1; it must be from 1 to 65536");
}

TEST(ParsedProblem, DTypesAreFloats) {
  Problem problem;
  problem.dtype = DType::I32;
  EXPECT_EQ(refusal(problem), "dtype is i32; queries, keys and values are f64, f32, f16 or bf16");
}

TEST(ParsedProblem, OutputsHaveTheInputsDTypeOrTheOneOfScores) {
  Problem problem;
  problem.dtype = DType::F16;
  problem.outDType = DType::F32;
  EXPECT_EQ(refusal(problem), "");
  problem.outDType = DType::BF16;
  EXPECT_EQ(refusal(problem), "outDType is bf16; for a problem in f16 it can be f16 or f32");
  problem.dtype = DType::F64;
  problem.outDType = DType::F32;
  EXPECT_EQ(refusal(problem), "outDType is f32; for a problem in f64 it can be f64");
}

TEST(ParsedProblem, DeclaredNamesAreNotThoseOfAKernelsArguments) {
  for (const char *name : {"query", "key", "value", "out", "lse", "scale"}) {
    Problem problem;
    problem.scalars = {{name, ScalarType::I32}};
    EXPECT_EQ(refusal(problem), std::string("scalar '") + name +
                                    "': every kernel has an argument of this name; choose another");
    problem.scalars.clear();
    problem.tensors = {{name, DType::F32, 1}};
    EXPECT_THAT(refusal(problem), HasSubstr(std::string("tensor '") + name + "'"));
  }
}

TEST(ParsedProblem, F64TensorsNeedAnF64Problem) {
  Problem problem;
  problem.tensors = {{"bias", DType::F64, 1}};
  EXPECT_EQ(refusal(problem),
            "tensor 'bias' is f64, but a problem in f32 computes in f32; convert it");
  problem.dtype = DType::F64;
  EXPECT_EQ(refusal(problem), "");
}

TEST(ParsedProblem, ExpressionsAreParsedByTheirRole) {
  Problem problem;
  problem.masks = {"k <= q", "k < widow"};
  EXPECT_THAT(refusal(problem), HasSubstr("unknown name 'widow'"));
  problem.masks = {"s > 0.0"};
  EXPECT_THAT(refusal(problem), HasSubstr("'s'"));
  problem.masks = {""};
  EXPECT_NE(refusal(problem), "");
}
