//===- PtxForwardTest.cpp - The hand-written sm program, executed ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Pipelines/CpuPipeline.h"
#include "compiler/Pipelines/GpuPipeline.h"
#include "compiler/Pipelines/Register.h"
#include "compiler/Target/PTX/Codegen.h"
#include "tests/unit/Target/EmulatedKernel.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

using namespace tilewright;
using namespace tilewright::reference;

static CompiledKernel compileProgram(const std::string &path) {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(path, &context);
  EXPECT_TRUE(module);
  if (!module)
    return {};
  Status lowered =
      runPipeline(*module, "sm-verify-protocol," + smToNVVMPipeline() + "," + nvvmToLLVMPipeline());
  EXPECT_TRUE(lowered) << lowered.error().message();
  if (!lowered)
    return {};
  Result<std::vector<PtxKernel>> kernels = kernelsOf(*module);
  EXPECT_TRUE(kernels && kernels->size() == 1);
  llvm::LLVMContext llvmContext;
  Result<std::unique_ptr<llvm::Module>> translated = ptx::translateToLLVM(*module, llvmContext);
  EXPECT_TRUE(translated) << translated.error().message();
  Result<std::string> text = ptx::emitPtx(**translated);
  EXPECT_TRUE(text) << text.error().message();
  return {*text, kernels->front()};
}

static const CompiledKernel &handWritten() {
  static const CompiledKernel kernel =
      compileProgram(TILEWRIGHT_SOURCE_DIR "/tests/lit/SM/Inputs/forward.sm.mlir");
  return kernel;
}

static void expectRight(const Case &c, uint64_t seeds, double scale = 1 / std::sqrt(128.0)) {
  const Problem &problem = c.problem;
  const int64_t batch = problem.q.shape[0], heads = problem.q.shape[1], rows = problem.q.shape[2];
  const Output right = c.run(2);
  Array out = makeArray(DType::BF16, {batch, heads, rows, 128}, constant(0));
  Array lse = makeArray(DType::F32, {batch, heads, rows}, constant(0));
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    emulator::Outcome outcome =
        emulate(handWritten(), problem, out.view, lse.view, scale, 128, {.seed = seed});
    ASSERT_FALSE(outcome.finding) << emulator::toText(*outcome.finding);
    Result<Comparison> comparison = compare(problem, right, out.view, lse.view, 2);
    ASSERT_TRUE(comparison) << comparison.error().message();
    ASSERT_TRUE(comparison->passed) << "seed " << seed << ": " << comparison->describe();
  }
}

static Case causal(int64_t length, int64_t heads = 1, int64_t kvHeads = 1) {
  Case c({.queries = length,
          .keys = length,
          .d = 128,
          .dv = 128,
          .heads = heads,
          .kvHeads = kvHeads,
          .dtype = DType::BF16},
         noise(1), noise(2), noise(3));
  c.mask("k <= q");
  return c;
}

TEST(PtxForward, IsRightAtTheEdgesOfBlocks) {
  for (int64_t length : {1, 63, 64, 65, 127, 128, 129, 255, 257})
    expectRight(causal(length), 2);
}

TEST(PtxForward, IsRightUnderAnySchedule) {
  expectRight(causal(300), 24);
}

TEST(PtxForward, ReadsSharedKeyHeads) {
  expectRight(causal(130, 6, 2), 2);
}

TEST(PtxForward, TakesLargeAndNegativeScores) {
  for (double scale : {-1.0, 3.0, 100.0}) {
    Case c = causal(200);
    c.scale(scale);
    expectRight(c, 2, scale);
  }
}
