//===- DecoderTest.cpp - PTX text that is read, and that is refused -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Emulator/PtxText.h"
#include "tests/unit/Emulator/Probe.h"

#include <gmock/gmock.h>

using namespace tilewright;
using namespace tilewright::emulator;
using namespace tilewright::emulator::test;
using testing::HasSubstr;

namespace {

std::string errorOf(const std::string &body) {
  Probe probe;
  probe.body = body;
  Result<Module> module = loadModule(probe.text());
  return module ? "" : module.error().message();
}

constexpr const char *header = ".version 8.6\n.target sm_90a\n.address_size 64\n";

TEST(EmulatorDecoder, InnerScopesHaveTheirOwnRegistersAndLabels) {
  Probe probe;
  probe.body = "mov.u32 %r20, 0;\n"
               "{ .reg .b32 q; mov.u32 q, 3;\nL0: add.u32 %r20, %r20, 1; sub.u32 q, q, 1;\n"
               "setp.ne.u32 %p0, q, 0; @%p0 bra L0; }\n"
               "{ .reg .b32 q; mov.u32 q, 4;\nL0: add.u32 %r20, %r20, 10; sub.u32 q, q, 1;\n"
               "setp.ne.u32 %p0, q, 0; @%p0 bra L0; }\n" +
               storeResult("%r20");
  Result<Outcome> outcome = probe.run();
  ASSERT_TRUE(outcome) << outcome.error().message();
  ASSERT_FALSE(outcome->finding) << toText(*outcome->finding);
  EXPECT_EQ(probe.out[0], 43u);
}

TEST(EmulatorDecoder, AllUnknownInstructionsAreListedWithTheirLines) {
  const std::string error = errorOf("foo.b32 %r2, %r3;\nadd.u32 %r2, %r3, %r4;\nbar.red.popc 0;");
  EXPECT_THAT(error, HasSubstr("PTX line 17: unsupported instruction 'foo.b32'"));
  EXPECT_THAT(error, HasSubstr("PTX line 19: unsupported instruction 'bar.red.popc'"));
}

TEST(EmulatorDecoder, RefusesWhatIsNotModelledByName) {
  EXPECT_THAT(errorOf("barrier.cluster.arrive;"), HasSubstr("barrier.cluster.arrive"));
  EXPECT_THAT(
      errorOf("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r1], %r2, [%r3];"),
      HasSubstr("st.async"));
  EXPECT_THAT(errorOf("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], 32;"),
              HasSubstr("tcgen05.alloc"));
  EXPECT_THAT(errorOf("call foo;"), HasSubstr("unsupported instruction 'call'"));
}

TEST(EmulatorDecoder, AnArchitectureLacksWhatCameLater) {
  Probe probe;
  probe.target = "sm_90";
  probe.body = "wgmma.fence.sync.aligned;";
  Result<Module> module = loadModule(probe.text());
  ASSERT_FALSE(module);
  EXPECT_THAT(module.error().message(),
              HasSubstr("'wgmma.fence.sync.aligned' does not exist on sm_90"));
  probe.target = "sm_100a";
  probe.body = "";
  module = loadModule(probe.text());
  ASSERT_FALSE(module);
  EXPECT_THAT(module.error().message(), HasSubstr("tcgen05 are not modelled"));
  probe.target = "sm_12";
  EXPECT_FALSE(loadModule(probe.text()));
}

TEST(EmulatorDecoder, NamesWrongOperands) {
  EXPECT_THAT(errorOf("add.u32 %r2, %r3, %rd4;"), HasSubstr("'%rd4' is a 64-bit register"));
  EXPECT_THAT(errorOf("add.u32 %r2, %r3, %r64;"), HasSubstr("unknown name '%r64'"));
  EXPECT_THAT(errorOf("add.u32 %r2, %r3;"), HasSubstr("with 2 operands"));
  EXPECT_THAT(errorOf("bra NOWHERE;"), HasSubstr("unknown label 'NOWHERE'"));
  EXPECT_THAT(errorOf("mov.u32 %r2, 99999999999999999999;"), HasSubstr("not a number of 64 bits"));
  EXPECT_THAT(errorOf("wgmma.wait_group.sync.aligned 9;"), HasSubstr("it is 0 to 7"));
  EXPECT_THAT(errorOf("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0,%f1}, %rd2, %rd3, "
                      "%p0, 1, 1, 0, 0;"),
              HasSubstr("wgmma with 2 accumulators; N = 8 has 4"));
}

TEST(EmulatorDecoder, SinksStandForResultsOnly) {
  EXPECT_EQ(errorOf("ld.global.v2.b32 {%r2, _}, [%rd0];\nmov.b64 {_, %r3}, %rd0;"), "");
  for (const char *instruction :
       {"st.global.b32 [%rd0], _;", "st.global.v2.b32 [%rd0], {%r2, _};", "mov.b64 %rd2, {%r2, _};",
        "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r2, _}, [%r1];", "add.u32 _, %r2, %r3;",
        "mov.u32 _, %r2;", "ld.global.v4.b32 {%r2, %r3, %r4}, [%rd0];"})
    EXPECT_NE(errorOf(instruction), "") << instruction;
}

TEST(EmulatorDecoder, HostileTextIsAnErrorWithALine) {
  const std::string entry = std::string(header) + ".visible .entry k()\n{\n";
  for (const std::string &text : {std::string(),
                                  std::string("\0", 1),
                                  std::string("{"),
                                  std::string(header),
                                  std::string(header) + ".visible .entry k(",
                                  std::string(header) + "/* never closed",
                                  entry,
                                  entry + "add",
                                  entry + "add.u32",
                                  entry + "@",
                                  entry + "@!",
                                  entry + "x: y: z:",
                                  entry + ".reg .b32 %r<",
                                  entry + ".reg .b32 %r<99999999999>;",
                                  entry + ".shared .align 3 .b8 x[4];",
                                  entry + ".shared .b8 x[99999999];",
                                  entry + "mov.u32 {{{{{{{{{",
                                  entry + "mov.u32 [[[[[[[[[",
                                  entry + "mov.u32 ((((((((((",
                                  entry + std::string(100000, '{'),
                                  entry + std::string(100000, '!'),
                                  entry + "ld.global.v4.b64 {%a,%b,%c,%d}, [%e];",
                                  std::string(header) + ".func f() {}",
                                  std::string(header) + ".global .b8 x[4];",
                                  entry + "bra L; ret; } .visible .entry k2() { ret; }"}) {
    Result<Module> module = loadModule(text, "k");
    ASSERT_FALSE(module) << text.substr(0, 200);
    EXPECT_FALSE(module.error().message().empty());
  }
}

TEST(EmulatorDecoder, RegistersAndParametersAreLimited) {
  std::string many;
  for (int i = 0; i < 66000; ++i)
    many += fmt::format("mov.u32 %r2, {};\n", i);
  EXPECT_THAT(errorOf(many), HasSubstr("more than 65536 registers and constants"));
  // A declaration alone costs nothing.
  EXPECT_EQ(errorOf(".reg .b32 %q<4000000000>;\nmov.u32 %q3999999999, 1;"), "");
  const std::string big = std::string(header) + ".visible .entry k(.param .b8 a[40000]) { ret; }";
  EXPECT_FALSE(loadModule(big));
}

TEST(EmulatorDecoder, ChoosesTheKernelByName) {
  const std::string two =
      std::string(header) + ".visible .entry a() { ret; }\n" + ".visible .entry b() { trap; }\n";
  EXPECT_EQ(loadModule(two, "b")->kernel, "b");
  Result<Module> none = loadModule(two);
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message(), HasSubstr("kernels a, b"));
}

