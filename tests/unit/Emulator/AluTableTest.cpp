//===- AluTableTest.cpp - Values of plain operations ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/unit/Emulator/Probe.h"

#include <bit>
#include <cmath>
#include <limits>

using namespace tilewright;
using namespace tilewright::emulator;
using namespace tilewright::emulator::test;

namespace {

uint32_t bits(float value) {
  return std::bit_cast<uint32_t>(value);
}
constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr uint32_t nan32 = 0x7fc00000;

/// %r10, %r11, %r12 hold a, b, c (%f10... too); the instruction leaves its result in %r20.
struct Case {
  const char *instruction;
  uint32_t a, b, c, expected;
};

uint32_t evaluate(const std::string &instruction, uint32_t a, uint32_t b, uint32_t c) {
  Probe probe;
  probe.in[0] = a;
  probe.in[1] = b;
  probe.in[2] = c;
  probe.body = "ld.global.b32 %r10, [%rd1];\nld.global.b32 %r11, [%rd1+4];\n"
               "ld.global.b32 %r12, [%rd1+8];\nmov.b32 %f10, %r10;\nmov.b32 %f11, %r11;\n"
               "mov.b32 %f12, %r12;\ncvt.u64.u32 %rd10, %r10;\ncvt.u64.u32 %rd11, %r11;\n"
               "cvt.u16.u32 %h10, %r10;\ncvt.u16.u32 %h11, %r11;\nmov.u32 %r20, 0;\n" +
               instruction + "\n" + storeResult("%r20");
  Result<Outcome> outcome = probe.run();
  EXPECT_TRUE(outcome) << outcome.error().message();
  if (!outcome)
    return 0;
  EXPECT_FALSE(outcome->finding) << toText(*outcome->finding);
  for (uint32_t lane = 1; lane < 32; ++lane)
    EXPECT_EQ(probe.out[lane], probe.out[0]) << instruction;
  return probe.out[0];
}

void check(std::initializer_list<Case> cases) {
  for (const Case &c : cases)
    EXPECT_EQ(evaluate(c.instruction, c.a, c.b, c.c), c.expected)
        << c.instruction << " of " << c.a << ", " << c.b << ", " << c.c;
}

TEST(EmulatorAlu, IntegersWrap) {
  check({
      {"add.u32 %r20, %r10, %r11;", 0xffffffff, 2, 0, 1},
      {"add.s32 %r20, %r10, %r11;", 0x7fffffff, 1, 0, 0x80000000},
      {"sub.s32 %r20, %r10, %r11;", 3, 5, 0, 0xfffffffe},
      {"mul.lo.s32 %r20, %r10, %r11;", 0x10001, 0x10001, 0, 0x20001},
      {"mul.hi.u32 %r20, %r10, %r11;", 0xffffffff, 0xffffffff, 0, 0xfffffffe},
      {"mul.hi.s32 %r20, %r10, %r11;", 0xffffffff, 0xffffffff, 0, 0},
      {"mad.lo.s32 %r20, %r10, %r11, %r12;", 7, 6, 5, 47},
      {"div.s32 %r20, %r10, %r11;", 0xfffffff9, 2, 0, 0xfffffffd}, // -7 / 2 = -3
      {"div.s32 %r20, %r10, %r11;", 0x80000000, 0xffffffff, 0, 0x80000000},
      {"div.u32 %r20, %r10, %r11;", 7, 0, 0, 0xffffffff},
      {"rem.s32 %r20, %r10, %r11;", 0xfffffff9, 2, 0, 0xffffffff},
      {"rem.u32 %r20, %r10, %r11;", 17, 5, 0, 2},
      {"min.s32 %r20, %r10, %r11;", 0xffffffff, 1, 0, 0xffffffff},
      {"min.u32 %r20, %r10, %r11;", 0xffffffff, 1, 0, 1},
      {"max.s32 %r20, %r10, %r11;", 0xffffffff, 1, 0, 1},
      {"abs.s32 %r20, %r10;", 0xfffffffb, 0, 0, 5},
      {"neg.s32 %r20, %r10;", 5, 0, 0, 0xfffffffb},
  });
}

TEST(EmulatorAlu, ShiftsBeyondTheWidthGiveZeroOrTheSign) {
  check({
      {"shl.b32 %r20, %r10, %r11;", 1, 31, 0, 0x80000000},
      {"shl.b32 %r20, %r10, %r11;", 1, 32, 0, 0},
      {"shr.u32 %r20, %r10, %r11;", 0x80000000, 32, 0, 0},
      {"shr.s32 %r20, %r10, %r11;", 0x80000000, 40, 0, 0xffffffff},
      {"shf.l.wrap.b32 %r20, %r10, %r11, %r12;", 0x80000000, 1, 1, 3},
      {"shf.r.wrap.b32 %r20, %r10, %r11, %r12;", 2, 1, 1, 0x80000001},
  });
}

TEST(EmulatorAlu, BitsAndBytes) {
  check({
      {"popc.b32 %r20, %r10;", 0xf0f0, 0, 0, 8},
      {"clz.b32 %r20, %r10;", 1, 0, 0, 31},
      {"brev.b32 %r20, %r10;", 1, 0, 0, 0x80000000},
      {"prmt.b32 %r20, %r10, %r11, %r12;", 0x03020100, 0x07060504, 0x7531, 0x07050301},
      {"prmt.b32 %r20, %r10, %r11, %r12;", 0x80, 0, 0x8888, 0xffffffff},
      {"bfe.u32 %r20, %r10, %r11, %r12;", 0xabcd1234, 8, 8, 0x12},
      {"bfe.s32 %r20, %r10, %r11, %r12;", 0x0000f000, 8, 8, 0xfffffff0},
      {"bfe.s32 %r20, %r10, %r11, %r12;", 0x80000000, 28, 8, 0xfffffff8},
      {"bfi.b32 %r20, %r10, %r11, 8, 8;", 0xab, 0xffffffff, 0, 0xffffabff},
      {"bfi.b32 %r20, %r10, %r11, 4, 40;", 0xab, 0xffffffff, 0, 0xabf},
      {"lop3.b32 %r20, %r10, %r11, %r12, 0x96;", 0xff00ff00, 0xf0f0f0f0, 0xcccccccc, 0xc33cc33c},
      {"and.b32 %r20, %r10, %r11;", 12, 10, 0, 8},
      {"xor.b32 %r20, %r10, %r11;", 12, 10, 0, 6},
      {"not.b32 %r20, %r10;", 0, 0, 0, 0xffffffff},
  });
}

TEST(EmulatorAlu, SixteenBitRegistersIgnoreTheirUpperHalf) {
  check({
      {"add.s16 %h0, %h10, %h11; cvt.u32.u16 %r20, %h0;", 0xffff, 2, 0, 1},
      {"mul.wide.s16 %r20, %h10, %h11;", 0xffff, 3, 0, 0xfffffffd},
      {"mul.wide.u16 %r20, %h10, %h11;", 0xffff, 2, 0, 0x1fffe},
      {"setp.lt.s16 %p0, %h10, %h11; selp.b32 %r20, 1, 0, %p0;", 0xffff, 1, 0, 1},
      {"setp.lt.u16 %p0, %h10, %h11; selp.b32 %r20, 1, 0, %p0;", 0xffff, 1, 0, 0},
      {"shr.s16 %h0, %h10, 4; cvt.u32.u16 %r20, %h0;", 0x8000, 0, 0, 0xf800},
  });
}

TEST(EmulatorAlu, SinglePrecisionRoundsOnceAndFlushesOnDemand) {
  check({
      {"add.f32 %r20, %f10, %f11;", bits(1.f), bits(0x1p-24f), 0, bits(1.f)},
      {"fma.rn.f32 %r20, %f10, %f11, %f12;", bits(1.f + 0x1p-12f), bits(1.f + 0x1p-12f),
       bits(-1.f - 0x1p-11f), bits(0x1p-24f)},
      {"mul.f32 %r20, %f10, %f11;", bits(0x1p-100f), bits(0x1p-40f), 0, bits(0x1p-140f)},
      {"mul.ftz.f32 %r20, %f10, %f11;", bits(0x1p-100f), bits(0x1p-40f), 0, 0},
      {"add.ftz.f32 %r20, %f10, %f11;", bits(-0x1p-140f), bits(-0.f), 0, bits(-0.f)},
      {"div.rn.f32 %r20, %f10, %f11;", bits(1.f), bits(3.f), 0, bits(1.f / 3.f)},
      {"rcp.approx.f32 %r20, %f10;", bits(4.f), 0, 0, bits(0.25f)},
      {"sqrt.rn.f32 %r20, %f10;", bits(2.f), 0, 0, bits(std::sqrt(2.f))},
      {"neg.f32 %r20, %f10;", bits(0.f), 0, 0, bits(-0.f)},
      {"abs.f32 %r20, %f10;", bits(-2.f), 0, 0, bits(2.f)},
  });
}

TEST(EmulatorAlu, Exp2IsTheRoundedFunction) {
  for (float x : {0.f, 1.f, -1.f, 0.5f, -0.3f, 12.7f, -125.5f, -140.25f, 127.9f, 0.999999f})
    EXPECT_EQ(evaluate("ex2.approx.f32 %r20, %f10;", bits(x), 0, 0),
              bits(static_cast<float>(std::exp2(double(x)))))
        << x;
  check({
      {"ex2.approx.f32 %r20, %f10;", bits(-infinity), 0, 0, 0},
      {"ex2.approx.f32 %r20, %f10;", bits(200.f), 0, 0, bits(infinity)},
      {"ex2.approx.ftz.f32 %r20, %f10;", bits(-130.f), 0, 0, 0},
      {"lg2.approx.f32 %r20, %f10;", bits(8.f), 0, 0, bits(3.f)},
  });
}

TEST(EmulatorAlu, MinAndMaxReturnTheNumberBesideANaN) {
  check({
      {"max.f32 %r20, %f10, %f11;", nan32, bits(2.f), 0, bits(2.f)},
      {"min.f32 %r20, %f10, %f11;", bits(2.f), nan32, 0, bits(2.f)},
      {"max.NaN.f32 %r20, %f10, %f11;", nan32, bits(2.f), 0, 0x7fffffff},
      {"max.f32 %r20, %f10, %f11;", bits(-0.f), bits(0.f), 0, bits(0.f)},
      {"min.f32 %r20, %f10, %f11;", bits(-0.f), bits(0.f), 0, bits(-0.f)},
  });
}

TEST(EmulatorAlu, ComparisonsWithNaN) {
  for (const auto &[compare, expected] : {std::pair<std::string, uint32_t>{"eq", 0},
                                          {"ne", 0},
                                          {"lt", 0},
                                          {"ge", 0},
                                          {"equ", 1},
                                          {"neu", 1},
                                          {"ltu", 1},
                                          {"geu", 1},
                                          {"nan", 1},
                                          {"num", 0}})
    EXPECT_EQ(evaluate("setp." + compare + ".f32 %p0, %f10, %f11; selp.b32 %r20, 1, 0, %p0;", nan32,
                       bits(1.f), 0),
              expected)
        << compare;
}

TEST(EmulatorAlu, CombinedComparisons) {
  check({
      {"setp.eq.u32 %p1, 1, 1; setp.lt.and.s32 %p0, %r10, %r11, %p1; selp.b32 %r20, 1, 0, %p0;", 1,
       2, 0, 1},
      {"setp.eq.u32 %p1, 1, 1; setp.lt.and.s32 %p0, %r10, %r11, !%p1; selp.b32 %r20, 1, 0, %p0;", 1,
       2, 0, 0},
      {"setp.eq.u32 %p1, 1, 1; setp.lt.xor.s32 %p0, %r10, %r11, %p1; selp.b32 %r20, 1, 0, %p0;", 1,
       2, 0, 0},
  });
}

TEST(EmulatorAlu, ConversionsRoundToNearestEven) {
  check({
      {"cvt.rn.bf16.f32 %h0, %f10; cvt.u32.u16 %r20, %h0;", bits(1.f + 0x1p-8f), 0, 0, 0x3f80},
      {"cvt.rn.f16.f32 %h0, %f10; cvt.u32.u16 %r20, %h0;", bits(65520.f), 0, 0, 0x7c00},
      {"cvt.rn.f16.f32 %h0, %f10; cvt.u32.u16 %r20, %h0;", bits(0x1.8p-24f), 0, 0, 2},
      {"cvt.rn.bf16x2.f32 %r20, %f10, %f11;", bits(1.f), bits(2.f), 0, 0x3f804000},
      {"cvt.rn.f16x2.f32 %r20, %f10, %f11;", bits(1.f), bits(2.f), 0, 0x3c004000},
      {"cvt.rn.satfinite.e4m3x2.f32 %h0, %f10, %f11; cvt.u32.u16 %r20, %h0;", bits(1000.f),
       bits(-1.0625f), 0, 0x7eb8},
      {"cvt.rn.satfinite.e4m3x2.f32 %h0, %f10, %f11; cvt.u32.u16 %r20, %h0;", bits(0x1p-9f),
       bits(0x1p-11f), 0, 0x0100},
      {"cvt.f32.f16 %r20, %h10;", 1, 0, 0, bits(0x1p-24f)},
      {"cvt.f32.bf16 %r20, %h10;", 0x4040, 0, 0, bits(3.f)},
      {"cvt.rzi.s32.f32 %r20, %f10;", bits(-2.7f), 0, 0, 0xfffffffe},
      {"cvt.rni.s32.f32 %r20, %f10;", bits(2.5f), 0, 0, 2},
      {"cvt.rzi.s32.f32 %r20, %f10;", nan32, 0, 0, 0},
      {"cvt.rzi.u32.f32 %r20, %f10;", bits(-1.f), 0, 0, 0},
      {"cvt.rzi.s32.f32 %r20, %f10;", bits(1e20f), 0, 0, 0x7fffffff},
      {"cvt.rn.f32.s32 %r20, %r10;", 0xffffffff, 0, 0, bits(-1.f)},
      {"cvt.rn.f32.u32 %r20, %r10;", 0xffffffff, 0, 0, bits(0x1p32f)},
      {"cvt.u32.u8 %r20, %r10;", 0x1234, 0, 0, 0x34},
      {"cvt.s32.s8 %r20, %r10;", 0x80, 0, 0, 0xffffff80},
  });
}

TEST(EmulatorAlu, PackedHalves) {
  check({
      {"fma.rn.bf16x2 %r20, %r10, %r11, %r12;", 0x40003f80, 0x40404040, 0x3f803f80, 0x40e04080},
      // A tie that an addend far below a double's last bit decides.
      {"fma.rn.bf16x2 %r20, %r10, %r11, %r12;", 0x3f883f88, 0x3f883f88, 0x1c809c80, 0x3f913f90},
      {"add.rn.f16x2 %r20, %r10, %r11;", 0x3c003c00, 0x40003c00, 0, 0x42004000},
      {"max.bf16x2 %r20, %r10, %r11;", 0x7fc03f80, 0x40004000, 0, 0x40004000},
  });
}

TEST(EmulatorAlu, WideRegisters) {
  check({
      {"add.s64 %rd2, %rd10, -1; shr.u64 %rd2, %rd2, 32; cvt.u32.u64 %r20, %rd2;", 0, 0, 0,
       0xffffffff},
      {"mul.wide.s32 %rd2, %r10, %r11; mov.b64 {%r19, %r20}, %rd2;", 0xffffffff, 2, 0, 0xffffffff},
      {"mov.b64 %rd2, {%r10, %r11}; mov.b64 {%r20, _}, %rd2;", 5, 6, 0, 5},
      {"setp.lt.s64 %p0, %rd10, %rd11; selp.u32 %r20, 1, 0, %p0;", 1, 2, 0, 1},
      {"mov.b32 {%h0, %h1}, %r10; mov.b32 %r20, {%h1, %h0};", 0x12345678, 0, 0, 0x56781234},
  });
}

TEST(EmulatorAlu, PartialMasksLeaveOtherLanesAlone) {
  Probe probe;
  probe.body = "mov.u32 %r20, 7;\nsetp.lt.u32 %p0, %r0, 5;\n@%p0 add.u32 %r20, %r20, %r0;\n"
               "@!%p0 mov.u32 %r20, 1;\n" +
               storeResult("%r20");
  Result<Outcome> outcome = probe.run();
  ASSERT_TRUE(outcome && !outcome->finding);
  for (uint32_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(probe.out[lane], lane < 5 ? 7 + lane : 1);
}

TEST(EmulatorAlu, UpperHalvesOfProducts) {
  check({
      {"mul.hi.s64 %rd2, -3, 0x4000000000000000; cvt.u32.u64 %r20, %rd2;", 0, 0, 0, 0xffffffff},
      {"neg.s64 %rd2, %rd10; mul.hi.s64 %rd2, %rd2, 0x7fffffffffffffff; cvt.u32.u64 %r20, %rd2;",
       10, 0, 0, 0xfffffffb},
      {"mul.hi.u64 %rd2, -1, -1; cvt.u32.u64 %r20, %rd2;", 0, 0, 0, 0xfffffffe},
      {"mul.hi.s16 %h0, %h10, %h11; cvt.u32.u16 %r20, %h0;", 0x8000, 6, 0, 0xfffd},
      {"mul.hi.u16 %h0, %h10, %h11; cvt.u32.u16 %r20, %h0;", 0x8000, 6, 0, 3},
      {"brev.b64 %rd2, %rd10; shr.u64 %rd2, %rd2, 32; cvt.u32.u64 %r20, %rd2;", 6, 0, 0,
       0x60000000},
  });
}

TEST(EmulatorAlu, SixteenBitDivisionAndMinima) {
  check({
      {"div.s16 %h0, %h10, %h11; cvt.u32.u16 %r20, %h0;", 0xfff9, 2, 0, 0xfffd}, // -7 / 2 = -3
      {"div.s16 %h0, %h10, %h11; cvt.u32.u16 %r20, %h0;", 0x8000, 0xffff, 0, 0x8000},
      {"div.u16 %h0, %h10, %h11; cvt.u32.u16 %r20, %h0;", 0xfff9, 2, 0, 0x7ffc},
      {"div.u16 %h0, %h10, %h11; cvt.u32.u16 %r20, %h0;", 5, 0, 0, 0xffff},
      {"rem.s16 %h0, %h10, %h11; cvt.u32.u16 %r20, %h0;", 0xfff9, 2, 0, 0xffff},
      {"rem.u16 %h0, %h10, %h11; cvt.u32.u16 %r20, %h0;", 0xfff9, 10, 0, 9},
      {"min.s16 %h0, %h10, %h11; cvt.u32.u16 %r20, %h0;", 0xfff9, 2, 0, 0xfff9},
      {"min.u16 %h0, %h10, %h11; cvt.u32.u16 %r20, %h0;", 0xfff9, 2, 0, 2},
      {"max.s16 %h0, %h10, %h11; cvt.u32.u16 %r20, %h0;", 0xfff9, 2, 0, 2},
      {"max.u16 %h0, %h10, %h11; cvt.u32.u16 %r20, %h0;", 0xfff9, 2, 0, 0xfff9},
      {"neg.s16 %h0, %h10; cvt.u32.u16 %r20, %h0;", 1, 0, 0, 0xffff},
      {"abs.s16 %h0, %h10; cvt.u32.u16 %r20, %h0;", 0xfff9, 0, 0, 7},
      {"min.s16x2 %r20, %r10, %r11;", 0xffff0005, 0x00017fff, 0, 0xffff0005},
      {"max.u16x2 %r20, %r10, %r11;", 0xffff0005, 0x00017fff, 0, 0xffff7fff},
      {"add.s16x2 %r20, %r10, %r11;", 0xffff0005, 0x00020003, 0, 0x00010008},
  });
}

TEST(EmulatorAlu, ReluTakesNegativeResultsToZero) {
  check({
      {"min.relu.s32 %r20, %r10, %r11;", 0xfffffff0, 3, 0, 0},
      {"min.relu.s32 %r20, %r10, %r11;", 7, 3, 0, 3},
      {"max.relu.s32 %r20, %r10, %r11;", 0xfffffff0, 0xfffffff8, 0, 0},
      {"max.relu.s32 %r20, %r10, %r11;", 0xfffffff0, 3, 0, 3},
      {"min.relu.s16x2 %r20, %r10, %r11;", 0xffff0005, 0x00010004, 0, 0x00000004},
      {"max.relu.s16x2 %r20, %r10, %r11;", 0xffff0005, 0xfffe0004, 0, 0x00000005},
      {"cvt.rn.relu.bf16x2.f32 %r20, %f10, %f11;", bits(-1), bits(2), 0, 0x00004000},
      {"cvt.rn.relu.f16x2.f32 %r20, %f10, %f11;", bits(1), bits(-2), 0, 0x3c000000},
      {"fma.rn.relu.bf16 %h0, %h10, %h11, %h10; cvt.u32.u16 %r20, %h0;", 0x3f80, 0xc000, 0, 0},
      {"fma.rn.relu.f16x2 %r20, %r10, %r11, %r12;", 0x3c003c00, 0x4000c000, 0, 0x40000000},
  });
}

TEST(EmulatorAlu, HalvesCompareAsNumbers) {
  constexpr const char *select = " selp.b32 %r20, 1, 0, %p0;";
  for (const auto &[comparison, a, b, expected] :
       {std::tuple<std::string, uint32_t, uint32_t, uint32_t>{"eq.f16", 0x8000, 0, 1},
        {"lt.f16", 0xbc00, 0x3c00, 1},
        {"gt.bf16", 0x3f80, 0xbf80, 1},
        {"ge.bf16", 0x7fc0, 0, 0},
        {"geu.bf16", 0x7fc0, 0, 1},
        {"ne.f16", 0x7e00, 0, 0},
        {"neu.f16", 0x7e00, 0, 1},
        {"nan.bf16", 0x3f80, 0x7fff, 1},
        {"num.bf16", 0x3f80, 0x7f80, 1}})
    EXPECT_EQ(evaluate("setp." + comparison + " %p0, %h10, %h11;" + select, a, b, 0), expected)
        << comparison;
  check({
      {"max.NaN.bf16x2 %r20, %r10, %r11;", 0x3f803f80, 0x7fc04000, 0, 0x7fff4000},
      {"min.NaN.f16x2 %r20, %r10, %r11;", 0x3c007e00, 0x40003c00, 0, 0x3c007fff},
  });
}

TEST(EmulatorAlu, FloatsHaveClasses) {
  constexpr const char *select = " selp.b32 %r20, 1, 0, %p0;";
  for (const auto &[test, value, expected] :
       {std::tuple<std::string, uint32_t, uint32_t>{"finite", bits(3), 1},
        {"finite", bits(infinity), 0},
        {"infinite", bits(-infinity), 1},
        {"infinite", nan32, 0},
        {"number", bits(infinity), 1},
        {"notanumber", nan32, 1},
        {"normal", 0x00800000, 1},
        {"normal", 0x007fffff, 0},
        {"subnormal", 0x007fffff, 1},
        {"subnormal", 0, 0}})
    EXPECT_EQ(evaluate("testp." + test + ".f32 %p0, %f10;" + select, value, 0, 0), expected)
        << test << " of " << value;
}

TEST(EmulatorAlu, IntegersOfEveryWidthToAndFromFloats) {
  check({
      {"cvt.rzi.s16.f32 %h0, %f10; cvt.u32.u16 %r20, %h0;", bits(-3.9f), 0, 0, 0xfffd},
      {"cvt.rzi.u16.f32 %h0, %f10; cvt.u32.u16 %r20, %h0;", bits(70000), 0, 0, 0xffff},
      {"cvt.rn.f32.s16 %f0, %h10; mov.b32 %r20, %f0;", 0xfffd, 0, 0, bits(-3)},
      {"cvt.rzi.s64.f32 %rd2, %f10; shr.u64 %rd2, %rd2, 32; cvt.u32.u64 %r20, %rd2;",
       bits(-0x1p40f), 0, 0, 0xffffff00},
      {"cvt.rzi.s64.f32 %rd2, %f10; shr.u64 %rd2, %rd2, 32; cvt.u32.u64 %r20, %rd2;", nan32, 0, 0,
       0x80000000},
      {"cvt.rzi.s32.f32 %r20, %f10;", nan32, 0, 0, 0},
      {"cvt.f64.f32 %d0, %f10; cvt.rzi.s32.f64 %r20, %d0;", bits(-7.5f), 0, 0, 0xfffffff9},
      {"cvt.f64.f32 %d0, %f10; cvt.rzi.s32.f64 %r20, %d0;", nan32, 0, 0, 0x80000000},
      {"cvt.rn.f64.s64 %d0, %rd10; cvt.rzi.u32.f64 %r20, %d0;", 123456789, 0, 0, 123456789},
      {"cvt.rn.f16.s32 %h0, %r10; cvt.u32.u16 %r20, %h0;", 2049, 0, 0, 0x6800},
      {"cvt.rn.bf16.u32 %h0, %r10; cvt.u32.u16 %r20, %h0;", 257, 0, 0, 0x4380},
      // 2^62 + 2^54 + 1 lies above a tie of bf16, which a double does not see.
      {"shl.b64 %rd2, %rd10, 54; add.s64 %rd2, %rd2, 1; cvt.rn.bf16.s64 %h0, %rd2; "
       "cvt.u32.u16 %r20, %h0;",
       257, 0, 0, 0x5e81},
      {"cvt.rzi.s32.bf16 %r20, %h10;", 0xc0e0, 0, 0, 0xfffffff9}, // -7
      {"cvt.rzi.u64.f16 %rd2, %h10; cvt.u32.u64 %r20, %rd2;", 0x4700, 0, 0, 7},
      {"cvt.rmi.bf16.bf16 %h0, %h10; cvt.u32.u16 %r20, %h0;", 0xbf00, 0, 0, 0xbf80}, // -0.5 to -1
      {"cvt.rni.f16.f16 %h0, %h10; cvt.u32.u16 %r20, %h0;", 0x3e00, 0, 0, 0x4000},   // 1.5 to 2
      {"cvt.f64.bf16 %d0, %h10; cvt.rn.f16.f64 %h0, %d0; cvt.u32.u16 %r20, %h0;", 0x3f80, 0, 0,
       0x3c00},
      {"cvt.rmi.ftz.f32.f32 %f0, %f10; mov.b32 %r20, %f0;", 0x80000001, 0, 0, 0x80000000},
      {"cvt.rzi.ftz.s32.f32 %r20, %f10;", bits(2.5f), 0, 0, 2},
      {"cvt.ftz.f32.bf16 %f0, %h10; mov.b32 %r20, %f0;", 0x0001, 0, 0, 0},
  });
}

TEST(EmulatorAlu, DoubleMinimaAndSigns) {
  check({
      {"cvt.f64.f32 %d0, %f10; cvt.f64.f32 %d1, %f11; min.f64 %d2, %d0, %d1; cvt.rn.f32.f64 %f0, "
       "%d2; mov.b32 %r20, %f0;",
       bits(2), nan32, 0, bits(2)},
      {"cvt.f64.f32 %d0, %f10; cvt.f64.f32 %d1, %f11; max.f64 %d2, %d0, %d1; cvt.rn.f32.f64 %f0, "
       "%d2; mov.b32 %r20, %f0;",
       bits(-0.f), bits(0), 0, bits(0)},
      {"cvt.f64.f32 %d0, %f10; cvt.f64.f32 %d1, %f11; copysign.f64 %d2, %d0, %d1; cvt.rn.f32.f64 "
       "%f0, %d2; mov.b32 %r20, %f0;",
       bits(-1), bits(3), 0, bits(-3)},
  });
}

} // namespace
