//===- MatrixTest.cpp - wgmma, ldmatrix, stmatrix, mma.sync ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Emulator/Fragments.h"
#include "tests/unit/Emulator/Probe.h"

#include <bit>
#include <cstring>

using namespace tilewright;
using namespace tilewright::emulator;
using namespace tilewright::emulator::test;

namespace {

uint16_t bf16(float value) {
  return static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16);
}

/// A warpgroup multiplies A (64 x 16, registers) with B (16 x 8): every thread fills B's 256 bytes
/// itself, and A is the thread's number in every element. Pieces can be replaced.
struct Wgmma {
  std::string proxyFence = "fence.proxy.async;\n", fence = "wgmma.fence.sync.aligned;\n";
  std::string touch, commit = "wgmma.commit_group.sync.aligned;\n";
  std::string wait = "wgmma.wait_group.sync.aligned 0;\n", after;
  std::string instruction = "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 "
                            "{%f0, %f1, %f2, %f3}, {%r10, %r10, %r10, %r10}, %rd5, %p5, 1, 1, 0;\n";
  std::string scale = "setp.ne.u32 %p5, 0, 0;\n";
  uint32_t threads = 128;

  Probe probe() const {
    Probe result;
    result.threads = threads;
    result.body = fmt::format(
        // B without a swizzle: LBO 128, SBO 256; 64 words, element (k, n) = n + 1.
        "setp.ge.u32 %p0, %r0, 64;\n@%p0 bra FILLED;\nshl.b32 %r2, %r0, 2;\nadd.u32 %r3, %r1, "
        "%r2;\n"
        "shr.u32 %r4, %r0, 2;\nand.b32 %r4, %r4, 7;\nadd.u32 %r4, %r4, 1;\ncvt.rn.f32.u32 %f10, "
        "%r4;\n"
        "cvt.rn.bf16x2.f32 %r5, %f10, %f10;\nst.shared.b32 [%r3], %r5;\nFILLED:\n{}bar.sync 0;\n"
        "cvt.rn.f32.u32 %f11, %r0;\ncvt.rn.bf16x2.f32 %r10, %f11, %f11;\n"
        "mov.f32 %f0, 0f3F800000;\nmov.f32 %f1, %f0;\nmov.f32 %f2, %f0;\nmov.f32 %f3, %f0;\n"
        "shr.u32 %r6, %r1, 4;\ncvt.u64.u32 %rd5, %r6;\nor.b64 %rd5, %rd5, {};\n{}{}{}{}{}{}{}"
        "mul.wide.u32 %rd6, %r0, 16;\nadd.s64 %rd6, %rd0, %rd6;\n"
        "st.global.v4.f32 [%rd6], {{%f0, %f1, %f2, %f3}};\n",
        proxyFence, uint64_t(256 / 16) << 32 | uint64_t(128 / 16) << 16, scale, fence, touch,
        instruction, commit, wait, after);
    return result;
  }
};

TEST(EmulatorWgmma, MultipliesAndAccumulates) {
  for (bool accumulate : {false, true}) {
    Wgmma wgmma;
    wgmma.scale = accumulate ? "setp.eq.u32 %p5, 0, 0;\n" : wgmma.scale;
    Probe probe = wgmma.probe();
    probe.expectClean(8);
    for (uint32_t thread = 0; thread < 128; ++thread)
      for (uint32_t i = 0; i < 4; ++i) {
        // Row r of A holds, for k = 2t, 2t+1 and 2t+8, 2t+9, the numbers of its four threads.
        const MatrixElement place = accumulatorElement(thread % 32, i);
        float sum = accumulate ? 1.f : 0.f;
        for (uint32_t t = 0; t < 4; ++t)
          sum += 4.f * static_cast<float>(thread / 32 * 32 + place.row % 8 * 4 + t) *
                 static_cast<float>(place.column + 1);
        EXPECT_EQ(std::bit_cast<float>(probe.out[4 * thread + i]), sum) << thread << " " << i;
      }
  }
}

TEST(EmulatorWgmma, OrdinaryWritesNeedAProxyFence) {
  Wgmma wgmma;
  wgmma.proxyFence = "";
  wgmma.probe().expectFinding(FindingKind::MissingProxyFence, "wgmma reads B");
}

TEST(EmulatorWgmma, RegistersNeedAWgmmaFence) {
  Wgmma wgmma;
  wgmma.fence = "";
  wgmma.probe().expectFinding(FindingKind::MissingWgmmaFence, "accumulator register 0");
  wgmma = Wgmma();
  wgmma.touch = "mov.b32 %r10, %r5;\n";
  wgmma.probe().expectFinding(FindingKind::MissingWgmmaFence, "A register 0");
}

