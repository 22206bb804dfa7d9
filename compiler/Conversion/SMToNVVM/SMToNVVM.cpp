//===- SMToNVVM.cpp - Multiprocessor programs as kernels ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/Passes.h"
#include "compiler/Conversion/SMToNVVM/KernelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace tilewright {
#define GEN_PASS_DEF_CONVERTSMTONVVM
#include "compiler/Conversion/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace tilewright;

/// The dynamic shared memory of all kernels of a module; its size is given at launch.
static constexpr StringLiteral sharedSymbol = "tilewright_shared_memory";

namespace {
struct ConvertSMToNVVM : tilewright::impl::ConvertSMToNVVMBase<ConvertSMToNVVM> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    OpBuilder builder(module.getBodyRegion());
    SmallVector<func::FuncOp> programs;
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isExternal() && !function.getOps<sm::GridOp>().empty())
        programs.push_back(function);
    if (programs.empty())
      return;

    LLVM::GlobalOp::create(builder, module.getLoc(),
                           LLVM::LLVMArrayType::get(builder.getI8Type(), 0), /*isConstant=*/false,
                           LLVM::Linkage::External, sharedSymbol, Attribute(),
                           /*alignment=*/1024, /*addrSpace=*/3);
    for (func::FuncOp program : programs) {
      builder.setInsertionPoint(program);
      auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(&getContext()), {});
      auto kernel = LLVM::LLVMFuncOp::create(builder, program.getLoc(), program.getName(), type);
      kernel.addEntryBlock(builder);
      if (failed(sm90::KernelEmitter(program, kernel, sharedSymbol).emit()))
        return signalPassFailure();
      program.erase();
    }
  }
};
} // namespace
