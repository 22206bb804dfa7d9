//===- EmulatedKernelTest.cpp - Generated kernels through the runtime -----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/EmulatedKernel.h"
#include "tests/unit/Target/EmulatedKernel.h"

using namespace tilewright;
using namespace tilewright::reference;
using testing::HasSubstr;

namespace {
/// Causal attention over 130 positions, 4 heads and 2 key heads, through the kernel's image.
struct EmulatedKernelTest : testing::Test {
  static const KernelImage &image() {
    static const KernelImage forward = imageOfFile("forward.sm.mlir");
    return forward;
  }

  Case problem{{.queries = 130,
                .keys = 130,
                .d = 128,
                .dv = 128,
                .heads = 4,
                .kvHeads = 2,
                .dtype = DType::BF16},
               noise(1),
               noise(2),
               noise(3)};
  Array out = makeArray(DType::BF16, {1, 4, 130, 128}, constant(0));
  Array lse = makeArray(DType::F32, {1, 4, 130}, constant(0));

  void SetUp() override { problem.mask("k <= q"); }

  Arguments arguments() {
    Arguments result;
    result.query = problem.problem.q;
    result.key = problem.problem.k;
    result.value = problem.problem.v;
    result.out = out.view;
    result.lse = lse.view;
    return result;
  }

  void expectRight() {
    Result<Comparison> comparison = compare(problem.problem, problem.run(2), out.view, lse.view, 2);
    ASSERT_TRUE(comparison) << comparison.error().message();
    EXPECT_TRUE(comparison->passed) << comparison->describe();
  }
};
} // namespace

TEST_F(EmulatedKernelTest, ComputesWhatTheReferenceDoes) {
  const std::string bytes = encode(image());
  Result<Kernel> kernel = emulateKernel(std::as_bytes(std::span(bytes)), {.seeds = 2});
  ASSERT_TRUE(kernel) << kernel.error().message();
  Status done = kernel->run(arguments());
  ASSERT_TRUE(done) << done.error().message();
  expectRight();
}

TEST_F(EmulatedKernelTest, TakesOutputsWithGapsAndTransposedInputs) {
  // out is [b, t, h, d] with a gap behind each row.
  std::vector<uint16_t> memory(130 * 4 * 136, 0x7fff);
  Arguments given = arguments();
  const int64_t shape[] = {1, 4, 130, 128}, strides[] = {130 * 4 * 136, 136, 4 * 136, 1};
  given.out = TensorView(memory.data(), DType::BF16, shape, strides);
  Result<Kernel> kernel = makeEmulatedKernel(image(), {});
  ASSERT_TRUE(kernel);
  Status done = kernel->run(given);
  ASSERT_TRUE(done) << done.error().message();
  out.view = given.out;
  expectRight();
  EXPECT_EQ(memory[128], 0x7fff);
}

TEST_F(EmulatedKernelTest, WritesEmptyRowsWithoutKeys) {
  Arguments given = arguments();
  given.key = TensorView(nullptr, DType::BF16, {1, 2, 0, 128});
  given.value = TensorView(nullptr, DType::BF16, {1, 2, 0, 128});
  Result<Kernel> kernel = makeEmulatedKernel(image(), {});
  ASSERT_TRUE(kernel);
  Status done = kernel->run(given);
  ASSERT_TRUE(done) << done.error().message();
  for (int64_t i = 0; i < 4 * 130; ++i) {
    EXPECT_EQ(static_cast<const float *>(lse.view.data)[i], -INFINITY) << i;
    EXPECT_EQ(static_cast<const uint16_t *>(out.view.data)[i * 128 + i % 128], 0) << i;
  }
}

TEST_F(EmulatedKernelTest, ReportsByTheNamesOfArguments) {
  // A kernel that is told of more queries than there are writes beyond out.
  KernelImage wrong = image();
  for (KernelParameter &parameter : wrong.launches[0].parameters)
    if (parameter.kind == KernelParameter::Kind::Extent && parameter.argument >= 3)
      parameter = {KernelParameter::Kind::Extent, 0, 3}; // head_dim: 128 of 100
  Arguments given = arguments();
  for (TensorView *view : {&given.query, &given.out, &*given.lse})
    view->shape[2] = 100;
  Result<EmulatedKernel> kernel = EmulatedKernel::make(wrong);
  ASSERT_TRUE(kernel) << kernel.error().message();
  std::istringstream commands;
  std::ostringstream answers;
  Result<emulator::Report> report = kernel->run(given, {}, commands, answers);
  ASSERT_TRUE(report) << report.error().message();
  ASSERT_FALSE(report->findings.empty());
  EXPECT_EQ(report->findings[0].kind, emulator::FindingKind::OutOfBounds);

  Result<Kernel> asKernel = makeEmulatedKernel(wrong, {});
  ASSERT_TRUE(asKernel);
  Status done = asKernel->run(given);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message(), HasSubstr(wrong.launches[0].kernel + ": "));
}

