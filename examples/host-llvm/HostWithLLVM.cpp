//===- HostWithLLVM.cpp - Use Tilewright beside one's own LLVM ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A host that is a compiler itself: it makes a function with the LLVM that it links, which chooses
// the scale of the scores, and calls an attention kernel that Tilewright makes with the LLVM inside
// of libtilewright.so. Neither LLVM sees the other's options, targets or symbols.
//
//===----------------------------------------------------------------------===//

#include <tilewright/tilewright.h>

#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/Support/TargetSelect.h>

#include <cmath>
#include <iostream>

using namespace tilewright;

constexpr int64_t length = 10;

/// double scale(double x) { return x * x; }
static llvm::orc::ThreadSafeModule buildScale() {
  auto context = std::make_unique<llvm::LLVMContext>();
  auto module = std::make_unique<llvm::Module>("host", *context);
  llvm::IRBuilder<> builder(*context);
  auto *type = llvm::FunctionType::get(builder.getDoubleTy(), {builder.getDoubleTy()}, false);
  auto *function =
      llvm::Function::Create(type, llvm::Function::ExternalLinkage, "scale", module.get());
  builder.SetInsertPoint(llvm::BasicBlock::Create(*context, "entry", function));
  builder.CreateRet(builder.CreateFMul(function->getArg(0), function->getArg(0)));
  return {std::move(module), std::move(context)};
}

/// Runs a kernel of head dim 1 on queries of 1, keys 0, 1, 2, .. and values 0, 1, 2, ..
static Result<float> attend(double scale) {
  Problem problem;
  problem.headDim = 1;
  problem.lse = false;
  Result<Compilation> compilation = compile(problem);
  if (!compilation)
    return compilation.error();
  Result<Kernel> kernel = compilation->kernel();
  if (!kernel)
    return kernel.error();

  float query = 1, out = 0, positions[length];
  for (int64_t i = 0; i < length; ++i)
    positions[i] = static_cast<float>(i);
  Arguments arguments;
  arguments.query = TensorView(&query, DType::F32, {1, 1, 1, 1});
  arguments.key = TensorView(positions, DType::F32, {1, 1, length, 1});
  arguments.value = TensorView(positions, DType::F32, {1, 1, length, 1});
  arguments.out = TensorView(&out, DType::F32, {1, 1, 1, 1});
  arguments.scale = scale;
  Result<size_t> bytes = kernel->workspaceSize({1, 1, 1, 1, length});
  if (!bytes)
    return bytes.error();
  std::vector<std::byte> workspace(*bytes);
  if (Status done = kernel->run(arguments, workspace); !done)
    return done.error();
  return out;
}

int main() {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::ExitOnError check("error: ");
  std::unique_ptr<llvm::orc::LLJIT> jit = check(llvm::orc::LLJITBuilder().create());
  check(jit->addIRModule(buildScale()));
  auto *scaleOf = check(jit->lookup("scale")).toPtr<double(double)>();

  const double scale = scaleOf(0.5);
  Result<float> out = attend(scale);
  if (!out) {
    std::cerr << "error: " << out.error().message() << '\n';
    return EXIT_FAILURE;
  }

  double sum = 0, total = 0;
  for (int64_t i = 0; i < length; ++i) {
    const double weight = std::exp(scale * static_cast<double>(i));
    total += weight;
    sum += weight * static_cast<double>(i);
  }
  std::cout << "scale " << scale << ", mean position " << *out << ", by hand " << sum / total
            << '\n';
  return std::abs(*out - sum / total) < 1e-5 ? EXIT_SUCCESS : EXIT_FAILURE;
}