TEST(EmulatorWgmma, RegistersInFlightAreLeftAlone) {
  Wgmma wgmma;
  wgmma.wait = "";
  wgmma.after = "wgmma.wait_group.sync.aligned 1;\n";
  wgmma.probe().expectFinding(FindingKind::InFlightRegister, "an accumulator");
  wgmma.wait = "mov.u32 %r10, 0;\n";
  wgmma.after = "wgmma.wait_group.sync.aligned 0;\n";
  wgmma.probe().expectFinding(FindingKind::InFlightRegister, "an A register");
  wgmma.commit = "";
  wgmma.wait = "wgmma.wait_group.sync.aligned 0;\n";
  wgmma.after = "";
  wgmma.probe().expectFinding(FindingKind::InFlightRegister, "an accumulator");
}

TEST(EmulatorWgmma, SharedMemoryInUseIsNotOverwritten) {
  Wgmma wgmma;
  wgmma.wait = "@!%p0 st.shared.b32 [%r3], %r5;\n";
  wgmma.after = "wgmma.wait_group.sync.aligned 0;\n";
  wgmma.probe().expectFinding(FindingKind::Race, "which a wgmma of warp");
  // Waiting for the own group is not enough: the other warps read, too.
  wgmma.wait = "wgmma.wait_group.sync.aligned 0;\n";
  wgmma.after = "@!%p0 st.shared.b32 [%r3], %r5;\n";
  wgmma.probe().expectFinding(FindingKind::Race, "which a wgmma of warp");
  wgmma.after = "bar.sync 0;\n@!%p0 st.shared.b32 [%r3], %r5;\n";
  wgmma.probe().expectClean();
}

TEST(EmulatorWgmma, TheFourWarpsRunOneSequence) {
  Wgmma wgmma;
  wgmma.scale = "setp.lt.u32 %p5, %r0, 32;\n"; // scale-d differs between warps
  wgmma.probe().expectFinding(FindingKind::NonUniform, "ran another wgmma at this place");
  wgmma.scale = "setp.lt.u32 %p5, %r0, 16;\n"; // and here inside one
  wgmma.probe().expectFinding(FindingKind::NonUniform, "scale-d differs between lanes");
  wgmma = Wgmma();
  wgmma.threads = 64;
  wgmma.probe().expectFinding(FindingKind::NonUniform, "fewer than four warps");
}

TEST(EmulatorWgmma, DescriptorsAreChecked) {
  auto withDescriptor = [](const std::string &change) {
    Wgmma wgmma;
    wgmma.touch = change;
    return wgmma.probe();
  };
  withDescriptor("or.b64 %rd5, %rd5, 16384;\n")
      .expectFinding(FindingKind::Descriptor, "reserved bits", 1);
  withDescriptor("or.b64 %rd5, %rd5, 562949953421312;\n") // base offset 1
      .expectFinding(FindingKind::Unsupported, "base offset", 1);
  withDescriptor("add.s64 %rd5, %rd5, 8;\nor.b64 %rd5, %rd5, 4611686018427387904;\n")
      .expectFinding(FindingKind::Descriptor, "not on row 0", 1);
  withDescriptor("add.s64 %rd5, %rd5, 16;\n").expectFinding(FindingKind::Unwritten, "", 1);
  withDescriptor("add.s64 %rd5, %rd5, 1024;\n").expectFinding(FindingKind::OutOfBounds, "", 1);
}

TEST(EmulatorWgmma, EndingInFlightIsUnfinishedWork) {
  Wgmma wgmma;
  wgmma.wait = "ret;\n";
  wgmma.probe().expectFinding(FindingKind::Unfinished, "wgmmas in flight");
}

TEST(EmulatorFragments, DescriptorFields) {
  const MatrixDescriptor descriptor(uint64_t(1) << 62 | uint64_t(64) << 32 | uint64_t(8) << 16 |
                                    66);
  EXPECT_EQ(descriptor.start, 1056u);
  EXPECT_EQ(descriptor.leading, 128u);
  EXPECT_EQ(descriptor.stride, 1024u);
  EXPECT_EQ(descriptor.rowBytes, 128u);
  EXPECT_TRUE(descriptor.startsOnRowZero());
  EXPECT_EQ(descriptor.kMajor(1, 0), swizzled(1056 + 128, 7));
  EXPECT_FALSE(MatrixDescriptor(uint64_t(1) << 62 | 8).startsOnRowZero());
}

