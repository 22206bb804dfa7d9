//===- ParallelCodegen.cpp - Functions generated side by side -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/CPU/ParallelCodegen.h"
#include "compiler/Target/CPU/Codegen.h"
#include "lib/Support/MakeError.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/Transforms/Utils/Cloning.h"

#include <optional>

using namespace tilewright;

/// Bitcode of the module's functions of these names and of what they use, which is internal there:
/// another part may use it too.
static llvm::SmallVector<char, 0> partOf(const llvm::Module &module,
                                         llvm::ArrayRef<llvm::StringRef> names) {
  llvm::SetVector<const llvm::Value *> used;
  for (llvm::StringRef name : names)
    used.insert(module.getFunction(name));
  for (size_t i = 0; i < used.size(); ++i)
    if (auto *function = llvm::dyn_cast<llvm::Function>(used[i])) {
      for (const llvm::Instruction &instruction : llvm::instructions(function))
        used.insert_range(
            llvm::make_filter_range(instruction.operand_values(), llvm::IsaPred<llvm::Constant>));
    } else if (auto *constant = llvm::dyn_cast<llvm::Constant>(used[i])) {
      used.insert_range(constant->operand_values());
    }

  llvm::ValueToValueMapTy values;
  const std::unique_ptr<llvm::Module> part = llvm::CloneModule(
      module, values, [&](const llvm::GlobalValue *value) { return used.contains(value); });
  for (llvm::GlobalObject &object : part->global_objects())
    if (!object.isDeclaration() && !llvm::is_contained(names, object.getName()))
      object.setLinkage(llvm::GlobalValue::InternalLinkage);
  llvm::SmallVector<char, 0> bitcode;
  llvm::raw_svector_ostream stream(bitcode);
  llvm::WriteBitcodeToFile(*part, stream);
  return bitcode;
}

/// A context is for one thread.
static Result<std::string> emitPart(llvm::ArrayRef<char> bitcode, const CpuTarget &target) {
  llvm::LLVMContext context;
  auto part = llvm::parseBitcodeFile(
      llvm::MemoryBufferRef(llvm::StringRef(bitcode.data(), bitcode.size()), "tilewright"),
      context);
  if (!part)
    return internalError("LLVM wrote bitcode that it cannot read: {}",
                         llvm::toString(part.takeError()));
  return emitObject(**part, target);
}

Result<std::vector<std::string>>
tilewright::emitObjectsInParallel(const llvm::Module &module, llvm::ArrayRef<std::string> apart,
                                  const CpuTarget &target) {
  std::vector<llvm::SmallVector<char, 0>> parts;
  for (const std::string &name : apart)
    parts.push_back(partOf(module, {name}));
  llvm::SmallVector<llvm::StringRef> rest;
  for (const llvm::Function &function : module)
    if (!function.isDeclaration() && !function.hasLocalLinkage() &&
        !llvm::is_contained(apart, function.getName()))
      rest.push_back(function.getName());
  parts.push_back(partOf(module, rest));

  std::vector<std::optional<Result<std::string>>> results(parts.size());
  llvm::DefaultThreadPool pool(llvm::hardware_concurrency(parts.size()));
  for (size_t i = 0; i < parts.size(); ++i)
    pool.async([&, i] { results[i] = emitPart(parts[i], target); });
  pool.wait();

  std::vector<std::string> objects;
  for (std::optional<Result<std::string>> &result : results) {
    if (!*result)
      return result->error();
    objects.push_back(**std::move(result));
  }
  return objects;
}
