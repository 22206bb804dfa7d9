//===- ArgumentsStruct.h - The struct that an object's functions take -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TARGET_CPU_ARGUMENTSSTRUCT_H
#define TILEWRIGHT_COMPILER_TARGET_CPU_ARGUMENTSSTRUCT_H

#include "compiler/Target/CPU/ObjectFunctions.h"

#include <llvm/IR/IRBuilder.h>

namespace tilewright {

/// `struct NAME_arguments` of the header (ObjectHeader.cpp), as code reads it:
///
///   int64_t batch, heads, kv_heads, query_length, key_length;
///   then for each argument of the kernel, in its order,
///   struct { T *data; int64_t strides[rank]; }                    a tensor of the problem
///   struct { T *data; int64_t extents[rank], strides[rank]; }     a tensor of the user's
///   int32_t, float or double                                      a scalar
class ArgumentsStruct {
public:
  /// `pointer` is a value of the function that `b` writes.
  ArgumentsStruct(const ObjectDescription &object, llvm::Value *pointer);

  const KernelInterface &interface() const { return object->interface; }
  std::span<const KernelArgument> arguments() const { return object->interface.arguments(); }

  /// The values of a field, loaded where `b` stands.
  llvm::Value *extent(llvm::IRBuilderBase &b, Dimension dimension) const;
  llvm::Value *data(llvm::IRBuilderBase &b, size_t argument) const;
  llvm::Value *scalar(llvm::IRBuilderBase &b, size_t argument) const;
  llvm::Value *stride(llvm::IRBuilderBase &b, size_t argument, size_t dimension) const;
  /// Of a tensor: a field, or a constant of the kernel.
  llvm::Value *extent(llvm::IRBuilderBase &b, size_t argument, size_t dimension) const;

  llvm::Value *addressOfScalar(llvm::IRBuilderBase &b, size_t argument) const;

private:
  llvm::Value *load(llvm::IRBuilderBase &b, llvm::Type *type, llvm::ArrayRef<unsigned> place) const;
  llvm::Value *address(llvm::IRBuilderBase &b, llvm::ArrayRef<unsigned> place) const;

  const ObjectDescription *object;
  llvm::StructType *type;
  llvm::Value *pointer;
};

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_TARGET_CPU_ARGUMENTSSTRUCT_H
