//===- Signature.cpp - What a kernel's functions take ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/CPU/Signature.h"
#include "dialect/Attn/Attn.h"
#include "lib/Support/MakeError.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace tilewright;

namespace {
constexpr llvm::StringLiteral itemsSuffix = "_items";
constexpr int64_t maxScratchBytes = int64_t{4} << 20;

std::string print(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

std::optional<DType> dtypeOf(Type element) {
  if (element.isF64())
    return DType::F64;
  if (element.isF32())
    return DType::F32;
  if (element.isF16())
    return DType::F16;
  if (element.isBF16())
    return DType::BF16;
  if (element.isInteger(64))
    return DType::I64;
  if (element.isInteger(32))
    return DType::I32;
  if (element.isInteger(8))
    return DType::U8;
  return std::nullopt;
}

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

Result<std::vector<KernelArgument>> argumentsOf(func::FuncOp function, unsigned count) {
  std::vector<KernelArgument> arguments;
  llvm::StringSet<> names;
  for (unsigned i = 0; i < count; ++i) {
    auto name = function.getArgAttrOfType<StringAttr>(i, attn::nameAttribute);
    if (!name || name.getValue().empty())
      return invalidArgument("argument {} of @{} has no name; it is given by the attribute {}", i,
                             function.getName().str(), attn::nameAttribute.str());
    if (!names.insert(name.getValue()).second)
      return invalidArgument("two arguments of @{} are named '{}'", function.getName().str(),
                             name.getValue().str());
    KernelArgument argument;
    argument.name = name.getValue().str();
    if (!setType(argument, function.getArgumentTypes()[i]))
      return invalidArgument(
          "argument '{}' of @{} has type {}; a kernel takes i32, f32 and f64 scalars and strided "
          "memrefs of f64, f32, f16, bf16, i64, i32 or i8 with at most {} dimensions",
          argument.name, function.getName().str(), print(function.getArgumentTypes()[i]),
          TensorView::maxRank);
    arguments.push_back(std::move(argument));
  }
  return arguments;
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
                          print(type), maxScratchBytes);
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
