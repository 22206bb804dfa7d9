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

namespace {
/// Gives a kernel's function the parameters of an entry point, and its body reads from there what
/// were arguments. A memref is a dozen of these: code that hands all of them from one function to
/// the next takes longer to generate than what a small phase does.
class EntryPoint {
public:
  EntryPoint(llvm::Function &kernel, llvm::ArrayRef<llvm::Type *> extra)
      : kernel(kernel), builder(kernel.getContext()) {
    llvm::SmallVector<llvm::Type *> types = {builder.getPtrTy()};
    llvm::append_range(types, extra);
    entry = llvm::Function::Create(
        llvm::FunctionType::get(kernel.getReturnType(), types, /*isVarArg=*/false),
        llvm::GlobalValue::ExternalLinkage, "", kernel.getParent());
    entry->addFnAttrs({kernel.getContext(), kernel.getAttributes().getFnAttrs()});
    entry->takeName(&kernel);
    entry->splice(entry->begin(), &kernel);
    llvm::BasicBlock &first = entry->getEntryBlock();
    builder.SetInsertPoint(&first, first.begin());
  }

  llvm::Argument *parameter(unsigned i) { return entry->getArg(i); }
  llvm::Value *pointerAt(unsigned i) { return load(builder.getPtrTy(), entry->getArg(0), i); }

  /// The next argument is `value`, or if that is null what `pointer` leads to.
  bool take(llvm::Value *value, llvm::Value *pointer = nullptr) {
    llvm::Argument *argument = next();
    if (!argument || (value && value->getType() != argument->getType()))
      return false;
    if (!argument->use_empty())
      argument->replaceAllUsesWith(value ? value : load(argument->getType(), pointer, 0));
    return true;
  }

  /// The next arguments are the memref of so many dimensions that `descriptor` leads to
  /// (MemRefs.h): two pointers, the offset, extents and strides.
  bool takeMemRef(llvm::Value *descriptor, size_t rank) {
    for (unsigned i = 0; i < 3 + 2 * rank; ++i) {
      llvm::Argument *argument = next();
      llvm::Type *type =
          i < 2 ? static_cast<llvm::Type *>(builder.getPtrTy()) : builder.getInt64Ty();
      if (!argument || argument->getType() != type)
        return false;
      if (!argument->use_empty())
        argument->replaceAllUsesWith(load(type, descriptor, i));
    }
    return true;
  }

  bool isAllTaken() const { return taken == kernel.arg_size(); }

private:
  llvm::Argument *next() { return taken < kernel.arg_size() ? kernel.getArg(taken++) : nullptr; }

  /// All that descriptors and lists hold takes eight bytes.
  llvm::Value *load(llvm::Type *type, llvm::Value *base, unsigned index) {
    return builder.CreateLoad(
        type, builder.CreateConstInBoundsGEP1_64(builder.getInt64Ty(), base, index));
  }

  llvm::Function &kernel;
  llvm::IRBuilder<> builder;
  llvm::Function *entry = nullptr;
  unsigned taken = 0;
};

class EntryPointMaker {
public:
  EntryPointMaker(llvm::Module &module, const Signature &signature)
      : module(module), signature(signature) {}

  /// Of the function of this name, which takes a workspace and an item besides the arguments.
  Status makeRunItem(const std::string &name) {
    return make(name, signature.hasWorkspace, /*takesItem=*/true);
  }
  Status makeCount(const std::string &name) {
    return make(name, /*takesWorkspace=*/false, /*takesItem=*/false);
  }

private:
  Status make(const std::string &name, bool takesWorkspace, bool takesItem) {
    llvm::Function *function = module.getFunction(name);
    if (!function || function->isDeclaration())
      return internalError("the kernel has no function @{}", name);
    llvm::SmallVector<llvm::Type *> extra;
    if (takesWorkspace)
      extra.push_back(llvm::PointerType::getUnqual(module.getContext()));
    if (takesItem)
      extra.push_back(llvm::Type::getInt64Ty(module.getContext()));
    EntryPoint entry(*function, extra);
    bool fits = true;
    for (auto [i, argument] : llvm::enumerate(signature.arguments)) {
      llvm::Value *pointer = entry.pointerAt(i);
      fits = fits && (argument.kind == KernelArgument::Kind::Tensor
                          ? entry.takeMemRef(pointer, argument.shape.size())
                          : entry.take(nullptr, pointer));
    }
    unsigned next = 1;
    if (takesWorkspace)
      fits = fits && entry.takeMemRef(entry.parameter(next++), 1);
    if (takesItem)
      fits = fits && entry.take(entry.parameter(next));
    if (!fits || !entry.isAllTaken())
      return internalError("@{} does not take the arguments of the kernel", name);
    if (!function->use_empty())
      return unsupported("@{} is called by the code itself; a launch calls it with other arguments",
                         name);
    function->eraseFromParent();
    return {};
  }

  llvm::Module &module;
  const Signature &signature;
};
} // namespace

Result<EntryPoints> tilewright::makeEntryPoints(llvm::Module &module, const Signature &signature) {
  EntryPointMaker maker(module, signature);
  EntryPoints entries;
  for (int64_t phase = 1; phase <= signature.phases; ++phase) {
    const std::string name =
        phase == 1 ? signature.function : fmt::format("{}_{}", signature.function, phase);
    entries.phases.push_back({.countItems = name + "_items", .runItem = name});
    if (Status made = maker.makeCount(entries.phases.back().countItems); !made)
      return made.error();
    if (Status made = maker.makeRunItem(name); !made)
      return made.error();
  }
  if (signature.hasWorkspace) {
    entries.workspaceBytes = signature.function + "_workspace";
    if (Status made = maker.makeCount(entries.workspaceBytes); !made)
      return made.error();
  }
  return entries;
}
