//===- CpuTargetTest.cpp --------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/CPU/CpuTarget.h"

#include <gmock/gmock.h>

using namespace tilewright;
using testing::HasSubstr;
using testing::StartsWith;

namespace {
struct NamedCase {
  const char *cpu;
  const char *architecture;
  unsigned lanes, vectors, rows;
};

void PrintTo(const NamedCase &named, std::ostream *stream) {
  *stream << named.cpu;
}

class NamedProcessor : public testing::TestWithParam<NamedCase> {};
} // namespace

TEST_P(NamedProcessor, HasItsRegisterTile) {
  Result<CpuTarget> target = CpuTarget::named(GetParam().cpu);
  ASSERT_TRUE(target) << target.error().message();
  EXPECT_EQ(target->cpu, GetParam().cpu);
  EXPECT_THAT(target->triple, StartsWith(GetParam().architecture));
  EXPECT_EQ(target->lanes, GetParam().lanes);
  EXPECT_EQ(target->vectors, GetParam().vectors);
  EXPECT_EQ(target->rows, GetParam().rows);
}

INSTANTIATE_TEST_SUITE_P(All, NamedProcessor,
                         testing::Values(NamedCase{"x86-64", "x86_64-", 4, 3, 4},
                                         NamedCase{"nehalem", "x86_64-", 4, 3, 4},
                                         NamedCase{"sandybridge", "x86_64-", 4, 3, 4},
                                         NamedCase{"haswell", "x86_64-", 8, 3, 4},
                                         NamedCase{"x86-64-v3", "x86_64-", 8, 3, 4},
                                         NamedCase{"x86-64-v4", "x86_64-", 16, 4, 6},
                                         NamedCase{"sapphirerapids", "x86_64-", 16, 4, 6},
                                         NamedCase{"znver4", "x86_64-", 16, 4, 6},
                                         NamedCase{"neoverse-v1", "aarch64-", 4, 4, 6},
                                         NamedCase{"cortex-a76", "aarch64-", 4, 4, 6},
                                         NamedCase{"apple-m1", "aarch64-", 4, 4, 6}));

TEST(CpuTarget, AmxIsAFeatureAndNotAName) {
  for (const auto &[cpu, amx] : {std::pair("sapphirerapids", true),
                                 {"graniterapids", true},
                                 {"x86-64-v4", false},
                                 {"znver5", false},
                                 {"neoverse-v1", false}})
    EXPECT_EQ(CpuTarget::named(cpu)->amx, amx) << cpu;
  const Result<CpuTarget> host = CpuTarget::host();
  // What the system refused once stays refused, and one of the two is the case where there is AMX.
  EXPECT_EQ(host->amx && host->amxRefused, false);
  if (host->amx)
    EXPECT_TRUE(requestAmx());
}

TEST(CpuTarget, RefusesUnknownNamesAndThirtyTwoBitProcessors) {
  for (const char *cpu : {"", "haswel", "i486", "pentium4", "sm_90a", "cortex-m4"}) {
    Result<CpuTarget> target = CpuTarget::named(cpu);
    ASSERT_FALSE(target) << cpu;
    EXPECT_THAT(target.error().message(), HasSubstr("unknown processor '" + std::string(cpu)));
    EXPECT_THAT(target.error().message(), HasSubstr("-mcpu=help"));
  }
}

TEST(CpuTarget, HostIsAskedForItsFeatures) {
  Result<CpuTarget> host = CpuTarget::host();
  ASSERT_TRUE(host) << host.error().message();
  EXPECT_TRUE(host->isHost);
  EXPECT_FALSE(host->features.empty());
  EXPECT_EQ(CpuTarget::host()->features, host->features);
  const bool fma = host->features.find("+avx2") != std::string::npos &&
                   host->features.find("+fma") != std::string::npos;
  const bool avx512 = host->features.find("+avx512dq") != std::string::npos;
  EXPECT_EQ(host->lanes, avx512 ? 16u : fma ? 8u : 4u);
}

#if defined(__x86_64__)
TEST(CpuTarget, OldProcessorsOfTheSameKindRunHereAndOthersDoNot) {
  EXPECT_TRUE(CpuTarget::named("x86-64")->isHost);
  EXPECT_FALSE(CpuTarget::named("neoverse-v1")->isHost);
  // The first has AMD's fma4, the second AMX: no processor is both.
  EXPECT_FALSE(CpuTarget::named("bdver4")->isHost && CpuTarget::named("sapphirerapids")->isHost);
}
#endif
