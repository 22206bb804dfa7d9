//===- AssemblerTest.cpp - What ptxas says and what is let through --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/PTX/Assembler.h"

#include <gmock/gmock.h>

using namespace tilewright;
using namespace tilewright::ptx;
using testing::HasSubstr;

static const char *const cleanLog =
    "ptxas info    : 0 bytes gmem\n"
    "ptxas info    : Compiling entry function 'attn' for 'sm_90a'\n"
    "ptxas info    : Function properties for attn\n"
    "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    "ptxas info    : Used 168 registers, used 1 barriers\n";

TEST(Assembler, ReadsWhatAKernelUses) {
  const Resources resources = parseResources(cleanLog);
  EXPECT_EQ(resources.registers, 168);
  EXPECT_EQ(resources.kernel, "attn");
  EXPECT_TRUE(checkResources(resources));
}

TEST(Assembler, RefusesSpills) {
  const Resources resources =
      parseResources("ptxas info    : Compiling entry function 'attn' for 'sm_90a'\n"
                     "    16 bytes stack frame, 24 bytes spill stores, 8 bytes spill loads\n");
  EXPECT_EQ(resources.stackBytes, 16);
  EXPECT_EQ(resources.spillBytes, 32);
  EXPECT_EQ(checkResources(resources).error().message(),
            "kernel attn needs a stack frame of 16 bytes; a schedule with a smaller block_kv takes "
            "fewer registers");
  Resources spills;
  spills.kernel = "attn";
  spills.spillBytes = 32;
  EXPECT_EQ(checkResources(spills).error().message(),
            "kernel attn spills 32 bytes of registers; a schedule with a smaller block_kv takes "
            "fewer");
}

TEST(Assembler, RefusesProductsPutOneBehindTheOther) {
  const Resources resources = parseResources(
      std::string(cleanLog) +
      "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are "
      "serialized due to insufficient register resources for the wgmma pipeline in the function\n");
  Status passed = checkResources(resources);
  ASSERT_FALSE(passed);
  EXPECT_THAT(passed.error().message(), HasSubstr("(C7510)"));
}

TEST(Assembler, NamesAProgramThatIsNone) {
  Result<std::string> found = findPtxas("/nowhere/ptxas");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().message(), "ptxas: /nowhere/ptxas is no program");
}

TEST(Assembler, PassesOnWhatPtxasRefuses) {
  Result<std::string> ptxas = findPtxas("");
  if (!ptxas)
    GTEST_SKIP() << ptxas.error().message();
  Result<Assembled> assembled = assemble(".version 8.7\n.target sm_90a\nnonsense\n", *ptxas);
  ASSERT_FALSE(assembled);
  EXPECT_THAT(assembled.error().message(), HasSubstr("line 3"));
}
