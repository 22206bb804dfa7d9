//===- Arguments.cpp - What a kernel takes, from its types ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/Arguments.h"
#include "compiler/Frontend/ElementTypes.h"
#include "dialect/Attn/Attn.h"
#include "lib/Support/MakeError.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace tilewright;

namespace {
std::vector<int64_t> openWhereDynamic(ArrayRef<int64_t> values) {
  static_assert(ShapedType::kDynamic == KernelArgument::dynamic);
  return {values.begin(), values.end()};
}

/// Fills in everything but the name.
bool setType(KernelArgument &argument, Type type) {
  if (auto memref = dyn_cast<MemRefType>(type)) {
    std::optional<DType> dtype = dtypeOf(memref.getElementType());
    SmallVector<int64_t> strides;
    int64_t offset = 0;
    if (!dtype || memref.getRank() > static_cast<int64_t>(TensorView::maxRank) ||
        memref.getMemorySpace() || failed(memref.getStridesAndOffset(strides, offset)) ||
        (!ShapedType::isDynamic(offset) && offset != 0))
      return false;
    argument.kind = KernelArgument::Kind::Tensor;
    argument.dtype = *dtype;
    argument.shape = openWhereDynamic(memref.getShape());
    argument.strides = openWhereDynamic(strides);
    return true;
  }
  if (type.isInteger(32))
    argument.kind = KernelArgument::Kind::I32;
  else if (type.isF32())
    argument.kind = KernelArgument::Kind::F32;
  else if (type.isF64())
    argument.kind = KernelArgument::Kind::F64;
  else
    return false;
  return true;
}
} // namespace

Result<std::vector<KernelArgument>>
tilewright::kernelArguments(StringRef function, ArrayRef<Type> types, ArrayRef<StringRef> names) {
  std::vector<KernelArgument> arguments;
  llvm::StringSet<> seen;
  for (auto [number, type, name] : llvm::enumerate(types, names)) {
    if (name.empty())
      return invalidArgument("argument {} of @{} has no name; it is given by the attribute {}",
                             number, function.str(), attn::nameAttribute.str());
    if (!seen.insert(name).second)
      return invalidArgument("two arguments of @{} are named '{}'", function.str(), name.str());
    KernelArgument argument;
    argument.name = name.str();
    if (!setType(argument, type))
      return invalidArgument(
          "argument '{}' of @{} has type {}; a kernel takes i32, f32 and f64 scalars and strided "
          "memrefs of f64, f32, f16, bf16, i64, i32 or i8 with at most {} dimensions",
          argument.name, function.str(), describe(type), TensorView::maxRank);
    arguments.push_back(std::move(argument));
  }
  return arguments;
}