TEST(EmulatorDecoder, RefusesLaunchesThatCannotBe) {
  Probe probe;
  Result<Module> module = loadModule(probe.text());
  ASSERT_TRUE(module);
  auto error = [&](auto change) {
    Launch launch = probe.launch();
    change(launch);
    Result<Outcome> outcome = run(*module, launch);
    return outcome ? std::string() : outcome.error().message();
  };
  EXPECT_THAT(error([](Launch &l) { l.block = {33, 1, 1}; }), HasSubstr("block of 33 threads"));
  EXPECT_THAT(error([](Launch &l) { l.block = {1024, 2, 1}; }), HasSubstr("up to 1024"));
  EXPECT_THAT(error([](Launch &l) { l.block = {0, 1, 1}; }), HasSubstr("block of 0 threads"));
  EXPECT_THAT(error([](Launch &l) { l.grid = {UINT32_MAX, UINT32_MAX, UINT32_MAX}; }),
              HasSubstr("the emulator runs 1 to"));
  EXPECT_THAT(error([](Launch &l) { l.dynamicSharedBytes = UINT32_MAX; }),
              HasSubstr("of shared memory"));
  EXPECT_THAT(error([](Launch &l) { l.arguments.pop_back(); }), HasSubstr("1 arguments"));
  EXPECT_THAT(error([](Launch &l) { l.arguments[0] = Argument::of(uint32_t(1)); }),
              HasSubstr("argument 0 has 4 bytes; parameter 'out' has 8"));
  EXPECT_THAT(error([](Launch &l) { l.arguments[0] = Argument::tensor(7); }),
              HasSubstr("buffer 7 of 2"));
}

TEST(EmulatorDecoder, RefusesTensorMapsThatTheDriverWould) {
  TensorMap good;
  good.rank = 2;
  good.buffer = 1;
  good.dims = {64, 16};
  good.strides = {2, 128};
  good.box = {64, 8};
  good.swizzle = Swizzle::Bytes128;
  auto error = [&](auto change) {
    TensorMap map = good;
    change(map);
    Probe probe;
    probe.maps = {map};
    Result<Outcome> outcome = probe.run();
    return outcome ? std::string() : outcome.error().message();
  };
  EXPECT_EQ(error([](TensorMap &) {}), "");
  EXPECT_THAT(error([](TensorMap &m) { m.rank = 6; }), HasSubstr("rank 6"));
  EXPECT_THAT(error([](TensorMap &m) { m.buffer = 9; }), HasSubstr("buffer 9 of 2"));
  EXPECT_THAT(error([](TensorMap &m) { m.box[1] = 257; }), HasSubstr("box[1] is 257"));
  EXPECT_THAT(error([](TensorMap &m) { m.box[0] = 4; }), HasSubstr("inner box of 8 bytes"));
  EXPECT_THAT(error([](TensorMap &m) { m.box[0] = 128; }), HasSubstr("the swizzle allows 128"));
  EXPECT_THAT(error([](TensorMap &m) { m.strides[1] = 100; }), HasSubstr("multiple of 16"));
  EXPECT_THAT(error([](TensorMap &m) { m.dims[1] = 1000; }), HasSubstr("which has 4096"));
  EXPECT_THAT(error([](TensorMap &m) { m.dims[1] = uint64_t(1) << 32; }), HasSubstr("reaches"));
  EXPECT_THAT(error([](TensorMap &m) { m.offset = 8; }), HasSubstr("offset 8"));
}

} // namespace