TEST(EmulatorMatrixMoves, LdmatrixAndStmatrixAreInverse) {
  for (const char *transpose : {"", ".trans"}) {
    Probe probe;
    // Four 8x8 matrices of 16-bit numbers, element e of matrix j at 128 j + 2 e.
    probe.body =
        fmt::format(
            "shl.b32 %r2, %r0, 4;\nadd.u32 %r3, %r1, %r2;\nshl.b32 %r4, %r0, 3;\nadd.u32 %r5, %r4, "
            "65536;\n"
            "mad.lo.u32 %r6, %r0, 524296, 65536;\nmov.u32 %r10, %r6;\nadd.u32 %r11, %r6, 131074;\n"
            "add.u32 %r12, %r6, 262148;\nadd.u32 %r13, %r6, 393222;\n"
            "st.shared.v4.b32 [%r3], {{%r10, %r11, %r12, %r13}};\nbar.warp.sync -1;\n"
            "ldmatrix.sync.aligned.m8n8.x4{0}.shared.b16 {{%r20, %r21, %r22, %r23}}, [%r3];\n"
            "stmatrix.sync.aligned.m8n8.x4{0}.shared.b16 [%r3+512], {{%r20, %r21, %r22, %r23}};\n"
            "bar.warp.sync -1;\nld.shared.v4.b32 {{%r14, %r15, %r16, %r17}}, [%r3+512];\n"
            "sub.u32 %r14, %r14, %r10;\nsub.u32 %r15, %r15, %r11;\nsub.u32 %r16, %r16, %r12;\n"
            "sub.u32 %r17, %r17, %r13;\nor.b32 %r14, %r14, %r15;\nor.b32 %r16, %r16, %r17;\n"
            "or.b32 %r14, %r14, %r16;\nshl.b32 %r21, %r21, 8;\nadd.u32 %r14, %r14, %r21;\n",
            transpose) +
        storeResult("%r14");
    probe.expectClean(2);
    // Matrix 1, lane 4g + t: elements (g, 2t) and (g, 2t + 1), or transposed.
    for (uint32_t lane = 0; lane < 32; ++lane) {
      const uint32_t row = *transpose ? lane % 4 * 2 : lane / 4;
      const uint32_t column = *transpose ? lane / 4 : lane % 4 * 2;
      const uint32_t number = 64 + 8 * row + column, step = *transpose ? 8 : 1;
      EXPECT_EQ(probe.out[lane], (number | (number + step) << 16) << 8) << lane << transpose;
    }
  }
}

TEST(EmulatorMmaSync, MultipliesA16x16By16x8) {
  Probe probe;
  auto aAt = [](uint32_t row, uint32_t k) { return static_cast<float>((row * 3 + k) % 7); };
  auto bAt = [](uint32_t k, uint32_t column) { return static_cast<float>((k + 5 * column) % 9); };
  for (uint32_t lane = 0; lane < 32; ++lane) {
    for (uint32_t q = 0; q < 4; ++q) {
      const uint32_t row = lane / 4 + 8 * (q & 1), k = lane % 4 * 2 + 8 * (q >> 1);
      probe.in[8 * lane + q] = uint32_t(bf16(aAt(row, k + 1))) << 16 | bf16(aAt(row, k));
    }
    for (uint32_t q = 0; q < 2; ++q) {
      const uint32_t k = lane % 4 * 2 + 8 * q, column = lane / 4;
      probe.in[8 * lane + 4 + q] = uint32_t(bf16(bAt(k + 1, column))) << 16 | bf16(bAt(k, column));
    }
  }
  probe.body = "mul.wide.u32 %rd2, %r0, 32;\nadd.s64 %rd3, %rd1, %rd2;\n"
               "ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%rd3];\n"
               "ld.global.v2.b32 {%r14, %r15}, [%rd3+16];\nmov.f32 %f4, 0f3F000000;\n"
               "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f0, %f1, %f2, %f3}, "
               "{%r10, %r11, %r12, %r13}, {%r14, %r15}, {%f4, %f4, %f4, %f4};\n"
               "mul.wide.u32 %rd4, %r0, 16;\nadd.s64 %rd4, %rd0, %rd4;\n"
               "st.global.v4.f32 [%rd4], {%f0, %f1, %f2, %f3};";
  probe.expectClean(1);
  for (uint32_t lane = 0; lane < 32; ++lane)
    for (uint32_t i = 0; i < 4; ++i) {
      const MatrixElement place = accumulatorElement(lane, i);
      float sum = 0.5f;
      for (uint32_t k = 0; k < 16; ++k)
        sum += aAt(place.row, k) * bAt(k, place.column);
      EXPECT_EQ(std::bit_cast<float>(probe.out[4 * lane + i]), sum);
    }
}

} // namespace
