//===- EntryPoints.cpp - A kernel's functions with one calling convention -===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/CPU/EntryPoints.h"
#include "lib/Support/MakeError.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

using namespace tilewright;

/// Adds a function that takes all arguments as one array of pointers and calls `callee`, the C
/// interface of a kernel's function, with them; whatever `callee` takes beyond comes as it is.
static Result<std::string> addEntryPoint(llvm::Module &module, const std::string &callee,
                                         const Signature &signature, size_t extraArguments) {
  llvm::Function *function = module.getFunction("_mlir_ciface_" + callee);
  const size_t count = signature.arguments.size();
  if (!function || function->isDeclaration() || function->arg_size() != count + extraArguments)
    return internalError("@{} has no C interface of {} arguments; it is asked for by the attribute "
                         "llvm.emit_c_interface",
                         callee, count + extraArguments);
  llvm::IRBuilder<> builder(module.getContext());
  llvm::SmallVector<llvm::Type *> types = {builder.getPtrTy()};
  for (size_t i = 0; i < extraArguments; ++i)
    types.push_back(function->getArg(count + i)->getType());
  auto *entry = llvm::Function::Create(
      llvm::FunctionType::get(function->getReturnType(), types, /*isVarArg=*/false),
      llvm::GlobalValue::ExternalLinkage, callee + "_entry", module);
  entry->addFnAttrs({module.getContext(), function->getAttributes().getFnAttrs()});
  builder.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "", entry));

  llvm::SmallVector<llvm::Value *> values;
  for (size_t i = 0; i < count; ++i) {
    llvm::Value *slot = builder.CreateConstGEP1_64(builder.getPtrTy(), entry->getArg(0), i);
    llvm::Value *pointer = builder.CreateLoad(builder.getPtrTy(), slot);
    bool isTensor = signature.arguments[i].kind == KernelArgument::Kind::Tensor;
    values.push_back(isTensor ? pointer
                              : builder.CreateLoad(function->getArg(i)->getType(), pointer));
  }
  for (size_t i = 0; i < extraArguments; ++i)
    values.push_back(entry->getArg(1 + i));
  llvm::Value *result = builder.CreateCall(function, values);
  if (function->getReturnType()->isVoidTy())
    builder.CreateRetVoid();
  else
    builder.CreateRet(result);
  return entry->getName().str();
}

Result<EntryPoints> tilewright::addEntryPoints(llvm::Module &module, const Signature &signature) {
  EntryPoints entries;
  std::optional<Error> error;
  const auto add = [&](const std::string &callee, size_t extraArguments) {
    Result<std::string> name = addEntryPoint(module, callee, signature, extraArguments);
    if (!name && !error)
      error = name.error();
    return name ? *name : std::string();
  };
  for (int64_t phase = 1; phase <= signature.phases; ++phase) {
    const std::string name =
        phase == 1 ? signature.function : fmt::format("{}_{}", signature.function, phase);
    entries.phases.push_back(
        {add(name + "_items", 0), add(name, signature.hasWorkspace ? size_t{2} : size_t{1})});
  }
  if (signature.hasWorkspace)
    entries.workspaceBytes = add(signature.function + "_workspace", 0);
  if (error)
    return *error;
  return entries;
}
