//===- EmulatedKernel.h - Generated kernels on the emulator -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_TESTS_UNIT_TARGET_EMULATEDKERNEL_H
#define TILEWRIGHT_TESTS_UNIT_TARGET_EMULATEDKERNEL_H

#include "compiler/Pipelines/CpuPipeline.h"
#include "compiler/Pipelines/GpuPipeline.h"
#include "compiler/Pipelines/Register.h"
#include "compiler/Target/PTX/Assembler.h"
#include "compiler/Target/PTX/Codegen.h"
#include "compiler/Target/PTX/PtxKernel.h"
#include "lib/Emulator/Device.h"
#include "lib/Reference/Compare.h"
#include "tests/unit/Reference/Testing.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

#include <cstring>

namespace tilewright {

/// A kernel's PTX and how it is launched.
struct CompiledKernel {
  std::string ptx;
  PtxKernel launch;
};

/// Assembles a kernel where there is ptxas; nothing may be lost on the way.
inline void expectPassesGate(const std::string &name, const std::string &text) {
  Result<std::string> ptxas = ptx::findPtxas("");
  if (!ptxas) {
    std::printf("not assembled: %s\n", ptxas.error().message().c_str());
    return;
  }
  Result<ptx::Assembled> assembled = ptx::assemble(text, *ptxas);
  ASSERT_TRUE(assembled) << assembled.error().message();
  Status passed = ptx::checkResources(name, assembled->resources);
  EXPECT_TRUE(passed) << passed.error().message();
}

/// Lowers a module's text by these passes and on to PTX; a failure fails the test and gives an
/// empty kernel.
inline CompiledKernel compileKernel(const std::string &text, const std::string &passes) {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  EXPECT_TRUE(module);
  if (!module)
    return {};
  Status lowered = runPipeline(*module, passes);
  EXPECT_TRUE(lowered) << lowered.error().message();
  if (!lowered)
    return {};
  Result<std::vector<PtxKernel>> kernels = kernelsOf(*module);
  llvm::LLVMContext llvmContext;
  Result<std::unique_ptr<llvm::Module>> translated = ptx::translateToLLVM(*module, llvmContext);
  EXPECT_TRUE(kernels && kernels->size() == 1 && translated);
  if (!kernels || kernels->size() != 1 || !translated)
    return {};
  Result<std::string> ptx = ptx::emitPtx(**translated);
  EXPECT_TRUE(ptx) << ptx.error().message();
  if (!ptx)
    return {};
  expectPassesGate(kernels->front().name, *ptx);
  return {*ptx, kernels->front()};
}

/// Runs query, key, value, out, lse, scale and the problem's own tensors with one block for
/// `blockQ` queries of a head; out and lse start as NaN.
inline emulator::Outcome emulateOnce(const CompiledKernel &kernel,
                                     const reference::Problem &problem, const TensorView &out,
                                     const TensorView &lse, double scale, int64_t blockQ,
                                     const emulator::RunOptions &options) {
  std::vector<TensorView> tensors = {problem.q, problem.k, problem.v, out, lse};
  tensors.emplace_back(); // the scale is no tensor
  tensors.insert(tensors.end(), problem.bindings.tensors.begin(), problem.bindings.tensors.end());
  emulator::Launch launch;
  const int64_t blocks =
      problem.q.shape[0] * problem.q.shape[1] * ((problem.q.shape[2] + blockQ - 1) / blockQ);
  launch.grid = {static_cast<uint32_t>(blocks), 1, 1};
  launch.block = {static_cast<uint32_t>(kernel.launch.threads), 1, 1};
  launch.dynamicSharedBytes = static_cast<uint32_t>(kernel.launch.sharedMemory);
  const char *names[] = {"query", "key", "value", "out", "lse", "scale"};
  for (size_t i = 0; i < tensors.size(); ++i) {
    const size_t bytes = static_cast<size_t>(*tensors[i].elementCount()) * sizeOf(tensors[i].dtype);
    const bool isOutput = i == 3 || i == 4;
    if (isOutput)
      std::memset(tensors[i].data, 0xff, bytes);
    launch.buffers.push_back(
        {i < 6 ? names[i] : "captured", tensors[i].data, bytes, isOutput, !isOutput});
  }
  for (const PtxParameter &parameter : kernel.launch.parameters) {
    const auto argument = static_cast<size_t>(parameter.argument);
    const auto detail = static_cast<size_t>(parameter.detail);
    if (parameter.kind == "scalar") {
      launch.arguments.push_back(emulator::Argument::of(static_cast<float>(scale)));
    } else if (parameter.kind == "address") {
      launch.arguments.push_back(emulator::Argument::tensor(argument));
    } else if (parameter.kind == "extent") {
      launch.arguments.push_back(emulator::Argument::of(tensors[argument].shape[detail]));
    } else if (parameter.kind == "stride") {
      launch.arguments.push_back(emulator::Argument::of(tensors[argument].strides[detail]));
    } else {
      const TensorView &tensor = tensors[argument];
      emulator::TensorMap map;
      map.dtype = tensor.dtype;
      map.rank = static_cast<uint32_t>(tensor.rank);
      map.buffer = argument;
      for (size_t dim = 0; dim < tensor.rank; ++dim) {
        const size_t from = tensor.rank - 1 - dim;
        map.dims[dim] = static_cast<uint64_t>(tensor.shape[from]);
        map.strides[dim] = static_cast<uint64_t>(tensor.strides[from]) * sizeOf(tensor.dtype);
        map.box[dim] = dim == 0 ? 64 : dim == 1 ? static_cast<uint32_t>(detail) : 1;
      }
      map.swizzle = emulator::Swizzle::Bytes128;
      launch.arguments.push_back(emulator::Argument::map(launch.maps.size()));
      launch.maps.push_back(map);
    }
  }
  Result<emulator::Module> module = emulator::loadModule(kernel.ptx);
  EXPECT_TRUE(module) << module.error().message();
  if (!module)
    return {};
  Result<emulator::Outcome> outcome = emulator::run(*module, launch, options);
  EXPECT_TRUE(outcome) << outcome.error().message();
  if (!outcome)
    return {};
  return *std::move(outcome);
}

/// Runs the kernel under seeds 1 to `seeds` and compares each result with the reference.
inline void expectRight(const CompiledKernel &kernel, const reference::Case &c, uint64_t seeds,
                        double scale, int64_t blockQ = 128) {
  using namespace reference;
  const Problem &problem = c.problem;
  const int64_t batch = problem.q.shape[0], heads = problem.q.shape[1], rows = problem.q.shape[2];
  const Output right = c.run(2);
  Array out = makeArray(problem.q.dtype, {batch, heads, rows, problem.v.shape[3]}, constant(0));
  Array lse = makeArray(DType::F32, {batch, heads, rows}, constant(0));
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    emulator::Outcome outcome =
        emulateOnce(kernel, problem, out.view, lse.view, scale, blockQ, {.seed = seed});
    ASSERT_FALSE(outcome.finding) << emulator::toText(*outcome.finding);
    Result<Comparison> comparison = compare(problem, right, out.view, lse.view, 2);
    ASSERT_TRUE(comparison) << comparison.error().message();
    ASSERT_TRUE(comparison->passed) << "seed " << seed << ": " << comparison->describe();
  }
}

} // namespace tilewright

#endif // TILEWRIGHT_TESTS_UNIT_TARGET_EMULATEDKERNEL_H
