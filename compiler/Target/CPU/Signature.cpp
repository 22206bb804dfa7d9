//===- Signature.cpp - What a kernel's functions take ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/CPU/Signature.h"
#include "compiler/Frontend/ElementTypes.h"
#include "compiler/Target/Arguments.h"
#include "dialect/Attn/Attn.h"
#include "lib/Support/MakeError.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace tilewright;

namespace {
constexpr llvm::StringLiteral itemsSuffix = "_items";
constexpr int64_t maxScratchBytes = int64_t{4} << 20;

Result<std::vector<KernelArgument>> argumentsOf(func::FuncOp function, unsigned count) {
  llvm::SmallVector<StringRef> names;
  for (unsigned i = 0; i < count; ++i) {
    auto name = function.getArgAttrOfType<StringAttr>(i, attn::nameAttribute);
    names.push_back(name ? name.getValue() : "");
  }
  return kernelArguments(function.getName(), function.getArgumentTypes().take_front(count), names);
}

/// What the stack buffers of a function take together, each rounded up to its alignment.
Result<int64_t> scratchBytesOf(func::FuncOp function) {
  int64_t total = 0;
  std::optional<Error> error;
  function.walk([&](memref::AllocaOp buffer) {
    MemRefType type = buffer.getType();
    std::optional<DType> dtype = dtypeOf(type.getElementType());
    int64_t bytes = dtype ? static_cast<int64_t>(sizeOf(*dtype)) : int64_t{8};
    if (auto vector = dyn_cast<VectorType>(type.getElementType()))
      bytes = vector.getNumElements() * int64_t{8};
    bool counted = type.hasStaticShape();
    for (int64_t extent : type.getShape())
      counted = counted && !__builtin_mul_overflow(bytes, extent, &bytes);
    int64_t padded = bytes + static_cast<int64_t>(buffer.getAlignment().value_or(0));
    if (!counted || padded < 0 || __builtin_add_overflow(total, padded, &total) ||
        total > maxScratchBytes) {
      error = unsupported("scratch of type {}: an item's buffers have static sizes, {} bytes in "
                          "all at most; smaller blocks need less",
                          describe(type), maxScratchBytes);
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  if (error)
    return *error;
  return total;
}

/// The functions of one phase.
struct Phase {
  func::FuncOp count, item;
};

/// Every pair of functions @X and @X_items.
SmallVector<Phase> findPhases(ModuleOp module) {
  SmallVector<Phase> phases;
  for (func::FuncOp function : module.getOps<func::FuncOp>()) {
    if (!function.getName().ends_with(itemsSuffix) || function.isExternal())
      continue;
    auto item = module.lookupSymbol<func::FuncOp>(function.getName().drop_back(itemsSuffix.size()));
    if (item && !item.isExternal())
      phases.push_back({function, item});
  }
  return phases;
}

/// What an item function takes beyond the arguments of the others.
SmallVector<Type> moreArguments(MLIRContext *context, bool hasWorkspace) {
  SmallVector<Type> types;
  if (hasWorkspace)
    types.push_back(MemRefType::get({ShapedType::kDynamic}, IntegerType::get(context, 8)));
  types.push_back(IndexType::get(context));
  return types;
}

bool returnsIndex(func::FuncOp function) {
  return function.getNumResults() == 1 && function.getResultTypes().front().isIndex();
}
} // namespace

Result<Signature> tilewright::extractSignature(ModuleOp vectorModule) {
  SmallVector<Phase> phases = findPhases(vectorModule);
  if (phases.empty())
    return invalidArgument("the module has no kernel, which is two functions @X and @X_items");
  Signature signature;
  signature.phases = static_cast<int64_t>(phases.size());
  func::FuncOp first = phases.front().item;
  signature.function = first.getName().str();
  auto workspace = vectorModule.lookupSymbol<func::FuncOp>(signature.function + "_workspace");
  signature.hasWorkspace = workspace && !workspace.isExternal();
  const ArrayRef<Type> types = phases.front().count.getArgumentTypes();
  if (signature.hasWorkspace && (workspace.getArgumentTypes() != types || !returnsIndex(workspace)))
    return invalidArgument("@{} must take the arguments of @{} and return an index",
                           workspace.getName().str(), phases.front().count.getName().str());

  SmallVector<Type> itemTypes(types);
  llvm::append_range(itemTypes, moreArguments(vectorModule.getContext(), signature.hasWorkspace));
  for (auto [i, phase] : llvm::enumerate(phases)) {
    auto [count, item] = phase;
    if (i > 0 && item.getName() != signature.function + "_" + std::to_string(i + 1))
      return unsupported("the module has two kernels, @{} and @{}, and one is expected",
                         first.getName().str(), item.getName().str());
    if (count.getArgumentTypes() != types || item.getArgumentTypes() != ArrayRef(itemTypes) ||
        item.getNumResults() != 0 || !returnsIndex(count))
      return invalidArgument(
          "@{} must take the arguments of @{} and{} an index, and return nothing; @{} must return "
          "an index",
          item.getName().str(), phases.front().count.getName().str(),
          signature.hasWorkspace ? " a memref<?xi8> and" : "", count.getName().str());
    Result<int64_t> scratchBytes = scratchBytesOf(item);
    if (!scratchBytes)
      return scratchBytes.error();
    signature.scratchBytes = std::max(signature.scratchBytes, *scratchBytes);
  }
  Result<std::vector<KernelArgument>> arguments = argumentsOf(first, types.size());
  if (!arguments)
    return arguments.error();
  signature.arguments = *std::move(arguments);
  return signature;
}
