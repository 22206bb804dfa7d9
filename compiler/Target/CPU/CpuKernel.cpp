//===- CpuKernel.cpp - Kernels that run on this machine's processor -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/CPU/CpuKernel.h"
#include "compiler/Target/CPU/Codegen.h"
#include "compiler/Target/CPU/FloatingEnvironment.h"
#include "compiler/Target/CPU/HostSymbols.h"
#include "compiler/Target/CPU/MemRefs.h"
#include "compiler/Target/CPU/WorkerPool.h"
#include "lib/Support/MakeError.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ExecutionEngine/JITEventListener.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/ExecutionEngine/Orc/RTDyldObjectLinkingLayer.h"
#include "llvm/ExecutionEngine/SectionMemoryManager.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Threading.h"

#include <atomic>
#include <cstdlib>

using namespace tilewright;

namespace {
using CountItems = int64_t(void *const *arguments);
using RunItem = void(void *const *arguments, int64_t item);

/// Above this an item does not run on the caller's thread, whose stack may be small.
constexpr int64_t maxScratchOnCaller = int64_t{128} << 10;

/// Adds a function that takes all arguments as one array of pointers and calls `callee`, the C
/// interface of a kernel's function, with them; whatever `callee` takes beyond comes as it is.
Result<std::string> addEntryPoint(llvm::Module &module, const std::string &callee,
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

llvm::Expected<std::unique_ptr<llvm::orc::ObjectLayer>>
createLinkingLayer(llvm::orc::ExecutionSession &session) {
  auto layer = std::make_unique<llvm::orc::RTDyldObjectLinkingLayer>(
      session, [](const llvm::MemoryBuffer &) {
        // One reservation for all sections keeps them within reach of each other.
        return std::make_unique<llvm::SectionMemoryManager>(nullptr, /*ReserveAlloc=*/true);
      });
  layer->registerJITEventListener(*llvm::JITEventListener::createGDBRegistrationListener());
  // This listener makes files as soon as it exists.
  if (std::getenv("JITDUMPDIR"))
    if (llvm::JITEventListener *perf = llvm::JITEventListener::createPerfJITEventListener())
      layer->registerJITEventListener(*perf);
  return layer;
}

llvm::Expected<std::unique_ptr<llvm::orc::LLJIT>> createJit(const CpuTarget &target) {
  auto jit = llvm::orc::LLJITBuilder()
                 .setJITTargetMachineBuilder(
                     llvm::orc::JITTargetMachineBuilder(llvm::Triple(target.triple)))
                 .setObjectLinkingLayerCreator(createLinkingLayer)
                 .setPlatformSetUp(llvm::orc::setUpInactivePlatform)
                 .setLinkProcessSymbolsByDefault(false)
                 .create();
  if (!jit)
    return jit.takeError();
  llvm::orc::SymbolMap symbols;
  for (const HostSymbol &symbol : hostSymbols())
    symbols[(*jit)->mangleAndIntern(symbol.name)] = {
        llvm::orc::ExecutorAddr::fromPtr(symbol.address), llvm::JITSymbolFlags::Callable};
  if (llvm::Error error =
          (*jit)->getMainJITDylib().define(llvm::orc::absoluteSymbols(std::move(symbols))))
    return error;
  return jit;
}

struct LoadedCode {
  std::unique_ptr<llvm::orc::LLJIT> jit;
  CountItems *countItems = nullptr;
  RunItem *runItem = nullptr;
};

Result<LoadedCode> load(llvm::StringRef object, const CpuTarget &target, llvm::StringRef countItems,
                        llvm::StringRef runItem) {
  auto jit = createJit(target);
  if (!jit)
    return internalError("code cannot be placed in memory: {}", llvm::toString(jit.takeError()));
  // What a lookup returns says that it failed; the reporter hears why.
  auto reason = std::make_shared<std::string>();
  (*jit)->getExecutionSession().setErrorReporter(
      [reason](llvm::Error error) { *reason = llvm::toString(std::move(error)); });
  auto failed = [&](llvm::Error error) {
    std::string message = llvm::toString(std::move(error));
    return internalError("code could not be placed in memory: {}",
                         reason->empty() ? message : *reason);
  };
  if (llvm::Error error =
          (*jit)->addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(object, "tilewright")))
    return failed(std::move(error));
  auto count = (*jit)->lookup(countItems);
  if (!count)
    return failed(count.takeError());
  auto run = (*jit)->lookup(runItem);
  if (!run)
    return failed(run.takeError());
  return LoadedCode{std::move(*jit), count->toPtr<CountItems *>(), run->toPtr<RunItem *>()};
}

class CpuKernel : public Kernel::Implementation {
public:
  CpuKernel(LoadedCode code, Signature signature, LaunchExpressions expressions)
      : code(std::move(code)), signature(std::move(signature)),
        expressions(std::move(expressions)) {}

