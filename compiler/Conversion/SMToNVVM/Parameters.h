//===- Parameters.h - What a kernel is launched with ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The arguments of an sm function are tensors and scalars; a kernel's parameters
// are addresses, extents, strides and tensor maps, and only those that it uses.
// They come into being as the kernel's text first asks for them, and its
// `sm.launch` tells whoever launches it where each comes from.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_CONVERSION_SMTONVVM_PARAMETERS_H
#define TILEWRIGHT_COMPILER_CONVERSION_SMTONVVM_PARAMETERS_H

#include "dialect/SM/SM.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tilewright::sm90 {

class Parameters {
public:
  /// `kernel` has an entry block and no parameters yet.
  Parameters(mlir::func::FuncOp source, mlir::LLVM::LLVMFuncOp kernel);

  /// Whether the tensor is an argument of the function, as all of these ask.
  bool isArgument(mlir::Value value);

  mlir::Value scalar(mlir::Value argument);
  /// A pointer to global memory.
  mlir::Value address(mlir::Value tensor);
  /// i64, constants where the type knows them.
  mlir::Value extent(mlir::Value tensor, int64_t dim);
  mlir::Value stride(mlir::Value tensor, int64_t dim);
  /// A pointer to the description by which the copy engine reads boxes of so many rows.
  mlir::Value tensorMap(mlir::Value tensor, int64_t rows);

  /// Gives the kernel its type and the parameters their attributes, and returns what they are.
  mlir::ArrayAttr finish();

private:
  mlir::Value parameter(sm::ParameterKind kind, mlir::Value argument, int64_t detail,
                        mlir::Type type);
  mlir::Value constant(int64_t value, mlir::Location location);

  mlir::func::FuncOp source;
  mlir::LLVM::LLVMFuncOp kernel;
  mlir::OpBuilder entry;
  /// In the order of the kernel's parameters.
  llvm::SmallVector<sm::ParameterAttr> list;
};

} // namespace tilewright::sm90

#endif // TILEWRIGHT_COMPILER_CONVERSION_SMTONVVM_PARAMETERS_H
