//===- VectorKernel.h - Kernels from vector code in a test ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_TESTS_UNIT_TARGET_VECTORKERNEL_H
#define TILEWRIGHT_TESTS_UNIT_TARGET_VECTORKERNEL_H

#include "compiler/Pipelines/CpuPipeline.h"
#include "compiler/Pipelines/Register.h"
#include "compiler/Target/CPU/CpuKernel.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

namespace tilewright::test {

/// A module of vector code with the context it lives in.
class VectorModule {
public:
  explicit VectorModule(const std::string &text) : context(makeRegistry()) {
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module) << text;
  }

  mlir::ModuleOp operator*() { return *module; }

  mlir::ModuleOp lower() {
    Status lowered = runPipeline(*module, vectorToLLVMPipeline());
    EXPECT_TRUE(lowered) << lowered.error().message();
    return *module;
  }

private:
  static mlir::DialectRegistry makeRegistry() {
    mlir::DialectRegistry registry;
    registerDialects(registry);
    return registry;
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

inline Result<Kernel> makeKernel(const std::string &text, LaunchExpressions expressions = {}) {
  VectorModule module(text);
  Result<Signature> signature = extractSignature(*module);
  if (!signature)
    return signature.error();
  Result<CpuTarget> target = CpuTarget::host();
  if (!target)
    return target.error();
  return makeCpuKernel(module.lower(), *target, *signature, std::move(expressions));
}

} // namespace tilewright::test

#endif // TILEWRIGHT_TESTS_UNIT_TARGET_VECTORKERNEL_H