  /// Kernels of this target keep their scratch on the stack.
  Result<size_t> workspaceSize(const ProblemSizes &sizes) const override {
    Status checked = expression::checkSizes(
        {sizes.batch, sizes.heads, sizes.kvHeads, sizes.queryLength, sizes.keyLength});
    if (!checked)
      return checked.error();
    return size_t{0};
  }

  Status run(const Arguments &arguments, std::span<std::byte>,
             const Execution &execution) const override {
    LaunchArguments launch;
    if (Status checked = launch.check(signature.arguments, expressions, arguments); !checked)
      return checked;
    if (launch.nothingToDo())
      return {};
    const MemRefs memrefs(launch);
    void *const *pointers = memrefs.pointers();
    const int64_t items = code.countItems(pointers);
    if (items <= 0)
      return {};

    std::atomic<int64_t> next = 0;
    const std::function<void()> work = [&] {
      FloatingEnvironment environment;
      for (int64_t item = next++; item < items; item = next++)
        code.runItem(pointers, item);
    };
    const auto threads = static_cast<unsigned>(std::min<int64_t>(
        items, execution.threads ? execution.threads
                                 : llvm::hardware_concurrency().compute_thread_count()));
    if (signature.scratchBytes > maxScratchOnCaller)
      return WorkerPool::shared().runOnWorkers(work, threads);
    WorkerPool::shared().runWithCaller(work, threads - 1);
    return {};
  }

private:
  LoadedCode code;
  Signature signature;
  LaunchExpressions expressions;
};
} // namespace

Result<Kernel> tilewright::makeCpuKernel(mlir::ModuleOp llvmModule, const CpuTarget &target,
                                         Signature signature, LaunchExpressions expressions) {
  if (!target.isHost)
    return unsupported("code for {} cannot run on this machine, which lacks some of its features",
                       target.cpu);
  if (signature.arguments.size() > maxArguments)
    return unsupported("the kernel takes {} arguments, '{}' beyond the limit of {}",
                       signature.arguments.size(), signature.arguments[maxArguments].name,
                       maxArguments);
  llvm::LLVMContext context;
  Result<std::unique_ptr<llvm::Module>> module = translateToLLVM(llvmModule, target, context);
  if (!module)
    return module.error();
  Result<std::string> count =
      addEntryPoint(**module, signature.function + "_items", signature, /*extraArguments=*/0);
  if (!count)
    return count.error();
  Result<std::string> item =
      addEntryPoint(**module, signature.function, signature, /*extraArguments=*/1);
  if (!item)
    return item.error();
  Result<std::string> object = emitObject(**module, target);
  if (!object)
    return object.error();

  Result<LoadedCode> code = load(*object, target, *count, *item);
  if (!code)
    return code.error();
  return Kernel(std::make_shared<const CpuKernel>(*std::move(code), std::move(signature),
                                                  std::move(expressions)));
}
