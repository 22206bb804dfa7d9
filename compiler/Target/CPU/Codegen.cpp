//===- Codegen.cpp - Native code from the llvm dialect --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/CPU/Codegen.h"
#include "compiler/Target/CPU/MissingInstructions.h"
#include "compiler/Target/Codegen.h"
#include "lib/Support/MakeError.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>
#include <mlir/IR/BuiltinOps.h>

using namespace tilewright;

namespace {
/// The code generator ends the process at an instruction that the processor does not have. These
/// are the ones of x86-64 that lowering makes, and what they need.
Status checkIntrinsics(const llvm::Module &module, const llvm::TargetMachine &machine) {
  constexpr std::pair<llvm::StringRef, const char *> known[] = {
      {"llvm.x86.avx512.mask.reduce.ps.512", "+avx512dq"},
      {"llvm.x86.avx512.mask.scalef.ps.512", "+avx512f"},
      {"llvm.x86.tdpbf16ps", "+amx-bf16"},
      {"llvm.x86.ldtilecfg", "+amx-tile"},
      {"llvm.x86.tile", "+amx-tile"}};
  for (const llvm::Function &function : module) {
    if (!llvm::Intrinsic::isTargetIntrinsic(function.getIntrinsicID()))
      continue;
    const std::string name = function.getName().str();
    const auto found = llvm::find_if(
        known, [&](const auto &entry) { return function.getName().starts_with(entry.first); });
    if (found == std::end(known))
      return invalidArgument("the code calls {}, which is no instruction that kernels use", name);
    if (!machine.getTargetTriple().isX86() ||
        !machine.getMCSubtargetInfo()->checkFeatures(found->second))
      return invalidArgument("the code calls {}, which {} does not have", name,
                             machine.getTargetCPU().str());
  }
  return {};
}

/// That the code needs no other code.
Status checkComplete(const std::string &object) {
  auto file = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(object, "object"));
  if (!file)
    return internalError("LLVM wrote an object that it cannot read: {}",
                         llvm::toString(file.takeError()));
  for (const llvm::object::SymbolRef &symbol : (*file)->symbols()) {
    auto flags = symbol.getFlags();
    auto name = symbol.getName();
    if (!flags || !name)
      return internalError("LLVM wrote a symbol that it cannot read: {}",
                           llvm::toString(flags ? name.takeError() : flags.takeError()));
    if ((*flags & llvm::object::SymbolRef::SF_Undefined) && !name->empty())
      return unsupported("the code calls the function {}, and kernels call none that is not their "
                         "own; write out what needs it",
                         name->str());
  }
  return {};
}

Result<std::string> emit(llvm::Module &module, const CpuTarget &target,
                         llvm::CodeGenFileType fileType) {
  Result<std::unique_ptr<llvm::TargetMachine>> machine = createTargetMachine(target);
  if (!machine)
    return machine.error();
  return emitCode(module, **machine, fileType);
}
} // namespace

Result<std::unique_ptr<llvm::TargetMachine>>
tilewright::createTargetMachine(const CpuTarget &target) {
  std::string message;
  llvm::Triple triple(target.triple);
  const llvm::Target *known = llvm::TargetRegistry::lookupTarget(triple, message);
  if (!known)
    return internalError("LLVM has no target for {}: {}", target.triple, message);
  return std::unique_ptr<llvm::TargetMachine>(
      known->createTargetMachine(triple, target.cpu, target.features, llvm::TargetOptions(),
                                 llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Default));
}

Result<std::unique_ptr<llvm::Module>> tilewright::translateToLLVM(mlir::ModuleOp module,
                                                                  const CpuTarget &target,
                                                                  llvm::LLVMContext &context) {
  Result<std::unique_ptr<llvm::TargetMachine>> machine = createTargetMachine(target);
  if (!machine)
    return machine.error();
  Result<std::unique_ptr<llvm::Module>> translated = translateToLLVM(module, **machine, context);
  if (!translated)
    return translated;
  writeOutMissingInstructions(**translated, **machine);
  for (llvm::Function &function : **translated) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", target.cpu);
    if (!target.features.empty())
      function.addFnAttr("target-features", target.features);
    function.addFnAttr("frame-pointer", "all");
  }
  if (Status verified = verifyLLVM(**translated); !verified)
    return verified.error();
  if (Status checked = checkIntrinsics(**translated, **machine); !checked)
    return checked.error();
  return translated;
}

Result<std::string> tilewright::emitAssembly(llvm::Module &module, const CpuTarget &target) {
  return emit(module, target, llvm::CodeGenFileType::AssemblyFile);
}

Result<std::string> tilewright::emitObject(llvm::Module &module, const CpuTarget &target) {
  Result<std::string> object = emit(module, target, llvm::CodeGenFileType::ObjectFile);
  if (!object)
    return object;
  if (Status checked = checkComplete(*object); !checked)
    return checked.error();
  return object;
}