TEST_F(EmulatedKernelTest, ReportsByTheNamesOfRings) {
  const KernelLaunch &launch = image().launches[0];
  ASSERT_EQ(launch.rings.size(), 3u);
  EXPECT_EQ(
      launch.rings[1],
      (SharedRing{
          .name = "keys", .stages = 2, .stageBytes = 32768, .offset = 32768, .barriers = 163856}));
  // The first finding after the `number`-th `instruction` was replaced.
  const auto findingWith = [&](std::string_view instruction, size_t number,
                               std::string_view replacement, uint32_t ringMovedBy = 0) {
    KernelImage faulty = image();
    faulty.launches[0].rings[1].offset -= ringMovedBy;
    size_t at = faulty.ptx.find(instruction);
    while (number-- > 0)
      at = faulty.ptx.find(instruction, at + 1);
    faulty.ptx.replace(at, faulty.ptx.find(';', at) - at, replacement);
    const Result<EmulatedKernel> kernel = EmulatedKernel::make(faulty);
    EXPECT_TRUE(kernel) << kernel.error().message();
    std::istringstream commands;
    std::ostringstream answers;
    const Result<emulator::Report> report = kernel->run(arguments(), {}, commands, answers);
    EXPECT_TRUE(report) << report.error().message();
    return report && !report->findings.empty() ? report->findings[0] : emulator::Finding();
  };

  // The producer of values does not arrive: consumers wait for them.
  const emulator::Finding noArrival =
      findingWith("mbarrier.arrive.shared::cta.b64 _", 0, "mov.u32 %r0, %r0");
  EXPECT_EQ(noArrival.kind, emulator::FindingKind::Deadlock);
  EXPECT_THAT(toText(noArrival), HasSubstr("waits for the mbarrier at 164912 (the full barrier of "
                                           "stage 0 of ring values), parity 0"));

  // Consumers do not wait for keys and read what is being written.
  constexpr std::string_view wait = "mbarrier.try_wait", pass = "setp.eq.u32 p, 0, 0";
  const emulator::Finding noWait = findingWith(wait, 4, pass);
  EXPECT_EQ(noWait.kind, emulator::FindingKind::Race);
  EXPECT_EQ(noWait.place, "stage 0 of ring keys");
  EXPECT_THAT(toText(noWait), HasSubstr("\n  shared address 33792: stage 0 of ring keys\n"));
  EXPECT_THAT(toJson(noWait), HasSubstr(R"("address": 33792, "place": "stage 0 of ring keys")"));
  EXPECT_EQ(findingWith(wait, 4, pass, 1024).place, "byte 1024 of stage 0 of ring keys");

  // One of two barriers is missing.
  EXPECT_EQ(findingWith("mbarrier.init", 1, "mov.u32 %r0, %r0").place,
            "the empty barrier of stage 0 of ring queries");
}

TEST_F(EmulatedKernelTest, HoldsTheRulesOfTheGpu) {
  Result<Kernel> kernel = makeEmulatedKernel(image(), {});
  ASSERT_TRUE(kernel);
  Arguments given = arguments();
  given.key.strides[2] = 129;
  given.key.shape[2] = given.value.shape[2] = 100;
  Status done = kernel->run(given);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message(), HasSubstr("key: the stride of dimension 2"));
  EXPECT_FALSE(makeEmulatedKernel(image(), {.seeds = 0}));
}

TEST_F(EmulatedKernelTest, LaunchesNothingWithoutQueries) {
  Arguments given = arguments();
  given.query.shape[2] = given.out.shape[2] = given.lse->shape[2] = 0;
  Result<Kernel> kernel = makeEmulatedKernel(image(), {});
  ASSERT_TRUE(kernel);
  EXPECT_TRUE(kernel->run(given));
}

TEST(LoadKernel, RefusesWhatIsNoImage) {
  const std::string_view text = "not an image";
  const auto bytes = std::as_bytes(std::span(text));
  EXPECT_THAT(loadKernel(bytes).error().message(), HasSubstr("kernel image: it is none"));
  EXPECT_THAT(emulateKernel(bytes).error().message(), HasSubstr("kernel image: it is none"));
}
