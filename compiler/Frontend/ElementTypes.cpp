//===- ElementTypes.cpp - DTypes and the types of elements ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/ElementTypes.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tilewright;

Type tilewright::elementTypeOf(DType dtype, MLIRContext *context) {
  switch (dtype) {
  case DType::F64:
    return Float64Type::get(context);
  case DType::F32:
    return Float32Type::get(context);
  case DType::F16:
    return Float16Type::get(context);
  case DType::BF16:
    return BFloat16Type::get(context);
  case DType::I64:
    return IntegerType::get(context, 64);
  case DType::I32:
    return IntegerType::get(context, 32);
  case DType::U8:
  case DType::Bool:
    return IntegerType::get(context, 8);
  }
  llvm_unreachable("unknown dtype");
}

std::optional<DType> tilewright::dtypeOf(Type elementType) {
  for (DType dtype :
       {DType::F64, DType::F32, DType::F16, DType::BF16, DType::I64, DType::I32, DType::U8})
    if (elementType == elementTypeOf(dtype, elementType.getContext()))
      return dtype;
  return std::nullopt;
}

std::string tilewright::describe(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}
